//! The document against the router, both ways, and against its own rules.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::document;

/// Routes that others describe, or that are files.
const ELSEWHERE: &[&str] = &[
    "/",
    "/icon.svg",
    "/assets/{name}",
    "/mcp",
    "/mcp/{agent}",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/responses/{id}",
    "/v1/responses/{id}/input_items",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/embeddings",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/models",
    "/v1/models/{*call}",
    "/v1beta/models",
    "/v1beta/models/{*call}",
    "/v1alpha/models",
    "/v1alpha/models/{*call}",
    "/v1/realtime",
    "/v1/live/sessions",
    "/v1/live/sessions/{id}/attach",
    "/v1/agent/converse",
    "/v1/telephony/twilio",
    "/v1/telephony/twilio/{line}",
    "/ws/{service}",
    "//ws/{service}",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/mcp/{agent}",
];

fn openapi_json() -> Value {
    serde_json::from_str(document()).unwrap()
}

/// `get /path` of every operation.
fn operations(document: &Value) -> BTreeMap<String, &Value> {
    let paths = document["paths"].as_object().unwrap().iter();
    let methods = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, it)| (format!("{method} {path}"), it))
    });
    methods.collect()
}

/// The same of the router, from its text.
fn routes() -> BTreeSet<String> {
    let text = include_str!("../router.rs");
    let mut found = BTreeSet::new();
    for part in text.split(".route(").skip(1) {
        let path = part.split('"').nth(1).unwrap();
        let rest = &part[part.find(path).unwrap() + path.len()..];
        let end = rest.find(".route(").or(rest.find("\n        .merge")).unwrap_or(rest.len());
        let handlers = rest[..end].split("\n}").next().unwrap();
        for method in ["get", "post", "put", "delete"] {
            let called = format!("{method}(");
            let is_called = handlers.match_indices(&called).any(|(at, _)| {
                !handlers[..at].ends_with(|letter: char| {
                    letter.is_alphanumeric() || letter == '_' || letter == ':'
                })
            });
            if is_called {
                found.insert(format!("{method} {path}"));
            }
        }
    }
    found
}

#[test]
fn every_route_is_in_the_document_and_nothing_else() {
    let document = openapi_json();
    let routes = routes();
    let described: BTreeSet<String> = operations(&document).into_keys().collect();
    let is_elsewhere =
        |route: &&String| ELSEWHERE.contains(&route.split_once(' ').map_or("", |(_, path)| path));
    let expected: BTreeSet<String> =
        routes.iter().filter(|route| !is_elsewhere(route)).cloned().collect();
    let missing: Vec<_> = expected.difference(&described).collect();
    let invented: Vec<_> = described.difference(&expected).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "missing: {missing:?}; not there: {invented:?}"
    );
    let stale =
        ELSEWHERE.iter().filter(|path| !routes.iter().any(|it| it.ends_with(&format!(" {path}"))));
    assert_eq!(stale.collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn every_operation_says_what_it_is_and_has_an_id_of_its_own() {
    let document = openapi_json();
    let tags: BTreeSet<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{id} twice");
        assert!(tags.contains(operation["tags"][0].as_str().unwrap()), "{name}");
        let summary = operation["summary"].as_str().unwrap();
        assert!(summary.len() > 5 && !summary.ends_with('.'), "{name}: {summary}");
        let successes = operation["responses"].as_object().unwrap().keys();
        assert!(successes.clone().any(|it| it.starts_with('2')), "{name}");
    }
}

#[test]
fn every_schema_that_is_named_is_there_and_every_one_is_used() {
    let document = openapi_json();
    let known: BTreeSet<&str> =
        document["components"]["schemas"].as_object().unwrap().keys().map(String::as_str).collect();
    let text = document.to_string();
    let named: BTreeSet<&str> = text
        .split("#/components/schemas/")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(named, known);
}
