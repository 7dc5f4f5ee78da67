//! Exports that are read, merged and refused.

use serde_json::json;

use super::TelemetryExport;

fn export(tools: &str) -> String {
    format!(r#"{{"format":"tollgate-telemetry/1","tools":[{tools}]}}"#)
}

fn tool(name: &str, calls: u64, micros: u64) -> String {
    format!(
        r#"{{"category":"search","tool":"{name}","calls":{calls},"errors":0,"badge":"slow","histogram":[[{micros},{calls}]]}}"#
    )
}

#[test]
fn merged_figures_are_those_of_all_calls_together() {
    let mut all = TelemetryExport::default();
    for tools in [
        tool("look_up", 10, 17),
        format!("{},{}", tool("look_up", 30, 1_048_575), tool("other", 1, 3)),
        String::new(),
    ] {
        all.merge(&TelemetryExport::parse(&export(&tools)).unwrap());
    }
    assert_eq!(all.tools(), 2);
    let expected = json!({
        "format": "tollgate-telemetry/1",
        "tools": [
            { "category": "search", "tool": "look_up", "calls": 40, "errors": 0, "badge": "slow",
              "histogram": [[17, 10], [1_048_575, 30]] },
            { "category": "search", "tool": "other", "calls": 1, "errors": 0, "badge": "lightning",
              "histogram": [[3, 1]] },
        ],
    });
    assert_eq!(all.to_json(), expected);
    assert_eq!(TelemetryExport::read(&expected).unwrap(), all, "what is written can be read");
}

#[test]
fn tools_of_one_name_in_two_categories_are_two_tools() {
    let without = r#"{"tool":"look_up","calls":0,"errors":0,"histogram":[]}"#;
    let text = export(&format!("{},{without}", tool("look_up", 1, 3)));
    assert_eq!(TelemetryExport::parse(&text).unwrap().tools(), 2);
}

#[test]
fn a_file_that_cannot_be_is_refused_by_its_field() {
    let one = |from: &str, to: &str| export(&tool("a", 5, 3).replace(from, to));
    for (text, expected) in [
        ("{".to_owned(), "not JSON: EOF while parsing an object at line 1 column 1"),
        ("[]".to_owned(), "`format`: must be a text"),
        (r#"{"format":5}"#.to_owned(), "`format`: must be a text"),
        (
            r#"{"format":"tollgate-telemetry/2"}"#.to_owned(),
            "`format` is `tollgate-telemetry/2`, but this version reads `tollgate-telemetry/1`",
        ),
        (r#"{"format":"tollgate-telemetry/1"}"#.to_owned(), "`tools`: must be a list"),
        (export("7"), "`tools[0].tool`: must be a text"),
        (one(r#""search""#, "5"), "`tools[0].category`: must be a text"),
        (
            one(r#""calls":5"#, r#""calls":-5"#),
            "`tools[0].calls`: must be a whole number, 0 or more",
        ),
        (
            one(r#""calls":5"#, r#""calls":5.5"#),
            "`tools[0].calls`: must be a whole number, 0 or more",
        ),
        (
            one(r#""errors":0"#, r#""errors":null"#),
            "`tools[0].errors`: must be a whole number, 0 or more",
        ),
        (one(r#""errors":0"#, r#""errors":6"#), "`tools[0]`: 6 errors in 5 calls"),
        (one("[[3,5]]", "{}"), "`tools[0].histogram`: must be a list"),
        (one("[[3,5]]", "[[3,5,7]]"), "`tools[0].histogram[0]`: must be two numbers"),
        (
            one("[[3,5]]", "[[3,5],[4,\"x\"]]"),
            "`tools[0].histogram[1][1]`: must be a whole number, 0 or more",
        ),
        (one("[[3,5]]", "[[16,5]]"), "`tools[0]`: the histogram has no bucket up to 16 µs"),
        (one("[[3,5]]", "[]"), "`tools[0]`: 0 durations and 0 errors do not add up to 5 calls"),
        (export(&format!("{},{}", tool("a", 5, 3), tool("a", 5, 3))), "`tools[1]`: duplicate tool"),
    ] {
        assert_eq!(TelemetryExport::parse(&text).unwrap_err().to_string(), expected, "{text}");
    }
}
