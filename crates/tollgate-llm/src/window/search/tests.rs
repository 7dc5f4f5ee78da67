use serde_json::{Value, json};
use tollgate_core::agent::ToolSearch;

use super::super::tests::{function, pool, request};
use super::super::{ModelWindow, OfferCandidate, ToolPool, WindowRequest, fit};
use super::{DisclosedTools, ToolSearchHits, search};
use crate::conversation::{ChatRequest, ChatTool};
use crate::dialect::Dialect;

const POOL_NAMES: &str = "dice_roll mail_send memory_search weather_forecast web_search";

fn make_request<'a>(
    request: &'a ChatRequest,
    pool: &'a ToolPool,
    disclosed: &'a DisclosedTools,
) -> WindowRequest<'a> {
    WindowRequest { request, pool, max_tools: 4, search: ToolSearch::Always, disclosed }
}

fn render(asked: &WindowRequest<'_>) -> String {
    let room =
        ModelWindow { name: "x", window: 9_000, max_output: 10, dialect: Dialect::OpenAiChat };
    let fit = fit(asked, &[room]).unwrap();
    let names: Vec<&str> = fit.tools(asked.pool).map(|function| function.name.as_str()).collect();
    names.join(" ")
}

#[test]
fn what_is_found_is_shown_from_then_on() {
    let request = request("Hello");
    let pool = pool(POOL_NAMES, &["mail_send"]);
    let mut disclosed = DisclosedTools::default();
    assert_eq!(render(&make_request(&request, &pool, &disclosed)), "mail_send searchTools");
    let found =
        search(&make_request(&request, &pool, &disclosed), r#"{"query": "search the web"}"#);
    let found = found.unwrap();
    assert_eq!(found.names, ["web_search", "memory_search"]);
    disclosed.add(&found);
    assert_eq!(
        render(&make_request(&request, &pool, &disclosed)),
        "mail_send memory_search web_search searchTools"
    );
    let found = search(&make_request(&request, &pool, &disclosed), r#"{"query": "dice"}"#).unwrap();
    disclosed.add(&found);
    assert_eq!(
        render(&make_request(&request, &pool, &disclosed)),
        "dice_roll mail_send web_search searchTools",
        "there is room for four; the worst of what was found first goes"
    );
}

#[test]
fn a_result_says_how_to_call_what_was_found() {
    let mut weather = function("weather_forecast", "Weather of the next days");
    weather.parameters = Some(json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "any": {}},
        "required": ["city"],
    }));
    let mut bare = function("weather_now", &"Weather ".repeat(100));
    bare.parameters = None;
    let candidates = [weather, bare].map(|function| OfferCandidate { function, title: None });
    let request = request("Hello");
    let pool = ToolPool::new(candidates, &[]);
    let disclosed = DisclosedTools::default();
    let found =
        search(&make_request(&request, &pool, &disclosed), r#"{"query":"weather"}"#).unwrap();
    let text: Value = serde_json::from_str(&found.text).unwrap();
    let tools = text["tools"].as_array().unwrap();
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(
        of("weather_forecast"),
        &json!({
            "name": "weather_forecast",
            "description": "Weather of the next days",
            "parameters": {"city": "string", "days": "integer?", "any": "any?"},
        })
    );
    assert_eq!(of("weather_now")["parameters"], json!({}));
    assert!(of("weather_now")["description"].as_str().unwrap().ends_with('…'));
    assert_eq!(text["hint"], "these can be called now");
    let none = search(&make_request(&request, &pool, &disclosed), r#"{"query":"zebra"}"#).unwrap();
    assert!(none.names.is_empty());
    assert!(none.text.contains("try other or fewer words"), "{}", none.text);
}

/// B-CH-6: arguments that a model makes up.
#[test]
fn b_ch_06_bad_arguments_get_an_answer_that_helps() {
    let request = request("Hello");
    let pool = pool(POOL_NAMES, &[]);
    let disclosed = DisclosedTools::default();
    for (arguments, expected) in [
        ("", "`query` must say"),
        ("[]", "the arguments are a list; send one JSON object"),
        ("{'query': 'x'}", "are not valid JSON"),
        ("{}", "`query` must say"),
        (r#"{"query": 7}"#, "`query` must say"),
        (r#"{"query": "  "}"#, "`query` must say"),
        (r#"{"query": "a", "query": "b"}"#, "duplicate key `query`"),
        (r#"{"query": "web", "limit": 0}"#, "`limit` must be"),
        (r#"{"query": "web", "limit": "two"}"#, "`limit` must be"),
        (r#"{"query": "web", "limit": -1}"#, "`limit` must be"),
    ] {
        let said =
            search(&make_request(&request, &pool, &disclosed), arguments).unwrap_err().to_string();
        assert!(said.contains(expected), "{arguments}: {said}");
    }
    let found =
        |arguments: &str| search(&make_request(&request, &pool, &disclosed), arguments).unwrap();
    assert_eq!(found(r#"{"query": "search", "limit": 1}"#).names, ["web_search"]);
    assert_eq!(found(r#"{"query": "search", "limit": 1000000}"#).names.len(), 2);
    assert_eq!(found("```json\n{\"query\": \"search\",}\n```").names.len(), 2);
    assert_eq!(found(r#"{"query": "search", "limit": null}"#).names.len(), 2);
}

#[test]
fn a_search_sees_what_the_turn_sees_and_has_a_name_of_its_own() {
    let mut request = request("Hello");
    let client = |name: &str| ChatTool::Function(function(name, "The client's own"));
    request.tools = vec![client("web_search"), client("searchTools")];
    let pool = pool(&format!("{POOL_NAMES} searchTools2"), &[]);
    let disclosed = DisclosedTools::default();
    let asked = make_request(&request, &pool, &disclosed);
    assert_eq!(
        search(&asked, r#"{"query": "search"}"#).unwrap().names,
        ["searchTools2", "memory_search"]
    );
    assert_eq!(render(&asked), "searchTools3");
}

#[test]
fn what_is_found_again_is_the_latest() {
    let found = |names: &[&str]| ToolSearchHits {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        text: String::new(),
    };
    let mut disclosed = DisclosedTools::default();
    disclosed.add(&found(&["a", "b"]));
    disclosed.add(&found(&["c", "a"]));
    assert_eq!(disclosed.names().collect::<Vec<_>>(), ["c", "a", "b"]);
}
