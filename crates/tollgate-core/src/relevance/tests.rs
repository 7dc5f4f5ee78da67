use std::time::Instant;

mod natural_requests;

use serde_json::{Map, Value, json};

use super::words::words;
use super::{RelevanceDocument, RelevanceIndex, RelevanceQuery};

fn check_words(text: &str, expected: &str) {
    let mut found = Vec::new();
    words(text, &mut |word| found.push(word.to_owned()));
    assert_eq!(found.join(" "), expected, "{text}");
}

#[test]
fn names_in_any_spelling_fall_into_the_same_words() {
    for spelling in
        ["getUserName", "get_user_name", "get-user-name", "GetUserName", "get user.name"]
    {
        check_words(spelling, "get user nam");
    }
    check_words("HTTPServerError", "http server error");
    check_words("s3_upload v2", "s3 upload v2");
    check_words("getURLs IDs", "get url id");
}

#[test]
fn the_forms_of_a_word_meet() {
    for forms in [
        "search searches searching searched",
        "create creates creating created creation",
        "query queries",
        "run runs running",
        "file files filing",
        "box boxes",
        "address addresses",
    ] {
        let mut stems = Vec::new();
        words(forms, &mut |word| stems.push(word.to_owned()));
        stems.dedup();
        assert_eq!(stems.len(), 1, "{forms}: {stems:?}");
    }
    check_words("status bus analysis class", "status bus analysis class");
}

#[test]
fn accents_case_and_empty_words_do_not_count() {
    check_words("Please show me the CAFÉ in Zürich", "show caf zurich");
    check_words("Ａｎｆｒａｇｅ", "anfrag");
    check_words("", "");
    check_words("the a of", "");
    check_words(&"x".repeat(100), "");
}

#[test]
fn scripts_without_spaces_are_cut_into_pairs() {
    check_words("天気予報", "天 気 天気 予 気予 報 予報");
    check_words("東京weather", "東 京 東京 weather");
}

const TOOLS: &[(&str, &str, &[&str])] = &[
    ("calendar_create_event", "Adds an appointment to the calendar", &["start", "end", "title"]),
    ("dice_roll", "Rolls dice, such as 2d6+3", &["notation"]),
    ("github_create_issue", "Opens an issue in a repository", &["repo", "title", "body"]),
    ("github_list_issues", "Lists the issues of a repository", &["repo", "state"]),
    ("mail_send", "Sends an e-mail", &["to", "subject", "body"]),
    ("memory_search", "Looks for facts in the memory", &["query"]),
    ("weather_forecast", "Weather of the next days", &["city", "days"]),
    ("web_search", "Searches the web for pages", &["query"]),
];

fn index() -> RelevanceIndex {
    let schema = |names: &[&str]| {
        let all: Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        json!({"type": "object", "properties": all})
    };
    let schemas: Vec<Value> = TOOLS.iter().map(|(_, _, names)| schema(names)).collect();
    let subjects =
        TOOLS.iter().zip(&schemas).map(|((name, description, _), schema)| RelevanceDocument {
            name,
            title: None,
            description: Some(description),
            parameters: Some(schema),
        });
    RelevanceIndex::new(subjects)
}

fn check(query: &str, expected: &[&str]) {
    let index = index();
    let found = index.best(&RelevanceQuery::new(query), expected.len());
    let names: Vec<&str> = found.into_iter().map(|at| TOOLS[at].0).collect();
    assert_eq!(names, expected, "{query}");
}

#[test]
fn what_was_said_finds_the_tool_that_is_meant() {
    check("roll two dice for me", &["dice_roll"]);
    check("Will the weather be nice in Zürich?", &["weather_forecast"]);
    check("send an email to Bob", &["mail_send"]);
    check("please search the web for tollgates", &["web_search", "memory_search"]);
    check("list my issues", &["github_list_issues", "github_create_issue"]);
    check("which city", &["weather_forecast"]);
    check("dice_roll", &["dice_roll"]);
    check("good morning", &[]);
    check("", &[]);
}

#[test]
fn the_order_has_every_tool_once_and_is_always_the_same() {
    let index = index();
    let order = index.order(&RelevanceQuery::new("create an event"));
    assert_eq!(order[0], 0);
    assert_eq!(order[1], 2, "it creates too");
    assert_eq!(&order[2..], [1, 3, 4, 5, 6, 7], "the others keep their order");
    assert_eq!(order, index.order(&RelevanceQuery::new("create an event")));
    assert!(RelevanceIndex::new([]).order(&RelevanceQuery::new("anything")).is_empty());
}

/// B-CH-3: only both ends of a long text are read.
#[test]
fn b_ch_03_a_long_text_is_read_at_its_ends() {
    let long = format!("weather {} dice", "lorem ipsum ".repeat(1 << 20));
    let index = index();
    let found = index.best(&RelevanceQuery::new(&long), 10);
    let names: Vec<&str> = found.into_iter().map(|at| TOOLS[at].0).collect();
    assert_eq!(names, ["weather_forecast", "dice_roll"]);
}

#[test]
fn ten_thousand_tools_are_ordered_at_once() {
    let names: Vec<String> = (0..10_000).map(|at| format!("server{}_tool{at}", at % 50)).collect();
    let described: Vec<String> =
        (0..10_000).map(|at| format!("Searches the records of kind {} by name", at % 97)).collect();
    let subjects = names.iter().zip(&described).map(|(name, description)| RelevanceDocument {
        name,
        title: None,
        description: Some(description),
        parameters: None,
    });
    let index = RelevanceIndex::new(subjects);
    let query = RelevanceQuery::new("search the records of kind 7 by name on server42, please");
    let order = index.order(&query);
    assert_eq!(order.len(), 10_000);
    #[expect(clippy::disallowed_methods, reason = "it measures")]
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(index.order(&query), order);
    }
    let each = started.elapsed() / 10;
    assert!(each.as_millis() < 1_000, "{each:?}, without optimisation");
}

#[test]
fn words_that_stand_nowhere_are_taken_for_those_most_like_them() {
    let subject =
        |name| RelevanceDocument { name, title: None, description: None, parameters: None };
    let index = RelevanceIndex::new(["fireball", "firewall", "prone"].map(subject));
    let best = |text: &str| index.best(&index.correct_spelling(&RelevanceQuery::new(text)), 9);
    assert_eq!(best("firebal"), [0]);
    assert_eq!(best("firewall and prnoe"), [1, 2]);
    assert_eq!(best("elephants"), [0_usize; 0]);
    assert_eq!(best("🎲 \u{0}"), [0_usize; 0]);
}

#[test]
fn a_name_is_said_if_all_its_words_are() {
    let query = RelevanceQuery::new("how do opportunity attacks work?");
    assert_eq!(query.names("Opportunity attack"), 2);
    assert_eq!(query.names("attack of opportunity"), 2);
    assert_eq!(query.names("Attack roll"), 0);
    assert_eq!(query.names("the"), 0);
    assert_eq!(query.names(""), 0);
}
