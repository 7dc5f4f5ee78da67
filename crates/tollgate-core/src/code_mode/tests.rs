//! How programs see tools.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{BindingLevel, CodeModeApi};
use crate::catalog::{
    Catalog, CatalogInputs, ServerListing, ServerOffer, ServerOrigin, ServerRules,
};
use crate::id::ServerId;
use crate::json::raw_value;
use crate::names::{NameOwners, NamePattern};
use crate::tool::Tool;
use crate::trust::ToolPins;

mod calls;
mod corpus;
mod hostile;
mod random;
mod reading;
mod signatures;

/// Servers, each with what it lists.
fn tools(servers: &[(&str, Vec<Value>)]) -> Vec<Arc<Tool>> {
    let offers: Vec<ServerOffer> = servers
        .iter()
        .map(|(server, tools)| {
            let listing = ServerListing {
                tools: tools.iter().map(raw_value).collect(),
                ..ServerListing::default()
            };
            let rules = ServerRules::new(ServerId::parse(server).unwrap(), ServerOrigin::Upstream);
            ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true }
        })
        .collect();
    let pattern = NamePattern::default();
    let pins = ToolPins::default();
    let inputs = CatalogInputs {
        version: 1,
        offers: &offers,
        pattern: &pattern,
        previous: None,
        pins: &pins,
    };
    let catalog = Catalog::build(&inputs, &mut NameOwners::default());
    let all: usize = servers.iter().map(|(_, tools)| tools.len()).sum();
    assert_eq!(catalog.tools.len(), all, "{:?}", catalog.problems);
    catalog.tools
}

fn book(servers: &[(&str, Vec<Value>)]) -> CodeModeApi {
    CodeModeApi::new(&tools(servers))
}

/// A tool whose properties are these; required are those with a `!` behind the name.
fn tool(name: &str, properties: &Value) -> Value {
    let mut required = Vec::new();
    let named = properties.as_object().unwrap().iter().map(|(name, schema)| {
        let plain = name.trim_end_matches('!');
        if plain != name {
            required.push(plain.to_owned());
        }
        (plain.to_owned(), schema.clone())
    });
    let properties: Value = named.collect::<serde_json::Map<_, _>>().into();
    json!({
        "name": name,
        "description": format!("Does {name}"),
        "inputSchema": {"type": "object", "properties": properties, "required": required},
    })
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn names_and_places_count_through_servers_in_their_order() {
    let none = json!({});
    let book = book(&[
        ("web", vec![tool("search", &none)]),
        ("git-hub", vec![tool("list", &none), tool("get-issue", &none)]),
    ]);
    assert_eq!(book.names().get(), r#"[["git_hub",["get_issue","list"]],["web",["search"]]]"#);
    let ids: Vec<String> = (0..3).map(|at| book.tool(at).unwrap().id.to_string()).collect();
    assert_eq!(ids, ["git-hub/get-issue", "git-hub/list", "web/search"]);
    assert!(book.tool(3).is_none());
    assert_eq!(book.spelling("git_hub_get_issue").as_deref(), Some("git_hub.get_issue"));
    assert_eq!(book.spelling("git_hub.get_issue"), None);
    assert_eq!(CodeModeApi::new(&[]).names().get(), "[]");
}

#[test]
fn equal_tools_give_equal_text_in_whatever_order_they_come() {
    let all = tools(&[
        ("a", vec![tool("get$x", &json!({"p!": {}})), tool("getx", &json!({})), tool("get%%x", &json!({}))]),
        ("b", (0..30).map(|at| tool(&format!("t{at}"), &json!({"q": {"type": "object", "title": "Q", "properties": {"n": {"const": at % 4}}}}))).collect()),
    ]);
    let texts = |book: &CodeModeApi| {
        let read = |file| book.read(file, None, &|_| None).unwrap();
        [
            book.names().get().to_owned(),
            book.files(BindingLevel::Tool),
            read("a"),
            read("b"),
            book.search("q", None, &|_| None),
        ]
    };
    let expected = texts(&CodeModeApi::new(&all));
    let mut turned = all;
    for at in 0..turned.len() {
        turned.rotate_left(at);
        turned.swap(0, at);
        assert_eq!(texts(&CodeModeApi::new(&turned)), expected);
    }
}

#[test]
fn a_thousand_tools_are_one_book() {
    let many = |server: &str| -> Vec<Value> {
        (0..100)
            .map(|at| tool(&format!("{server}-tool {at}"), &json!({"query!": {"type": "string"}})))
            .collect()
    };
    let servers: Vec<String> = (0..10).map(|at| format!("server-{at}")).collect();
    let servers: Vec<(&str, Vec<Value>)> =
        servers.iter().map(|it| (it.as_str(), many(it))).collect();
    let book = book(&servers);
    assert!(book.tool(999).is_some() && book.tool(1_000).is_none());
    let names: Vec<(String, Vec<String>)> = serde_json::from_str(book.names().get()).unwrap();
    assert_eq!(names.iter().map(|(_, tools)| tools.len()).sum::<usize>(), 1_000);
    for (at, name) in names
        .iter()
        .flat_map(|(server, tools)| tools.iter().map(move |it| format!("{server}.{it}")))
        .enumerate()
    {
        assert_eq!(book.spelling(book.tool(at).unwrap().exposed.as_str()), Some(name));
    }
}
