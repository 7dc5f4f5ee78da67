//! Files as people write them, and as they get them wrong.

use std::fs;
use std::path::Path;

use super::{DocumentData, DocumentLineError, DocumentNode, json, yaml};
use crate::builtin::scratch::ScratchDir;

/// The tree on one line, each value with its line number.
fn describe_node(node: &DocumentNode) -> String {
    let data = match &node.data {
        DocumentData::Nothing => "-".to_owned(),
        DocumentData::Scalar(text) => text.clone(),
        DocumentData::List(items) => {
            format!("[{}]", items.iter().map(describe_node).collect::<Vec<_>>().join(" "))
        }
        DocumentData::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, node)| format!("{key}={}", describe_node(node)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(" "))
        }
    };
    format!("{}:{data}", node.line)
}

fn describe(wrong: &DocumentLineError) -> String {
    wrong.clone().of(Path::new("f")).to_string()
}

#[test]
fn yaml_and_json_give_the_same_tree() {
    let expected = "1:{a=1:x b=2:[3:1 4:true] c=5:- d=6:{e=6:ä\nö}}";
    let block = yaml("a: x\nb:\n  - 1\n  - true\nc:\nd: { e: \"ä\\nö\" }\n").unwrap();
    assert_eq!(describe_node(&block), expected);
    let object = json::read(
        "{\"a\": \"x\",\n\"b\": [\n1,\ntrue],\n\"c\": null,\n\"d\": {\"e\": \"ä\\nö\"}}",
    )
    .unwrap();
    assert_eq!(describe_node(&object), expected);
    let pair = json::read("\u{feff}\"\\ud83d\\ude00\"").unwrap();
    assert_eq!(describe_node(&pair), "1:😀");
}

#[test]
fn what_is_no_yaml_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "`f`: it is empty"),
        ("a: 1\na: 2", "`f`, line 2: duplicate key `a`"),
        ("a: 1\n---\nb: 2", "`f`, line 2: a second document begins here: only one is supported"),
        ("a: &x 1", "`f`, line 1: anchors, aliases and tags are not supported"),
        ("a: !!str 1", "`f`, line 1: anchors, aliases and tags are not supported"),
        ("? [a]\n: b", "`f`, line 1: a key must be a text"),
        ("a:\n  - b\n c", "`f`, line 3: this is not YAML: "),
    ] {
        let message = describe(&yaml(text).unwrap_err());
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
}

#[test]
fn what_is_no_json_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "`f`, line 1: this is not JSON: EOF while parsing a value"),
        ("{\n\"a\": 1,\n}", "`f`, line 3: this is not JSON: key must be a string"),
        ("{\n\"a\": 1,\n\"a\": 2}", "`f`, line 3: duplicate key `a`"),
        ("\"\\ud83d\"", "`f`, line 1: unexpected end of hex escape"),
    ] {
        assert_eq!(describe(&json::read(text).unwrap_err()), expected, "{text:?}");
    }
}

#[test]
fn b_me_4_depth_and_width_are_bounded() {
    for read in [yaml, json::read] {
        let deep = read(&("[".repeat(100) + &"]".repeat(100))).unwrap_err();
        assert_eq!(deep.problem, "lists and maps nest deeper than 16");
        let keys: Vec<String> = (0..1_001).map(|at| format!("\"k{at}\": 1")).collect();
        let wide = read(&format!("{{{}}}", keys.join(","))).unwrap_err();
        assert_eq!(wide.problem, "there are more than 1000 keys");
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read("\u{0}").is_err());
    }
}

#[test]
fn keys_and_kinds_are_checked() {
    let node = yaml("name: x\nnmae: y").unwrap();
    let wrong = node.fields(&["name", "text"]).unwrap_err();
    assert_eq!(describe(&wrong), "`f`, line 2: unknown key `nmae`; did you mean `name`?");
    let node = yaml("name: x\nzzzzz: y").unwrap();
    let wrong = node.fields(&["name", "text"]).unwrap_err();
    assert_eq!(describe(&wrong), "`f`, line 2: unknown key `zzzzz`; there are `name`, `text`");
    let wrong = yaml("- a").unwrap().fields(&["name"]).unwrap_err();
    assert_eq!(describe(&wrong), "`f`, line 1: a map is expected here, with the keys `name`");

    let node = yaml("a: [x]\nb: \"x\\0\"\nc: ' '\nd: 12\ne: x\nf: ~").unwrap();
    let fields = node.fields(&["a", "b", "c", "d", "e", "f"]).unwrap();
    for (key, expected) in [
        ("a", "`f`, line 1: `a` must be a text"),
        ("b", "`f`, line 2: `b` has control characters in it"),
        ("c", "`f`, line 3: `c` must have 1 to 9 bytes"),
        ("f", "`f`, line 1: `f` is missing"),
    ] {
        assert_eq!(describe(&fields.require_text(key, 9).unwrap_err()), expected);
    }
    assert_eq!(fields.whole("d").unwrap(), Some(12));
    assert_eq!(fields.whole("f").unwrap(), None);
    let wrong = fields.whole("e").unwrap_err();
    assert_eq!(describe(&wrong), "`f`, line 5: `e` must be a whole number");
    let wrong = fields.get("d").unwrap().entries("d").unwrap_err();
    assert_eq!(describe(&wrong), "`f`, line 4: `d` must be a map");
    let wrong = fields.list("d").unwrap_err();
    assert_eq!(describe(&wrong), "`f`, line 4: `d` must be a list");
}

#[test]
fn files_that_are_none_or_too_large_are_refused() {
    let scratch = ScratchDir::new();
    let path = |name: &str| scratch.path().join(name);
    fs::write(path("large.yaml"), "x".repeat(100)).unwrap();
    fs::write(path("latin.yaml"), [b'a', 0xe4, b'b']).unwrap();
    fs::create_dir(path("folder.yaml")).unwrap();
    for (name, expected) in [
        ("large.yaml", "it is larger than 99 bytes"),
        ("latin.yaml", "it is not text in UTF-8"),
        ("folder.yaml", "it is not a regular file"),
        ("none.yaml", "No such file or directory (os error 2)"),
    ] {
        assert_eq!(super::read(&path(name), 99).unwrap_err().problem, expected, "{name}");
    }
    let found = super::files(scratch.path(), &["yaml"]).unwrap();
    assert_eq!(found.len(), 3);
    assert!(super::files(&path("nowhere"), &["yaml"]).is_err());
}
