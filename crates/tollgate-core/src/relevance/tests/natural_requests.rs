//! Requests as people say them, over two catalogues of 200 tools: records that are created, updated
//! and so on, and tools as servers name and describe them.

use std::time::{Duration, Instant};

use crate::relevance::{RelevanceDocument, RelevanceIndex, RelevanceQuery};

/// Tools that a search returns if the model does not ask for more.
const FOUND: usize = 5;

const REQUESTS: &str = include_str!("requests.txt");
const RECORDS: &str = include_str!("records.txt");
const SERVERS: &str = include_str!("servers.txt");

struct RequestSet {
    name: &'static str,
    catalogue: &'static str,
    requests: Vec<Request>,
}

struct Request {
    text: &'static str,
    tool: &'static str,
}

struct Catalogue {
    names: Vec<&'static str>,
    index: RelevanceIndex,
}

fn request_sets() -> Vec<RequestSet> {
    let mut sets: Vec<RequestSet> = Vec::new();
    for line in REQUESTS.lines().filter(|line| !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix("== ") {
            let head: Vec<&str> = head.split(", ").collect();
            let [name, catalogue] = head[..] else { panic!("{line}") };
            sets.push(RequestSet { name, catalogue, requests: Vec::new() });
        } else {
            let (text, tool) = line.split_once(" -> ").unwrap();
            sets.last_mut().unwrap().requests.push(Request { text, tool });
        }
    }
    sets
}

fn catalogue(name: &str) -> Catalogue {
    let lines = if name == "records" { RECORDS } else { SERVERS };
    let tools: Vec<_> = lines.lines().map(|line| line.split_once(": ").unwrap()).collect();
    assert_eq!(tools.len(), 200);
    let index = RelevanceIndex::new(tools.iter().map(|(name, description)| RelevanceDocument {
        name,
        title: None,
        description: Some(description),
        parameters: None,
    }));
    Catalogue { names: tools.iter().map(|(name, _)| *name).collect(), index }
}

impl RequestSet {
    /// The requests whose tool is not among the first few.
    fn missed(&self, query: impl Fn(&str) -> RelevanceQuery) -> Vec<&'static str> {
        let Catalogue { names, index } = catalogue(self.catalogue);
        let is_missed = |request: &&Request| {
            assert!(names.contains(&request.tool), "{}", request.tool);
            !index.best(&query(request.text), FOUND).iter().any(|at| names[*at] == request.tool)
        };
        self.requests.iter().filter(is_missed).map(|request| request.text).collect()
    }
}

fn by_meaning(request: &str) -> RelevanceQuery {
    RelevanceQuery::new(request).by_meaning()
}

#[test]
fn a_search_finds_the_tool_that_is_meant() {
    for set in request_sets() {
        let missed = set.missed(by_meaning);
        assert_eq!(set.requests.len(), 12, "{}", set.name);
        assert!(missed.len() <= 1, "{}: {missed:?}", set.name);
    }
}

#[test]
fn words_alone_miss_most_of_them() {
    let hits = |set: &RequestSet| set.requests.len() - set.missed(RelevanceQuery::new).len();
    let sets = request_sets();
    let all: usize = sets.iter().map(hits).sum();
    assert!(all < 6 * sets.len(), "{all}: the requests are not natural enough");
}

#[test]
fn the_order_by_meaning_does_not_depend_on_the_index_in_memory() {
    let order = |request: &str| catalogue("servers").index.order(&by_meaning(request));
    for request in ["give the headphones five stars", "wie spät ist es in Tokio", ""] {
        assert_eq!(order(request), order(request), "each index has other hash seeds");
        let mut all = order(request);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..200), "every tool once");
    }
    assert!(order("").into_iter().eq(0..200), "nothing said: the order of the catalogue");
}

#[test]
fn what_has_no_meaning_finds_nothing() {
    let Catalogue { index, .. } = catalogue("records");
    for request in ["", "qwrtz xqzzt", "🎲 \u{0}", "the of"] {
        assert!(index.best(&by_meaning(request), FOUND).is_empty(), "{request}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn a_search_over_200_tools_takes_less_than_two_milliseconds() {
    let Catalogue { index, .. } = catalogue("servers");
    let sets = request_sets();
    let requests = sets.iter().flat_map(|set| &set.requests);
    // The best of many: other programs use the machine as well.
    let fastest = requests.map(|request| {
        let began = Instant::now();
        let found = index.best(&by_meaning(request.text), FOUND);
        assert!(!found.is_empty(), "{}", request.text);
        began.elapsed()
    });
    let fastest = fastest.min().unwrap();
    assert!(fastest < Duration::from_millis(2), "{fastest:?}");
}
