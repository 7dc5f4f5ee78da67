use super::{Caps, Status, Value, defined, json, outcome, read, shaped, text, tool};

fn status(result: &str) -> Status {
    outcome(result, &Caps::mcp()).status
}

#[test]
fn the_status_says_how_it_went() {
    assert_eq!(status(&text("hi")), Status::Ok);
    assert_eq!(status(r#"{"content":[],"isError":true}"#), Status::Error);
    assert_eq!(status(r#"{"content":[],"structuredContent":{"a":1}}"#), Status::Ok);
    // B-RE 1 and 7: what is not as it should be is not believed.
    assert_eq!(status(r#"{"content":[1],"isError":"no"}"#), Status::Ok);
    assert_eq!(status(r#"{"content":[],"content":[1]}"#), Status::Error);
}

#[test]
fn nothing_found_is_told_from_nothing_to_say() {
    for (document, expected) in [
        ("null", Status::NoResults),
        ("[]", Status::NoResults),
        (" [ ] ", Status::NoResults),
        ("{}", Status::NoResults),
        (r#"{"results":[]}"#, Status::NoResults),
        (r#"{"results":[],"total":0,"next":null,"has_more":false}"#, Status::NoResults),
        (r#"{"query":"dragons","results":[ ],"status":"ok"}"#, Status::NoResults),
        (r#"{"query":"dragons","results":[ ],"success":true}"#, Status::NoResults),
        (r#"{"deleted":[],"ok":true}"#, Status::Ok),
        (r#"{"users":[],"groups":{}}"#, Status::NoResults),
        (r#"{"user":null}"#, Status::NoResults),
        ("```json\n[]\n```", Status::NoResults),
        (r#"{"results":[],"note":"the index is being built"}"#, Status::Ok),
        (r#"{"results":[],"users":[1]}"#, Status::Ok),
        (r#"{"results":[],"total":3}"#, Status::Ok),
        (r#"{"count":0}"#, Status::Ok),
        (r#"{"exists":false}"#, Status::Ok),
        ("[[]]", Status::Ok),
        ("[null]", Status::Ok),
        ("[", Status::Ok),
        ("nothing", Status::Ok),
    ] {
        assert_eq!(status(&text(document)), expected, "in text: {document}");
        if serde_json::from_str::<Value>(document).is_ok() {
            let result = format!(r#"{{"content":[],"structuredContent":{document}}}"#);
            assert_eq!(status(&result), expected, "structured: {document}");
        }
    }
    for (result, expected) in [
        (r#"{}"#, Status::NoResults),
        (r#"{"content":[]}"#, Status::NoResults),
        (r#"{"content":null}"#, Status::NoResults),
        (r#"{"content":[{"type":"text","text":" \n"}]}"#, Status::NoResults),
        (
            r#"{"content":[{"type":"text","text":"[]"},{"type":"text","text":""}]}"#,
            Status::NoResults,
        ),
        (
            r#"{"content":[{"type":"text","text":"[]"},{"type":"text","text":"{}"}]}"#,
            Status::NoResults,
        ),
        (r#"{"content":[{"type":"image","data":"","mimeType":"image/png"}]}"#, Status::Ok),
        (r#"{"content":[{"type":"resource","resource":{"uri":"a:b","text":""}}]}"#, Status::Ok),
        // An empty object may be all that a tool has to structure; an empty list is an answer.
        (r#"{"content":[{"type":"text","text":"Deleted."}],"structuredContent":{}}"#, Status::Ok),
        (r#"{"content":[{"type":"text","text":"Deleted."}],"structuredContent":null}"#, Status::Ok),
        (
            r#"{"content":[{"type":"text","text":"No match."}],"structuredContent":{"hits":[]}}"#,
            Status::NoResults,
        ),
    ] {
        assert_eq!(status(result), expected, "{result}");
    }
}

#[test]
fn nothing_to_say_is_no_failed_search_where_something_was_done() {
    for (annotations, expected) in [
        (json!({}), Status::NoResults),
        (json!({"readOnlyHint": true}), Status::NoResults),
        (json!({"destructiveHint": true}), Status::NoResults),
        (json!({"readOnlyHint": false}), Status::Ok),
    ] {
        let schema = json!({"type": "object"});
        let tool =
            defined(&json!({"name": "t", "inputSchema": schema, "annotations": annotations}));
        let empty = [r#"{"content":[]}"#.to_owned(), text("{}"), text(r#"{"deleted":[]}"#)];
        for result in empty {
            let status = shaped(&tool, &result, &Caps::mcp()).outcome.status;
            assert_eq!(status, expected, "{annotations}: {result}");
        }
        let failed = shaped(&tool, &text(r#"{"ok":false}"#), &Caps::mcp()).outcome.status;
        assert_eq!(failed, Status::Error, "{annotations}");
    }
}

#[test]
fn an_error_that_claims_success_is_one_if_it_brings_nothing_else() {
    for (document, expected) in [
        (r#"{"error":"no such channel"}"#, Status::Error),
        (r#"{"error":{"code":404,"message":"gone"}}"#, Status::Error),
        (r#"{"error":true,"message":"gone"}"#, Status::Error),
        (r#"{"ok":false,"error":"channel_not_found"}"#, Status::Error),
        (r#"{"success":false}"#, Status::Error),
        (r#"{"success":false,"data":null,"message":"not found"}"#, Status::Error),
        (r#"{"success":false,"results":[],"error":"quota"}"#, Status::Error),
        (r#"{"status":"error"}"#, Status::Error),
        (r#"{"status":"ERROR","message":"boom"}"#, Status::Error),
        (r#"{"status":"failed","reason":"disk full"}"#, Status::Error),
        (r#"{"isError":true,"content":[]}"#, Status::Error),
        (r#"{"data":null,"errors":[{"message":"bad query"}]}"#, Status::Error),
        (r#"{"success":false,"attempts":3}"#, Status::Error),
        (r#"{"success":false,"booking":{"id":7},"data":[1]}"#, Status::Error),
        (r#"{"ok":false,"checks":[{"name":"disk","ok":false}]}"#, Status::Error),
        (r#"{"error":"no seat left","flight":"LH 400"}"#, Status::Error),
        (r#"{"error":"no seat left","data":null,"items":[],"result":""}"#, Status::Error),
        (r#"{"errors":["no seat left"],"flight":"LH 400"}"#, Status::Error),
        (r#"{"errors":["no seat left"],"data":{},"results":[]}"#, Status::Error),
        // What has more to say is an answer about something that failed.
        (r#"{"error":null,"value":1}"#, Status::Ok),
        (r#"{"error":"","value":1}"#, Status::Ok),
        (r#"{"error":0.05,"value":3}"#, Status::Ok),
        (r#"{"error":0.05}"#, Status::Ok),
        (r#"{"error":"late","data":{"a":1}}"#, Status::Ok),
        (r#"{"error":"late","result":7}"#, Status::Ok),
        (r#"{"error":"late","results":[1,2]}"#, Status::Ok),
        (r#"{"error":"late","items":[1,2]}"#, Status::Ok),
        (r#"{"error":"late","content":"so far"}"#, Status::Ok),
        (r#"{"error":{"margin":0.1},"value":3}"#, Status::Ok),
        (r#"{"success":"false","value":3}"#, Status::Ok),
        (r#"{"page":{"success":false}}"#, Status::Ok),
        (r#"{"status":"failed"}"#, Status::Ok),
        (r#"{"status":"failed","job":12,"message":"tests"}"#, Status::Ok),
        (r#"{"status":"error","title":"Crash at start","description":"…"}"#, Status::Ok),
        (r#"{"errors":[],"value":3}"#, Status::Ok),
        (r#"{"errors":3,"value":3}"#, Status::Ok),
        (r#"{"errors":["row 3"],"results":[1,2]}"#, Status::Ok),
        (r#"{"data":{"a":1},"errors":[{"message":"partial"}]}"#, Status::Ok),
        (r#"{"\u200berror":"hidden"}"#, Status::Ok),
        (r#"[{"error":"one of several"}]"#, Status::Ok),
        (r#"{"error":"twice","error":"twice"}"#, Status::Ok),
    ] {
        let outcome = outcome(&text(document), &Caps::mcp());
        assert_eq!(outcome.status, expected, "{document}");
        let flagged = read(&outcome).get("isError") == Some(&Value::Bool(true));
        assert_eq!(flagged, expected == Status::Error, "{document}");
    }
}

#[test]
fn a_failure_counts_in_the_structure_and_in_the_text() {
    let failed = json!({"success": false, "flight": "LH 400"});
    for structured in [json!({}), json!({"result": failed.to_string()}), json!({"hits": []})] {
        let mut result: Value = serde_json::from_str(&text(&failed.to_string())).unwrap();
        result["structuredContent"] = structured.clone();
        assert_eq!(status(&result.to_string()), Status::Error, "{structured}");
    }
    let result = json!({"content": [{"type": "text", "text": "Booked."}]});
    assert_eq!(status(&result.to_string()), Status::Ok);
    let result = json!({"content": result["content"], "structuredContent": failed});
    assert_eq!(status(&result.to_string()), Status::Error);
}

#[test]
fn an_unmasked_error_keeps_its_words_and_says_why_it_is_one() {
    let result = text(r#"{"success":false,"reason":"quota"}"#);
    let value = read(&outcome(&result, &Caps::mcp()));
    let warning = value["_meta"]["dev.tollgate/output"]["warning"].as_str().expect("a warning");
    assert_eq!(warning, "the tool claims success, but its result says `success: false`");
    assert_eq!(value["content"][0]["text"], r#"{"success":false,"reason":"quota"}"#);
}

#[test]
fn an_unmasked_error_shows_no_structure_that_clients_would_refuse() {
    let schema = json!({"type": "object", "required": ["rows"]});
    let result = r#"{"content":[],"structuredContent":{"error":"no such table"},"isError":false}"#;
    let value = read(&shaped(&tool(Some(schema)), result, &Caps::mcp()).outcome);
    assert_eq!(value.get("structuredContent"), None);
    assert_eq!(value["content"][0]["text"], r#"{"error":"no such table"}"#);
    assert_eq!(value["isError"], true);
    let fitting = json!({"type": "object"});
    let value = read(&shaped(&tool(Some(fitting)), result, &Caps::mcp()).outcome);
    assert_eq!(value["structuredContent"]["error"], "no such table");
}

#[test]
fn what_is_long_is_neither_empty_nor_an_error() {
    for key in ["error", "note"] {
        let long = json!({key: "x".repeat(20_000), "success": false}).to_string();
        assert_eq!(status(&text(&long)), Status::Ok);
    }
}
