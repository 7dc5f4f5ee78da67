//! The oracle: visibility decided a second time, from the documentation, without code of the
//! gateway.

use std::collections::BTreeSet;

/// All that stands in an installation's config.
#[derive(Debug, Clone, Default)]
pub(super) struct GlobalLevel {
    pub(super) is_off: bool,
    pub(super) allow: Vec<String>,
    pub(super) deny: Vec<String>,
    pub(super) here_allow: Vec<String>,
    pub(super) here_deny: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Fact {
    pub(super) server: String,
    pub(super) own: String,
    pub(super) exposed: String,
    /// As declared, in milliseconds.
    pub(super) estimate: Option<u64>,
    /// Another tool of the same name stands before it.
    pub(super) is_shadowed: bool,
}

/// Who asks, and for what.
#[derive(Debug, Clone)]
pub(super) struct Asker<'a> {
    pub(super) principal: Option<&'a [String]>,
    pub(super) agent: &'a [String],
    pub(super) ceiling: Option<usize>,
    pub(super) wish: Option<usize>,
    pub(super) may_override: bool,
    pub(super) filters: &'a Filters,
}

/// The words of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filters {
    only: [Vec<BTreeSet<String>>; 2],
    not: [BTreeSet<String>; 2],
}

const SERVERS: usize = 0;
const TOOLS: usize = 1;

/// The level that keeps the tool out; `None`: it is seen.
pub(super) fn find_hiding_level(
    fact: &Fact,
    global: &GlobalLevel,
    asker: &Asker<'_>,
) -> Option<&'static str> {
    let name = &fact.exposed;
    let hit = |list: &[String]| list.iter().any(|glob| fits(glob, name));
    let barriers = [
        ("catalog", fact.is_shadowed),
        ("switch", global.is_off),
        ("house", hit(&global.deny) || !hit(&global.allow)),
        ("environment", hit(&global.here_deny) || !hit(&global.here_allow)),
        ("principal", asker.principal.is_some_and(|list| !hit(list))),
        ("agent", !hit(asker.agent)),
        ("request", asker.filters.takes_away(fact)),
        ("tier", tier_of(fact.estimate) > asker.tier()),
    ];
    barriers.into_iter().find(|(_, holds)| *holds).map(|(level, _)| level)
}

impl Asker<'_> {
    /// 0 fast, 1 standard, 2 deep, which everything fits into.
    pub(super) fn tier(&self) -> usize {
        match (self.wish, self.ceiling) {
            (Some(wish), _) if self.may_override => wish,
            (wish, ceiling) => [wish, ceiling].into_iter().flatten().min().unwrap_or(2),
        }
    }
}

/// Ceilings of 500 and 1,500 ms; a tool that says nothing is a standard one.
fn tier_of(estimate: Option<u64>) -> usize {
    match estimate {
        None => 1,
        Some(time) => usize::from(time > 500) + usize::from(time > 1500),
    }
}

impl Filters {
    fn takes_away(&self, fact: &Fact) -> bool {
        let spelled = |sign: &str| [fact.server.as_str(), fact.own.as_str()].join(sign);
        let names =
            [vec![fact.server.clone()], vec![fact.exposed.clone(), spelled("/"), spelled("-")]];
        [SERVERS, TOOLS].into_iter().any(|kind| {
            let hit = |list: &BTreeSet<String>| {
                list.iter().any(|glob| names[kind].iter().any(|name| fits(glob, name)))
            };
            hit(&self.not[kind]) || self.only[kind].iter().any(|list| !hit(list))
        })
    }

    /// Reads headers letter by letter. `None`: they are to be refused.
    pub(super) fn read(headers: &[(String, String)]) -> Option<Self> {
        let mut filters = Self::default();
        let mut seen = BTreeSet::new();
        for (name, value) in headers {
            let name = name.to_lowercase();
            let (kind, is_only) = match name.as_str() {
                "x-tollgate-include-servers" | "x-bf-mcp-include-clients" => (SERVERS, true),
                "x-tollgate-include-tools" | "x-bf-mcp-include-tools" => (TOOLS, true),
                "x-tollgate-exclude-servers" => (SERVERS, false),
                "x-tollgate-exclude-tools" => (TOOLS, false),
                other if is_meant(other) => return None,
                _ => continue,
            };
            let list = items(value)?;
            if !is_only {
                filters.not[kind].extend(list);
            } else if seen.insert(name) {
                filters.only[kind].push(list);
            } else {
                return None;
            }
        }
        Some(filters)
    }
}

/// A name that somebody may have meant as a filter.
fn is_meant(name: &str) -> bool {
    let words: Vec<&str> = name.split(['-', '_']).collect();
    let ours = words.starts_with(&["x", "tollgate"]).then(|| &words[2..]);
    let theirs = words.starts_with(&["x", "bf", "mcp"]).then(|| &words[3..]);
    let verb = ours.or(theirs).and_then(|rest| rest.first());
    verb.is_some_and(|verb| verb.starts_with("include") || verb.starts_with("exclude"))
}

fn items(value: &str) -> Option<BTreeSet<String>> {
    let mut list = BTreeSet::new();
    let mut item = String::new();
    for letter in value.chars().chain([',']) {
        match letter {
            ',' => {
                let whole = item.trim().to_owned();
                if whole.contains([' ', '\t']) {
                    return None;
                }
                list.extend(Some(whole).filter(|whole| !whole.is_empty()));
                item.clear();
            }
            ' ' | '\t' | '_' | '-' | '.' | '/' | ':' | '*' | '?' => item.push(letter),
            other if other.is_alphanumeric() => item.push(other),
            _ => return None,
        }
    }
    Some(list)
}

/// By all places of the pattern where one can stand after each letter of the name, one bit each.
pub(super) fn fits(glob: &str, name: &str) -> bool {
    assert!(glob.len() < 100, "one bit for each place");
    let open = |mut places: u128| {
        for (at, letter) in glob.chars().enumerate() {
            if letter == '*' && places & (1 << at) != 0 {
                places |= 2 << at;
            }
        }
        places
    };
    let mut places = open(1);
    for letter in name.chars() {
        let mut next = 0;
        for (at, sign) in glob.chars().enumerate().filter(|(at, _)| places & (1 << at) != 0) {
            next |= match sign {
                '*' => 1 << at,
                sign if sign == '?' || sign == letter => 2 << at,
                _ => 0,
            };
        }
        if next == 0 {
            return false;
        }
        places = open(next);
    }
    places & (1 << glob.chars().count()) != 0
}

#[test]
fn the_second_opinion_is_one() {
    for (glob, name, expected) in [
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
        ("a*c", "abbc", true),
        ("a*c", "abbd", false),
        ("?b?", "abc", true),
        ("?b?", "ab", false),
        ("**a", "ba", true),
    ] {
        assert_eq!(fits(glob, name), expected, "{glob} {name}");
    }
    let read = |name: &str, value: &str| Filters::read(&[(name.to_owned(), value.to_owned())]);
    assert_eq!(read("accept", "a;b"), Some(Filters::default()));
    assert_eq!(read("X-Tollgate-Include-Tools", ",").map(|it| it.only[TOOLS].len()), Some(1));
    assert_eq!(read("x-tollgate-include_tools", "a"), None);
    assert_eq!(read("x-bf-mcp-exclude-tools", "a"), None);
    assert_eq!(read("x-tollgate-exclude-tools", "a b"), None);
}
