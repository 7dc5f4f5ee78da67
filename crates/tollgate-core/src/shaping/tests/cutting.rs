use super::{
    CallStatus, ResultCaps, ResultExtent, Value, data, handle, json, outcome, raw, read, shaped,
    text, tool,
};
use crate::shaping::StructuredPolicy;
use crate::shaping::prune::{EscapeContext, OmissionMarks, prune, shallow, shares};

/// The shorter form as a value; something must have been cut.
fn cut(result: &Value, caps: &ResultCaps) -> Value {
    let outcome = outcome(&result.to_string(), caps);
    assert_eq!((outcome.extent, outcome.handle), (ResultExtent::Cut, Some(handle())));
    read(&outcome)
}

fn tight() -> ResultCaps {
    ResultCaps { text_bytes: 100, binary_bytes: 50, items: 3, ..ResultCaps::mcp() }
}

fn note(result: &Value) -> &str {
    let items = result["content"].as_array().expect("content is a list");
    items.last().and_then(|item| item["text"].as_str()).expect("the last item is the note")
}

#[test]
fn s_31_oversized_results_are_cut_between_whole_parts() {
    let long = cut(&json!({"content": [{"type": "text", "text": "ä".repeat(200)}]}), &tight());
    assert_eq!(long["content"][0]["text"].as_str().map(str::len), Some(100));
    assert!(note(&long).starts_with("[cut: text of 400 bytes was cut to 100; read the rest with"));
    let many = json!({"content": vec![json!({"type": "text", "text": "x".repeat(20)}); 9]});
    let many = cut(&many, &tight());
    assert_eq!(many["content"].as_array().map(Vec::len), Some(4));
    let image = cut(&json!({"content": [{"type": "image", "data": "A".repeat(200)}]}), &tight());
    assert!(note(&image).contains("an item of 200 bytes"));
    let blob = json!({"type": "resource", "resource": {"uri": "a:b", "blob": "A".repeat(200)}});
    assert!(note(&cut(&json!({"content": [blob]}), &tight())).contains("an item of 200 bytes"));
    let within = json!({"type": "resource", "resource": {"uri": "a:b", "text": "x".repeat(200)}});
    let within = cut(&json!({"content": [within]}), &tight());
    assert_eq!(within["content"][0]["resource"]["text"].as_str().map(str::len), Some(100));
}

#[test]
fn what_was_cut_is_behind_the_handle() {
    let result = text(&"x".repeat(200));
    let shaped = shaped(&tool(None), &result, &tight());
    let shown = read(&shaped.outcome);
    assert!(note(&shown).contains(&format!("read the rest with handle {}", handle())));
    let meta = &shown["_meta"]["dev.tollgate/result"];
    assert_eq!(*meta, json!({"handle": handle().to_string(), "pages": 1}));
    let rest = shaped.rest.expect("something was cut");
    assert_eq!(rest.result.get(), result);
    assert_eq!((rest.extent, rest.handle), (ResultExtent::Whole, Some(handle())));
}

#[test]
fn without_a_place_to_keep_it_no_handle_is_named() {
    let consumer = super::ResultConsumer { caps: &tight(), spare: None };
    let result = raw(text(&"x".repeat(200)));
    let shaped = super::shape(&tool(None), result, std::time::Duration::ZERO, consumer);
    assert!(shaped.rest.is_none() && shaped.outcome.handle.is_none());
    assert_eq!(note(&read(&shaped.outcome)), "[cut: text of 200 bytes was cut to 100]");
}

#[test]
fn json_in_text_is_cut_as_json() {
    let rows: Vec<Value> = (0..412).map(|id| json!({"id": id, "name": "row"})).collect();
    let document = json!({"total": 412, "rows": rows, "next": "abc"}).to_string();
    let caps = ResultCaps::openai_realtime();
    let shown = cut(&json!({"content": [{"type": "text", "text": document}]}), &caps);
    let inside = shown["content"][0]["text"].as_str().expect("a text");
    let inside: Value = serde_json::from_str(inside).expect("still JSON");
    assert_eq!((&inside["total"], &inside["next"]), (&json!(412), &json!("abc")));
    let rows = inside["rows"].as_array().expect("a list");
    let shown = rows.len() - 1;
    assert!(shown > 100, "{shown}");
    assert_eq!(rows[shown], format!("[… {} more items]", 412 - shown));
    assert_eq!(rows[shown - 1]["id"], shown - 1);
    assert_eq!(data(&outcome(&text(&document), &caps)), inside, "the note is not data");
}

#[test]
fn structure_is_cut_for_those_who_read_it() {
    let value = json!({"rows": vec!["y".repeat(50); 400], "total": 400});
    let repeated = json!({
        "content": [{"type": "text", "text": value.to_string()}],
        "structuredContent": value,
    });
    let shown = cut(&repeated, &ResultCaps::gemini_live());
    assert_eq!(shown["structuredContent"]["total"], 400);
    assert!(shown["structuredContent"]["rows"].as_array().is_some_and(|rows| rows.len() > 50));
    assert_eq!(shown["content"].as_array().map(Vec::len), Some(1), "said once");
    let apart = json!({
        "content": [{"type": "text", "text": "w ".repeat(8_000)}],
        "structuredContent": value,
    });
    let shown = cut(&apart, &ResultCaps::gemini_live());
    assert_eq!(shown["structuredContent"]["total"], 400);
    assert!(shown["content"][0]["text"].as_str().is_some_and(|text| text.len() > 2_000));
}

#[test]
fn structure_that_clients_check_fits_or_is_left_out() {
    let loose = json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "string"}}}});
    let strict =
        json!({"type": "object", "properties": {"rows": {"type": "array", "minItems": 400}}});
    let result = json!({"content": [], "structuredContent": {"rows": vec!["y"; 400]}}).to_string();
    let shown = |schema: Value| {
        let outcome = shaped(&tool(Some(schema)), &result, &tight()).outcome;
        assert_eq!((outcome.status, outcome.extent), (CallStatus::Ok, ResultExtent::Cut));
        read(&outcome)
    };
    let stored = shown(loose);
    let rows = stored["structuredContent"]["rows"].as_array().expect("a list");
    assert!(rows.len() > 10 && rows.iter().all(|row| row == "y"), "{rows:?}");
    assert_eq!(stored.get("isError"), None);
    let left_out = shown(strict);
    assert_eq!(left_out.get("structuredContent"), None);
    assert_eq!(left_out["isError"], true, "or clients would refuse it");
    let marked = cut(&serde_json::from_str(&result).unwrap(), &tight());
    let rows = marked["structuredContent"]["rows"].as_array().expect("a list");
    assert!(
        rows.last().is_some_and(|row| row.as_str().is_some_and(|row| row.contains("more items")))
    );
}

#[test]
fn what_was_cut_away_here_is_not_held_against_the_tool() {
    let tool = tool(Some(json!({"type": "object"})));
    let caps = ResultCaps { text_bytes: 100, ..ResultCaps::mcp() };
    let shown = |result: &Value| {
        let outcome = shaped(&tool, &result.to_string(), &caps).outcome;
        (outcome.extent, outcome.result.get().contains("dev.tollgate/output"))
    };
    let large = json!({"content": [], "structuredContent": {"x": "y".repeat(200)}});
    assert_eq!(shown(&large), (ResultExtent::Cut, false));
    assert_eq!(shown(&json!({"content": [1]})), (ResultExtent::Whole, true));
}

#[test]
fn large_items_that_cannot_be_read_are_left_out_for_the_reason_that_is_true() {
    let caps = ResultCaps { text_bytes: 100, ..ResultCaps::mcp() };
    let long = "y".repeat(200);
    for item in [
        format!(r#"{{"text":"{long}","text":"x"}}"#),
        format!(r#"{{"resource":{{"text":"{long}","text":"x"}}}}"#),
    ] {
        let result = format!(r#"{{"content":[{item},"{}"]}}"#, "z".repeat(80));
        let shown = outcome(&result, &caps).result.get().to_owned();
        assert!(shown.contains("duplicate key `text`"), "{shown}");
        assert!(!shown.contains("nested") && !shown.contains(&long), "{shown}");
        assert!(shown.contains("zzz"), "{shown}");
    }
}

#[test]
fn text_that_cannot_be_read_counts_as_it_is_written() {
    let item = |size: usize| format!(r#"{{"type":"text","text":"\ud800{}"}}"#, "x".repeat(size));
    let result = format!(r#"{{"content":[{},{}]}}"#, item(20), item(200));
    let outcome = outcome(&result, &tight());
    let shown = outcome.result.get();
    assert!(shown.contains("text of 208 bytes is invalid and was left out"), "{shown}");
    assert!(shown.contains("\\ud800xxx") && shown.len() < 600, "{shown}");
}

#[test]
fn only_what_is_too_deep_is_left_out() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let result = format!(r#"{{"content":[],"structuredContent":{{"a":{deep},"b":2}}}}"#);
    for caps in [ResultCaps::mcp(), ResultCaps::chat(), ResultCaps::gemini_live()] {
        let outcome = outcome(&result, &caps);
        let shown = read(&outcome);
        assert!(!crate::json::is_deeper_than(caps.depth, outcome.result.get()));
        assert_eq!(shown["structuredContent"]["b"], 2);
        assert!(note(&shown).contains(&format!("deeper than {} levels", caps.depth)));
    }
    let in_text = cut(
        &serde_json::from_str(&text(&format!("[7,{deep}]"))).unwrap(),
        &ResultCaps::gemini_live(),
    );
    let inside = in_text["content"][0]["text"].as_str().expect("a text");
    assert!(inside.starts_with("[7,[") && inside.len() < 100, "{inside}");
    assert_eq!(shallow("[[],{\"a\":[1]},\"[\\\"[\"]", 1), "[\"…\",\"…\",\"[\\\"[\"]");
    assert_eq!(shallow("[[]]", 2), "[[]]");
}

#[test]
fn fields_that_nobody_reads_do_not_crowd_out_the_answer() {
    let result = json!({
        "_meta": {"trace": "t".repeat(30_000)},
        "content": [{"type": "text", "text": "the answer"}],
    });
    let shown = cut(&result, &ResultCaps::openai_realtime());
    assert_eq!(shown["content"][0]["text"], "the answer");
    assert!(shown["_meta"].get("trace").is_none());
    assert_eq!(shown["_meta"]["dev.tollgate/result"]["handle"], handle().to_string());
}

#[test]
fn a_million_fields_are_only_fields() {
    let fields: Vec<String> = (0..100_000).map(|at| format!("\"f{at}\":{at}")).collect();
    let result = format!(r#"{{{},"content":[{{"type":"text","text":"hi"}}]}}"#, fields.join(","));
    let shown = read(&outcome(&result, &ResultCaps::chat()));
    assert_eq!(shown["f99999"], 99_999, "under the cap all go on");
    let shown = read(&outcome(&result, &ResultCaps::deepgram()));
    assert_eq!((&shown["f63"], shown.get("f64")), (&json!(63), None));
    assert_eq!(shown["content"][0]["text"], "hi");
    assert!(note(&shown).contains("99936 fields other than the content were left out"));
}

#[test]
fn a_note_is_short_however_much_was_cut() {
    let item = |at: usize| json!({"type": "image", "data": "A".repeat(100), "n": at});
    let result = json!({"content": (0..60).map(item).collect::<Vec<_>>()});
    let shown = cut(&result, &ResultCaps { binary_bytes: 10, ..ResultCaps::mcp() });
    assert!(note(&shown).contains("; and 56 more"), "{}", note(&shown));
    let key = "\\u202e\\\"".repeat(2_000);
    let twice = format!(r#"{{"content":[{{"{key}":1,"{key}":2}}]}}"#);
    let outcome = outcome(&twice, &tight());
    let shown = read(&outcome);
    assert!(note(&shown).len() < 500 && !note(&shown).contains('\u{202e}'), "{}", note(&shown));
}

#[test]
fn pruning_keeps_small_parts_whole_and_marks_the_rest() {
    let check = |document: &str, room: usize, expected: &str| {
        let pruned = prune(document, room, EscapeContext::Plain, OmissionMarks::Shown);
        assert!(pruned.len() <= room, "{pruned}");
        assert_eq!(pruned, expected);
    };
    check("[1, 2, 3]", 9, "[1, 2, 3]");
    check("[1,  2,  3]", 9, "[1,2,3]");
    check(
        "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
        36,
        r#"[1,2,3,4,5,6,"[… 11 more items]"]"#,
    );
    check(
        r#"{"a":1,"b":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","c":[true]}"#,
        64,
        r#"{"a":1,"b":"xxxxxxxxxxxxxxxxxxx… [41 more bytes]","c":[true]}"#,
    );
    check(&format!("[{}]", "1".repeat(50)), 40, r#"["[… 50 bytes left out]"]"#);
    check(&format!("\"{}\"", "ä".repeat(40)), 30, "\"ääää… [72 more bytes]\"");
    check(&"1".repeat(50), 4, "null");
    check(&format!("[{}]", "1".repeat(50)), 5, "\"…\"");
}

#[test]
fn strings_are_cut_between_whole_characters_and_escapes() {
    let pairs = format!("\"{}\"", "\\ud83d\\ude00".repeat(20));
    let escapes = format!("\"{}\"", "\\n\\u0041\\\\\\\"".repeat(20));
    let lone = format!("\"{}\"", "\\ud83d".repeat(40));
    for string in [&pairs, &escapes, &format!("\"{}\"", "語😀".repeat(20))] {
        for room in 4..120 {
            for place in [EscapeContext::Plain, EscapeContext::InString] {
                let pruned = prune(string, room, place, OmissionMarks::Shown);
                assert!(serde_json::from_str::<Value>(&pruned).is_ok(), "{pruned}");
                assert!(place.cost(&pruned, usize::MAX) <= room, "{room}: {pruned}");
            }
        }
    }
    // Half a character is not ours to mend, nor to break further.
    let pruned = prune(&lone, 60, EscapeContext::Plain, OmissionMarks::Shown);
    assert!(serde_json::from_str::<&serde_json::value::RawValue>(&pruned).is_ok(), "{pruned}");
}

#[test]
fn a_mark_takes_no_ones_key() {
    let fields: Vec<String> = (0..50).map(|at| format!("\"k{at}\":1")).collect();
    let document = format!("{{\"\\u2026\":0,{}}}", fields.join(","));
    let pruned = prune(&document, 100, EscapeContext::Plain, OmissionMarks::Shown);
    assert!(crate::json::value(&pruned).is_ok(), "{pruned}");
    let pruned = prune(
        &format!("{{{}}}", fields.join(",")),
        100,
        EscapeContext::Plain,
        OmissionMarks::Shown,
    );
    assert!(pruned.ends_with("more fields]\"}"), "{pruned}");
}

#[test]
fn room_is_shared_by_need() {
    assert_eq!(shares(&[5, 100, 10, 100], 100), [5, 42, 10, 43]);
    assert_eq!(shares(&[], 10), Vec::<usize>::new());
    assert_eq!(shares(&[3, 3], 100), [3, 3]);
}

#[test]
fn s_31_huge_results_are_cut_without_building_them() {
    let numbers = |count: usize| format!("[{}0]", "0,".repeat(count));
    let keys: Vec<String> = (0..20_000).map(|at| format!("\"key{at}\":{at}")).collect();
    let keys = format!("{{{}}}", keys.join(","));
    let nested = format!("{}{}{}", "[".repeat(30), numbers(100_000), "]".repeat(30));
    let key = format!("{{\"{}\":1,\"b\":2}}", "k".repeat(300_000));
    for document in [&numbers(100_000), &keys, &nested, &"7".repeat(300_000), &key] {
        for caps in [ResultCaps::chat(), ResultCaps::gemini_live()] {
            let structured = format!(r#"{{"content":[],"structuredContent":{document}}}"#);
            for result in [structured, text(document)] {
                let outcome = outcome(&result, &caps);
                assert!(outcome.result.get().len() <= caps.result_bytes());
                assert_eq!(outcome.extent, ResultExtent::Cut);
                assert!(read(&outcome)["content"].is_array());
            }
        }
    }
    let million = numbers(1_000_000);
    let outcome = outcome(&format!(r#"{{"content":{million}}}"#), &ResultCaps::mcp());
    assert!(note(&read(&outcome)).contains("999937 of 1000001 items"));
    let pruned = prune(&million, 1_000, EscapeContext::Plain, OmissionMarks::Shown);
    let retained: Vec<Value> = serde_json::from_str(&pruned).unwrap();
    assert_eq!(
        retained[retained.len() - 1],
        format!("[… {} more items]", 1_000_002 - retained.len())
    );
}

#[test]
fn consumers_are_known_by_name() {
    assert_eq!(ResultCaps::from_name("gemini-live"), Some(ResultCaps::gemini_live()));
    assert_eq!(ResultCaps::from_name("Gemini"), None);
    assert_eq!(ResultCaps::default(), ResultCaps::mcp());
    assert_eq!(ResultCaps::mcp().structured, StructuredPolicy::Checked);
    for (name, caps) in ResultCaps::TABLE {
        assert!(caps.result_bytes() <= caps.total_bytes, "{name}");
        assert!(caps.page_bytes <= caps.total_bytes && caps.page_bytes > 1_000, "{name}");
    }
}

/// A result of a FastMCP tool that is declared as `str` and returns this JSON.
fn wrapped(document: &Value) -> Value {
    let document = document.to_string();
    json!({
        "content": [{"type": "text", "text": document}],
        "structuredContent": {"result": document},
    })
}

#[test]
fn json_in_a_lone_result_string_is_cut_between_its_parts() {
    let rows: Vec<Value> = (0..40).map(|n| json!({"id": n, "name": "row \"x\""})).collect();
    let result = wrapped(&json!({ "rows": rows }));
    for structured in [StructuredPolicy::Checked, StructuredPolicy::Read] {
        let caps = ResultCaps { text_bytes: 600, structured, ..ResultCaps::mcp() };
        let schema = json!({"type": "object", "properties": {"result": {"type": "string"}}});
        let shown = shaped(&tool(Some(schema)), &result.to_string(), &caps).outcome;
        assert_eq!(shown.extent, ResultExtent::Cut, "{structured:?}");
        let inner = read(&shown)["structuredContent"]["result"].clone();
        let document = match structured {
            StructuredPolicy::Checked => {
                let text = inner.as_str().expect("clients are promised a string");
                assert!(text.len() <= 600);
                serde_json::from_str(text).expect("cut JSON is JSON")
            }
            StructuredPolicy::Read => inner,
        };
        assert_eq!(document["rows"][0], json!({"id": 0, "name": "row \"x\""}), "{structured:?}");
        assert_eq!(data(&shown)["result"]["rows"][1]["id"], 1);
    }
}

#[test]
fn the_nesting_in_a_lone_result_string_counts() {
    let deep = (0..61).fold(json!("end"), |inner, _| json!([inner]));
    let caps = ResultCaps { depth: 32, ..ResultCaps::chat() };
    let shown = outcome(&wrapped(&deep).to_string(), &caps);
    assert_eq!(shown.extent, ResultExtent::Cut);
    assert!(!crate::json::is_deeper_than(caps.depth, &data(&shown).to_string()));
    // Ambiguous JSON stays the string that it is.
    let twice = r#"{"structuredContent":{"result":"{\"a\":1,\"a\":2}"},"content":[]}"#;
    assert_eq!(data(&outcome(twice, &caps)), json!({"result": r#"{"a":1,"a":2}"#}));
}
