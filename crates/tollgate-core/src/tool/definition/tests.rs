//! Intake of tools: what is kept, what is refused, what is taken out.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{DefinitionError, FindingKind, ToolDefinition};
use crate::json::raw_value;
use crate::tool::{CacheScope, HeaderKind, hidden_text};

mod corpus;

fn intake(tool: &Value) -> Result<ToolDefinition, DefinitionError> {
    ToolDefinition::intake(&raw_value(tool))
}

fn refusal(tool: &Value) -> DefinitionError {
    intake(tool).expect_err("a refused tool")
}

fn with_schema(schema: &Value) -> Value {
    json!({"name": "t", "inputSchema": schema})
}

#[test]
fn everything_that_a_server_says_is_read_and_kept_in_order() {
    let text = r#"{"zeta":1.50,"name":"roll","title":"Roll","description":"Rolls dice.","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"annotations":{"title":"Dice","readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false},"icons":[{"src":"x"}],"_meta":{"dev.tollgate/latency":{"estimatedDurationMs":120,"maxDurationMs":5000.5},"dev.tollgate/cache":{"cacheableSeconds":30}}}"#;
    let raw = RawValue::from_string(text.to_owned()).unwrap();
    let definition = ToolDefinition::intake(&raw).unwrap();
    assert_eq!(definition.name.as_str(), "roll");
    assert_eq!(definition.title.as_deref(), Some("Roll"));
    assert_eq!(definition.description.as_deref(), Some("Rolls dice."));
    assert_eq!(definition.output_schema, Some(json!({"type": "array"})));
    assert_eq!(definition.annotations.title.as_deref(), Some("Dice"));
    assert_eq!(definition.annotations.read_only, Some(true));
    assert_eq!(definition.annotations.idempotent, Some(false));
    assert_eq!(definition.declared.estimated.unwrap().as_millis(), 120);
    assert_eq!(definition.declared.max.unwrap().as_micros(), 5_000_500);
    assert_eq!(definition.declared.cacheable.unwrap().as_secs(), 30);
    assert!(definition.findings.is_empty());
    assert_eq!(definition.fields.to_text(), text);
}

#[test]
fn line_breaks_between_fields_are_not_passed_on() {
    let text = "{\n \"name\": \"t\",\r\n \"inputSchema\": {\n\"type\": \"object\"}}";
    let raw = RawValue::from_string(text.to_owned()).unwrap();
    let written = ToolDefinition::intake(&raw).unwrap().fields.to_text();
    assert_eq!(written, r#"{"name":"t","inputSchema":{"type":"object"}}"#);
}

#[test]
fn s_25_the_hash_sees_every_change_and_no_mere_order() {
    let hash = |text: &str| {
        ToolDefinition::intake(&RawValue::from_string(text.to_owned()).unwrap()).unwrap().hash
    };
    let first = hash(
        r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{"description":"x"}}}}"#,
    );
    let same = hash(
        r#"{ "inputSchema": {"properties":{"a":{"description":"\u0078"}},"type":"object"},"name":"t"}"#,
    );
    let other = hash(
        r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{"description":"y"}}}}"#,
    );
    let hidden = hash(
        r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{"description":"x\u200b"}}}}"#,
    );
    assert_eq!(first, same);
    assert_ne!(first, other);
    assert_ne!(first, hidden);
}

#[test]
fn b_sc_01_an_input_schema_must_be_an_object_of_type_object() {
    assert_eq!(refusal(&json!({"name": "t"})), DefinitionError::Missing("inputSchema"));
    for schema in [
        json!(null),
        json!(true),
        json!("object"),
        json!({}),
        json!({"type": "array"}),
        json!({"type": ["object", "null"]}),
        json!([{"type": "object"}]),
    ] {
        assert_eq!(refusal(&with_schema(&schema)), DefinitionError::NotAnObject, "{schema}");
    }
}

#[test]
fn fields_of_the_wrong_type_are_refused_and_null_is_absence() {
    for (field, value) in [
        ("title", json!(1)),
        ("description", json!(["a"])),
        ("annotations", json!("readOnly")),
        ("annotations", json!({"readOnlyHint": "yes"})),
        ("_meta", json!([])),
        ("outputSchema", json!("x")),
    ] {
        let mut tool = with_schema(&json!({"type": "object"}));
        tool[field] = value.clone();
        assert!(matches!(refusal(&tool), DefinitionError::Type { .. }), "{field} {value}");
        tool[field] = Value::Null;
        assert!(intake(&tool).is_ok(), "{field}");
    }
    for whole in [json!(null), json!([]), json!("x"), json!(1)] {
        assert!(matches!(refusal(&whole), DefinitionError::Malformed(_)), "{whole}");
    }
}

#[test]
fn keys_that_stand_twice_or_only_look_alike_are_refused() {
    for text in [
        r#"{"name":"a","name":"b","inputSchema":{"type":"object"}}"#,
        r#"{"name":"a","inputSchema":{"type":"object","type":"array"}}"#,
        r#"{"name":"a","inputSchema":{"type":"object"},"x":{"y":[{"z":1,"z":2}]}}"#,
    ] {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        assert!(
            matches!(ToolDefinition::intake(&raw), Err(DefinitionError::Malformed(_))),
            "{text}"
        );
    }
    let text = r#"{"name":"a","inputSchema":{"type":"object","properties":{"k":{},"k\u200b":{}}}}"#;
    let raw = RawValue::from_string(text.to_owned()).unwrap();
    let rejected = ToolDefinition::intake(&raw).unwrap_err();
    assert_eq!(rejected.to_string(), "key `k` is duplicated after removal of hidden text");
    for twin in ["Name", "deſcription", "INPUTSCHEMA", "Annotations"] {
        let mut tool = with_schema(&json!({"type": "object"}));
        tool[twin] = json!("x");
        assert!(matches!(refusal(&tool), DefinitionError::Twin(_)), "{twin}");
    }
}

#[test]
fn b_sc_05_long_descriptions_are_cut_and_large_schemas_refused() {
    let mut tool = with_schema(&json!({"type": "object"}));
    tool["description"] = json!("ä".repeat(1024 * 1024));
    let definition = intake(&tool).unwrap();
    let description = definition.description.unwrap();
    assert!(description.len() <= ToolDefinition::MAX_DESCRIPTION && description.ends_with("ä…"));
    assert_eq!(definition.findings[0].kind, FindingKind::Cut);
    assert_eq!(definition.fields.string("description").unwrap(), description);
    let large = json!({"type": "object", "enum": ["x".repeat(70_000)]});
    assert!(matches!(refusal(&with_schema(&large)), DefinitionError::TooLong { .. }));
    let mut tool = with_schema(&json!({"type": "object"}));
    tool["icons"] = json!("x".repeat(300_000));
    assert!(matches!(refusal(&tool), DefinitionError::TooLong { .. }));
    let deep = format!(
        r#"{{"name":"t","inputSchema":{{"type":"object","default":{}{}}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let raw = RawValue::from_string(deep).unwrap();
    assert!(matches!(ToolDefinition::intake(&raw), Err(DefinitionError::Malformed(_))));
}

#[test]
fn b_sc_09_header_parameters_follow_the_rules_of_mcp() {
    let of = |properties: Value| {
        intake(&with_schema(&json!({"type": "object", "properties": properties})))
    };
    let definition = of(json!({
        "region": {"type": "string", "x-mcp-header": "Region"},
        "x-mcp-header": {"type": "number"},
        "page": {"type": ["integer", "null"], "x-mcp-header": "Page"},
        "filter": {"type": "object", "properties": {
            "a/b": {"type": "boolean", "x-mcp-header": "Authorization"}}},
        "list": {"default": {"x-mcp-header": "no keyword here"}}
    }))
    .unwrap();
    let found: Vec<_> = definition
        .headers
        .iter()
        .map(|it| (it.pointer.as_str(), it.header.as_str(), it.kind))
        .collect();
    assert_eq!(
        found,
        [
            ("/region", "Region", HeaderKind::String),
            ("/page", "Page", HeaderKind::Integer),
            ("/filter/a~1b", "Authorization", HeaderKind::Boolean),
        ]
    );
    let text = |header: &str| json!({"type": "string", "x-mcp-header": header});
    for broken in [
        json!({"a": text("")}),
        json!({"a": text("A\r\nX: y")}),
        json!({"a": text("with space")}),
        json!({"a": text("Ä")}),
        json!({"a": text("A:B")}),
        json!({"a": {"type": "string", "x-mcp-header": 7}}),
        json!({"a": text("Same"), "b": text("sAME")}),
        json!({"a": {"type": "number", "x-mcp-header": "A"}}),
        json!({"a": {"type": "object", "x-mcp-header": "A"}}),
        json!({"a": {"type": ["string", "integer"], "x-mcp-header": "A"}}),
        json!({"a": {"x-mcp-header": "A"}}),
        json!({"a": {"type": "array", "items": text("A")}}),
        json!({"a": {"anyOf": [{"properties": {"b": text("A")}}]}}),
        json!({"a": {"additionalProperties": text("A")}}),
    ] {
        assert!(matches!(of(broken.clone()), Err(DefinitionError::Header { .. })), "{broken}");
    }
    let root = json!({"type": "object", "x-mcp-header": "A"});
    assert!(matches!(refusal(&with_schema(&root)), DefinitionError::Header { .. }));
    let hidden = json!({"type": "object", "$defs": {"d": text("A")}});
    assert!(matches!(refusal(&with_schema(&hidden)), DefinitionError::Header { .. }));
}

#[test]
fn b_sc_12_names_are_kept_as_they_are_within_their_length() {
    let named = |name: &str| intake(&json!({"name": name, "inputSchema": {"type": "object"}}));
    for name in ["a", "a.b", "a/b", "a\nb", "שלום", "раураl", "🎲", &"x".repeat(128)] {
        assert_eq!(named(name).unwrap().name.as_str(), name);
    }
    assert_eq!(named("").unwrap_err(), DefinitionError::NameLength(0));
    assert_eq!(named(&"x".repeat(129)).unwrap_err(), DefinitionError::NameLength(129));
    assert_eq!(named(&"x".repeat(10_000)).unwrap_err(), DefinitionError::NameLength(10_000));
    assert_eq!(
        refusal(&json!({"inputSchema": {"type": "object"}})),
        DefinitionError::Missing("name")
    );
    let number = json!({"name": 7, "inputSchema": {"type": "object"}});
    assert!(matches!(refusal(&number), DefinitionError::Type { field: "name", .. }));
}

#[test]
fn declared_durations_that_make_no_sense_are_ignored_and_noted() {
    for value in [json!(-1), json!(0), json!("5"), json!(null), json!({})] {
        let mut tool = with_schema(&json!({"type": "object"}));
        tool["_meta"] = json!({"dev.tollgate/latency": {"maxDurationMs": value}});
        let definition = intake(&tool).unwrap();
        assert_eq!(definition.declared.max, None);
        assert_eq!(definition.findings[0].kind, FindingKind::Ignored);
        assert_eq!(definition.findings[0].at, "/_meta/dev.tollgate~1latency/maxDurationMs");
    }
    let mut tool = with_schema(&json!({"type": "object"}));
    tool["_meta"] = json!({"dev.tollgate/latency": {"maxDurationMs": 1e300}});
    assert_eq!(intake(&tool).unwrap().declared.max.unwrap().as_secs(), 86_400);
}

#[test]
fn a_scope_is_private_or_public_and_anything_else_is_noted() {
    for (value, expected) in [
        (json!("private"), Some(CacheScope::Private)),
        (json!("public"), Some(CacheScope::Public)),
        (json!("Public"), None),
        (json!(true), None),
        (json!(["public"]), None),
    ] {
        let mut tool = with_schema(&json!({"type": "object"}));
        tool["_meta"] = json!({"dev.tollgate/cache": {"scope": value}});
        let definition = intake(&tool).unwrap();
        assert_eq!(definition.declared.scope, expected, "{value}");
        assert_eq!(definition.findings.is_empty(), expected.is_some(), "{value}");
    }
}

#[test]
fn s_24_hidden_text_is_found_at_every_place_and_taken_out() {
    let mut count = 0;
    for (kind, hidden) in corpus::HIDDEN {
        for (place, tool) in corpus::places(&format!("Rolls{hidden} dice")) {
            let definition = intake(&tool).unwrap_or_else(|it| panic!("{place} {kind:?}: {it}"));
            let found: Vec<_> = definition.findings.iter().map(|it| (it.kind, &*it.at)).collect();
            assert!(found.contains(&(*kind, place)), "{place} {kind:?}: {found:?}");
            let written = definition.fields.to_text();
            let stored: Value = serde_json::from_str(&written).unwrap();
            assert!(place == "/name" || is_clean(&stored), "{place} {kind:?}: {written}");
            count += 1;
        }
    }
    assert!(count >= 60, "{count}");
}

#[test]
fn s_24_ordinary_text_in_any_language_is_left_alone() {
    let mut count = 0;
    for text in corpus::CLEAN {
        assert_eq!(hidden_text::clean(text).0, *text);
        for (place, tool) in corpus::places(text) {
            let definition = intake(&tool).unwrap_or_else(|it| panic!("{place} {text}: {it}"));
            assert!(definition.findings.is_empty(), "{text:?}: {:?}", definition.findings);
            assert_eq!(definition.fields.to_text(), tool.to_string());
            count += 1;
        }
    }
    assert!(count >= 200, "{count}");
}

#[test]
fn runs_of_tags_cost_no_more_than_their_length() {
    // Looking back through the whole run for each tag would be 10^12 steps: no end in sight.
    let run = format!("\u{1f3f4}{}", "\u{e0067}".repeat(2_000_000));
    let (clean, kinds) = hidden_text::clean(&run);
    assert_eq!((&*clean, kinds.as_slice()), ("\u{1f3f4}", &[FindingKind::Tag][..]));
    let wales = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}";
    assert_eq!(hidden_text::clean(&wales.repeat(3)).0, wales.repeat(3));
    assert_eq!(hidden_text::clean(&format!("{wales}\u{e007f}")).0, "\u{1f3f4}");
}

#[test]
fn hidden_text_is_looked_for_only_in_what_can_be_kept_of_a_description() {
    let mut tool = with_schema(&json!({"type": "object"}));
    tool["description"] = json!(format!("Rolls.{} And more.", "\u{e0067}".repeat(500_000)));
    let definition = intake(&tool).unwrap();
    assert_eq!(definition.description.as_deref(), Some("Rolls."));
    assert_eq!(definition.fields.string("description").as_deref(), Some("Rolls."));
    let kinds: Vec<FindingKind> = definition.findings.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [FindingKind::Tag, FindingKind::Cut]);
}

#[test]
fn s_24_escaped_hidden_text_is_found_too_and_one_finding_stands_for_a_place() {
    let text = r#"{"name":"t","description":"a\u200bb\u200bc\u0007\ufe0f\b","inputSchema":{"type":"object"}}"#;
    let raw = RawValue::from_string(text.to_owned()).unwrap();
    let definition = ToolDefinition::intake(&raw).unwrap();
    let kinds: Vec<_> = definition.findings.iter().map(|it| it.kind).collect();
    let expected = [FindingKind::Control, FindingKind::ZeroWidth, FindingKind::VariationSelector];
    assert_eq!(kinds, expected);
    assert_eq!(definition.description.as_deref(), Some("abc"));
    assert_eq!(
        definition.findings[0].to_string(),
        "`/description` had control characters; they were removed"
    );
}

#[test]
fn s_24_keys_hide_nothing_either() {
    for (kind, hidden) in corpus::HIDDEN {
        let key = format!("ci{hidden}ty");
        let tool = with_schema(&json!({"type": "object", "properties": {key.clone(): {}}}));
        let definition = intake(&tool).unwrap();
        let at = format!("/inputSchema/properties/{}", hidden_text::clean(&key).0);
        assert!(definition.findings.iter().any(|it| it.kind == *kind && it.at == at), "{kind:?}");
        assert!(is_clean(&definition.input_schema));
    }
}

fn is_clean(value: &Value) -> bool {
    match value {
        Value::String(text) => hidden_text::clean(text).1.is_empty(),
        Value::Array(items) => items.iter().all(is_clean),
        Value::Object(fields) => {
            fields.iter().all(|(key, it)| hidden_text::clean(key).1.is_empty() && is_clean(it))
        }
        _ => true,
    }
}
