use super::{CallStatus, ResultCaps, Value, defined, json, outcome, read, shaped, text, tool};

fn status(result: &str) -> CallStatus {
    outcome(result, &ResultCaps::mcp()).status
}

#[test]
fn the_status_says_how_it_went() {
    assert_eq!(status(&text("hi")), CallStatus::Ok);
    assert_eq!(status(r#"{"content":[],"isError":true}"#), CallStatus::Error);
    assert_eq!(status(r#"{"content":[],"structuredContent":{"a":1}}"#), CallStatus::Ok);
    // B-RE 1 and 7: what is not as it should be is not believed.
    assert_eq!(status(r#"{"content":[1],"isError":"no"}"#), CallStatus::Ok);
    assert_eq!(status(r#"{"content":[],"content":[1]}"#), CallStatus::Error);
}

#[test]
fn nothing_found_is_told_from_nothing_to_say() {
    for (document, expected) in [
        ("null", CallStatus::NoResults),
        ("[]", CallStatus::NoResults),
        (" [ ] ", CallStatus::NoResults),
        ("{}", CallStatus::NoResults),
        (r#"{"results":[]}"#, CallStatus::NoResults),
        (r#"{"results":[],"total":0,"next":null,"has_more":false}"#, CallStatus::NoResults),
        (r#"{"query":"dragons","results":[ ],"status":"ok"}"#, CallStatus::NoResults),
        (r#"{"query":"dragons","results":[ ],"success":true}"#, CallStatus::NoResults),
        (r#"{"deleted":[],"ok":true}"#, CallStatus::Ok),
        (r#"{"users":[],"groups":{}}"#, CallStatus::NoResults),
        (r#"{"user":null}"#, CallStatus::NoResults),
        ("```json\n[]\n```", CallStatus::NoResults),
        (r#"{"results":[],"note":"the index is being built"}"#, CallStatus::Ok),
        (r#"{"results":[],"users":[1]}"#, CallStatus::Ok),
        (r#"{"results":[],"total":3}"#, CallStatus::Ok),
        (r#"{"count":0}"#, CallStatus::Ok),
        (r#"{"exists":false}"#, CallStatus::Ok),
        ("[[]]", CallStatus::Ok),
        ("[null]", CallStatus::Ok),
        ("[", CallStatus::Ok),
        ("nothing", CallStatus::Ok),
    ] {
        assert_eq!(status(&text(document)), expected, "in text: {document}");
        if serde_json::from_str::<Value>(document).is_ok() {
            let result = format!(r#"{{"content":[],"structuredContent":{document}}}"#);
            assert_eq!(status(&result), expected, "structured: {document}");
        }
    }
    for (result, expected) in [
        (r#"{}"#, CallStatus::NoResults),
        (r#"{"content":[]}"#, CallStatus::NoResults),
        (r#"{"content":null}"#, CallStatus::NoResults),
        (r#"{"content":[{"type":"text","text":" \n"}]}"#, CallStatus::NoResults),
        (
            r#"{"content":[{"type":"text","text":"[]"},{"type":"text","text":""}]}"#,
            CallStatus::NoResults,
        ),
        (
            r#"{"content":[{"type":"text","text":"[]"},{"type":"text","text":"{}"}]}"#,
            CallStatus::NoResults,
        ),
        (r#"{"content":[{"type":"image","data":"","mimeType":"image/png"}]}"#, CallStatus::Ok),
        (r#"{"content":[{"type":"resource","resource":{"uri":"a:b","text":""}}]}"#, CallStatus::Ok),
        // An empty object may be all that a tool has to structure; an empty list is an answer.
        (
            r#"{"content":[{"type":"text","text":"Deleted."}],"structuredContent":{}}"#,
            CallStatus::Ok,
        ),
        (
            r#"{"content":[{"type":"text","text":"Deleted."}],"structuredContent":null}"#,
            CallStatus::Ok,
        ),
        (
            r#"{"content":[{"type":"text","text":"No match."}],"structuredContent":{"hits":[]}}"#,
            CallStatus::NoResults,
        ),
    ] {
        assert_eq!(status(result), expected, "{result}");
    }
}

#[test]
fn nothing_to_say_is_no_failed_search_where_something_was_done() {
    for (annotations, expected) in [
        (json!({}), CallStatus::NoResults),
        (json!({"readOnlyHint": true}), CallStatus::NoResults),
        (json!({"destructiveHint": true}), CallStatus::NoResults),
        (json!({"readOnlyHint": false}), CallStatus::Ok),
    ] {
        let schema = json!({"type": "object"});
        let tool =
            defined(&json!({"name": "t", "inputSchema": schema, "annotations": annotations}));
        let empty = [r#"{"content":[]}"#.to_owned(), text("{}"), text(r#"{"deleted":[]}"#)];
        for result in empty {
            let status = shaped(&tool, &result, &ResultCaps::mcp()).outcome.status;
            assert_eq!(status, expected, "{annotations}: {result}");
        }
        let failed = shaped(&tool, &text(r#"{"ok":false}"#), &ResultCaps::mcp()).outcome.status;
        assert_eq!(failed, CallStatus::Error, "{annotations}");
    }
}

#[test]
fn an_error_that_claims_success_is_one_if_it_brings_nothing_else() {
    for (document, expected) in [
        (r#"{"error":"no such channel"}"#, CallStatus::Error),
        (r#"{"error":{"code":404,"message":"gone"}}"#, CallStatus::Error),
        (r#"{"error":true,"message":"gone"}"#, CallStatus::Error),
        (r#"{"ok":false,"error":"channel_not_found"}"#, CallStatus::Error),
        (r#"{"success":false}"#, CallStatus::Error),
        (r#"{"success":false,"data":null,"message":"not found"}"#, CallStatus::Error),
        (r#"{"success":false,"results":[],"error":"quota"}"#, CallStatus::Error),
        (r#"{"status":"error"}"#, CallStatus::Error),
        (r#"{"status":"ERROR","message":"boom"}"#, CallStatus::Error),
        (r#"{"status":"failed","reason":"disk full"}"#, CallStatus::Error),
        (r#"{"isError":true,"content":[]}"#, CallStatus::Error),
        (r#"{"data":null,"errors":[{"message":"bad query"}]}"#, CallStatus::Error),
        (r#"{"success":false,"attempts":3}"#, CallStatus::Error),
        (r#"{"success":false,"booking":{"id":7},"data":[1]}"#, CallStatus::Error),
        (r#"{"ok":false,"checks":[{"name":"disk","ok":false}]}"#, CallStatus::Error),
        (r#"{"error":"no seat left","flight":"LH 400"}"#, CallStatus::Error),
        (r#"{"error":"no seat left","data":null,"items":[],"result":""}"#, CallStatus::Error),
        (r#"{"errors":["no seat left"],"flight":"LH 400"}"#, CallStatus::Error),
        (r#"{"errors":["no seat left"],"data":{},"results":[]}"#, CallStatus::Error),
        // What has more to say is an answer about something that failed.
        (r#"{"error":null,"value":1}"#, CallStatus::Ok),
        (r#"{"error":"","value":1}"#, CallStatus::Ok),
        (r#"{"error":0.05,"value":3}"#, CallStatus::Ok),
        (r#"{"error":0.05}"#, CallStatus::Ok),
        (r#"{"error":"late","data":{"a":1}}"#, CallStatus::Ok),
        (r#"{"error":"late","result":7}"#, CallStatus::Ok),
        (r#"{"error":"late","results":[1,2]}"#, CallStatus::Ok),
        (r#"{"error":"late","items":[1,2]}"#, CallStatus::Ok),
        (r#"{"error":"late","content":"so far"}"#, CallStatus::Ok),
        (r#"{"error":{"margin":0.1},"value":3}"#, CallStatus::Ok),
        (r#"{"success":"false","value":3}"#, CallStatus::Ok),
        (r#"{"page":{"success":false}}"#, CallStatus::Ok),
        (r#"{"status":"failed"}"#, CallStatus::Ok),
        (r#"{"status":"failed","job":12,"message":"tests"}"#, CallStatus::Ok),
        (r#"{"status":"error","title":"Crash at start","description":"…"}"#, CallStatus::Ok),
        (r#"{"errors":[],"value":3}"#, CallStatus::Ok),
        (r#"{"errors":3,"value":3}"#, CallStatus::Ok),
        (r#"{"errors":["row 3"],"results":[1,2]}"#, CallStatus::Ok),
        (r#"{"data":{"a":1},"errors":[{"message":"partial"}]}"#, CallStatus::Ok),
        (r#"{"\u200berror":"hidden"}"#, CallStatus::Ok),
        (r#"[{"error":"one of several"}]"#, CallStatus::Ok),
        (r#"{"error":"twice","error":"twice"}"#, CallStatus::Ok),
    ] {
        let outcome = outcome(&text(document), &ResultCaps::mcp());
        assert_eq!(outcome.status, expected, "{document}");
        let flagged = read(&outcome).get("isError") == Some(&Value::Bool(true));
        assert_eq!(flagged, expected == CallStatus::Error, "{document}");
    }
}

#[test]
fn a_failure_counts_in_the_structure_and_in_the_text() {
    let failed = json!({"success": false, "flight": "LH 400"});
    for structured in [json!({}), json!({"result": failed.to_string()}), json!({"hits": []})] {
        let mut result: Value = serde_json::from_str(&text(&failed.to_string())).unwrap();
        result["structuredContent"] = structured.clone();
        assert_eq!(status(&result.to_string()), CallStatus::Error, "{structured}");
    }
    let result = json!({"content": [{"type": "text", "text": "Booked."}]});
    assert_eq!(status(&result.to_string()), CallStatus::Ok);
    let result = json!({"content": result["content"], "structuredContent": failed});
    assert_eq!(status(&result.to_string()), CallStatus::Error);
}

#[test]
fn an_unmasked_error_keeps_its_words_and_says_why_it_is_one() {
    let result = text(r#"{"success":false,"reason":"quota"}"#);
    let value = read(&outcome(&result, &ResultCaps::mcp()));
    let warning = value["_meta"]["dev.tollgate/output"]["warning"].as_str().expect("a warning");
    assert_eq!(warning, "the tool claims success, but its result says `success: false`");
    assert_eq!(value["content"][0]["text"], r#"{"success":false,"reason":"quota"}"#);
}

#[test]
fn an_unmasked_error_shows_no_structure_that_clients_would_refuse() {
    let schema = json!({"type": "object", "required": ["rows"]});
    let result = r#"{"content":[],"structuredContent":{"error":"no such table"},"isError":false}"#;
    let value = read(&shaped(&tool(Some(schema)), result, &ResultCaps::mcp()).outcome);
    assert_eq!(value.get("structuredContent"), None);
    assert_eq!(value["content"][0]["text"], r#"{"error":"no such table"}"#);
    assert_eq!(value["isError"], true);
    let fitting = json!({"type": "object"});
    let value = read(&shaped(&tool(Some(fitting)), result, &ResultCaps::mcp()).outcome);
    assert_eq!(value["structuredContent"]["error"], "no such table");
}

#[test]
fn what_is_long_is_neither_empty_nor_an_error() {
    for key in ["error", "note"] {
        let long = json!({key: "x".repeat(20_000), "success": false}).to_string();
        assert_eq!(status(&text(&long)), CallStatus::Ok);
    }
}

/// FastMCP wraps the text of a tool declared as `str`, in structured content and in its content.
#[test]
fn json_in_a_lone_result_string_is_read_for_the_status() {
    for (document, expected) in [
        ("[]", CallStatus::NoResults),
        (r#"{"results":[],"total":0}"#, CallStatus::NoResults),
        (r#"{"success":false,"error":"no such city"}"#, CallStatus::Error),
        (r#"{"city":"Graz"}"#, CallStatus::Ok),
        ("[", CallStatus::Ok),
        ("It is cold.", CallStatus::Ok),
    ] {
        let mut result = json!({"structuredContent": {"result": document}});
        result["content"] = json!([{"type": "text", "text": document}]);
        assert_eq!(status(&result.to_string()), expected, "{document}");
        result["structuredContent"]["more"] = json!(1);
        assert_ne!(status(&result.to_string()), CallStatus::NoResults, "{document}");
    }
}
