//! Schemas, and what becomes of them.

use serde_json::{Value, json};

use super::book;

/// The file of a server with these tools, without its first line.
fn file(tools: Vec<Value>) -> String {
    let book = book(&[("hub", tools)]);
    let text = book.read("hub", None, &|_| None).unwrap();
    text.split_once('\n').unwrap().1.to_owned()
}

/// What stands in the file for one parameter `x` of this schema.
fn check(schema: &Value, expected: &str) {
    let text = file(vec![json!({
        "name": "f",
        "inputSchema": {"type": "object", "properties": {"x": schema}, "required": ["x"]},
    })]);
    let (types, line) = text.rsplit_once("def f(x: ").unwrap();
    let line = line.trim_end().replacen(") -> Any:", "", 1);
    assert_eq!(format!("{types}{line}"), expected);
}

#[test]
fn plain_types() {
    check(&json!({"type": "string"}), "str");
    check(&json!({"type": "integer"}), "int");
    check(&json!({"type": "number"}), "float");
    check(&json!({"type": "boolean"}), "bool");
    check(&json!({"type": "null"}), "None");
    check(&json!({"type": "array"}), "list");
    check(&json!({"type": "array", "items": {"type": "string"}}), "list[str]");
    check(&json!({"type": "object"}), "dict");
    check(
        &json!({"type": "object", "additionalProperties": {"type": "number"}}),
        "dict[str, float]",
    );
    check(
        &json!({"type": "object", "patternProperties": {"^a": {"type": "string"}}}),
        "dict[str, str]",
    );
    check(&json!({}), "Any");
    check(&json!(true), "Any");
    check(
        &json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}),
        "tuple[float, str]",
    );
}

#[test]
fn values_and_alternatives() {
    check(&json!({"enum": ["open", "closed"]}), r#"Literal["open", "closed"]"#);
    check(&json!({"enum": ["a", 1, true, null]}), r#"Literal["a", 1, True] | None"#);
    check(&json!({"const": "v1"}), r#"Literal["v1"]"#);
    check(&json!({"anyOf": [{"const": "a"}, {"const": "b"}]}), r#"Literal["a", "b"]"#);
    check(&json!({"type": ["string", "null"]}), "str | None");
    check(
        &json!({"anyOf": [{"type": "null"}, {"type": "integer"}, {"type": "number"}]}),
        "float | None",
    );
    check(
        &json!({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        "str | list[str]",
    );
    check(
        &json!({"enum": (0..100).map(|at| format!("v{at}")).collect::<Vec<_>>()}),
        &format!(
            "Literal[{}, ...]",
            (0..40).map(|at| format!("\"v{at}\"")).collect::<Vec<_>>().join(", ")
        ),
    );
    check(&json!({"enum": ["x".repeat(1_000)]}), "Any");
    check(
        &json!({"enum": ["a\nb", "\"\"\"", "\u{2028}"]}),
        r#"Literal["a\nb", "\"\"\"", "\u2028"]"#,
    );
}

#[test]
fn formats_and_ranges_are_remarks() {
    check(&json!({"type": "string", "format": "date"}), "str  # x YYYY-MM-DD");
    check(&json!({"type": "integer", "minimum": 1, "maximum": 100}), "int  # x 1..100");
    check(&json!({"type": "integer", "minimum": 0}), "int");
    check(&json!({"type": "integer", "minimum": 1}), "int");
    check(
        &json!({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}),
        "float  # x >0, multiple of 0.5",
    );
    check(
        &json!({"type": "integer", "minimum": -9007199254740991_i64, "maximum": 9007199254740991_i64}),
        "int",
    );
    check(
        &json!({"type": "string", "pattern": "^[A-Z]{3}$", "maxLength": 3}),
        "str  # x matches ^[A-Z]{3}$",
    );
    check(&json!({"type": "string", "minLength": 1, "maxLength": 64}), "str  # x max 64 chars");
    check(
        &json!({"type": "array", "items": {"type": "integer"}, "maxItems": 10}),
        "list[int]  # x max 10 items",
    );
    check(&json!({"type": "string", "format": "int-thing"}), "str");
    check(&json!({"type": "integer", "minimum": 2}), "int  # x >=2");
    check(&json!({"type": "array", "minItems": 1}), "list  # x not empty");
    let render = |words: &str| json!({"type": "string", "description": words});
    check(&render("JSON array of issues"), "str  # x JSON text");
    check(&render("Comma-separated keys"), "str  # x comma-separated");
    check(&render("The path of a .json file"), "str");
}

#[test]
fn small_objects_stand_where_they_are_used_and_larger_ones_get_a_name() {
    check(
        &json!({
            "type": "object",
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
            "required": ["lat", "lon"],
        }),
        r#"{"lat": float, "lon": float}"#,
    );
    check(
        &json!({
            "type": "object",
            "title": "Issue filter",
            "properties": {
                "state": {"enum": ["open", "closed"]},
                "page-size": {"type": "integer", "maximum": 50},
                "labels": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "color": {"type": "string"}},
                    "required": ["name"],
                }},
            },
            "required": ["state"],
            "additionalProperties": {"type": "string"},
        }),
        "class Label(TypedDict):\n    name: str\n    color: NotRequired[str]\n\
         class IssueFilter(TypedDict):\n    state: Literal[\"open\", \"closed\"]\n    \
         \"page-size\": NotRequired[int]  # <=50\n    labels: NotRequired[list[Label]]\n    \
         # other keys: str\nIssueFilter",
    );
    check(
        &json!({"type": "object", "properties": {"class": {"type": "string"}}}),
        "class X(TypedDict, total=False):\n    \"class\": str\nX",
    );
}

#[test]
fn references_are_followed_and_may_lead_back() {
    let defs = json!({
        "Node": {"type": "object", "properties": {
            "name": {"type": "string"},
            "next": {"$ref": "#/$defs/Node"},
            "leaf": {"$ref": "#/$defs/Leaf"},
        }, "required": ["name"]},
        "Leaf": {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}}},
        "Deep": {"type": "array", "items": {"$ref": "#/$defs/Deep"}},
        "Both": {"allOf": [{"$ref": "#/$defs/Leaf"}, {"properties": {"more": {"type": "string"}}, "required": ["n"]}]},
    });
    let tool = |name: &str, x: Value| {
        json!({"name": name, "inputSchema": {
            "type": "object", "$defs": defs, "properties": {"x": x}, "required": ["x"],
        }})
    };
    let text = file(vec![
        tool("a", json!({"$ref": "#/$defs/Node", "description": "where it begins"})),
        tool("b", json!({"anyOf": [{"$ref": "#/$defs/Leaf"}, {"type": "null"}]})),
        tool("c", json!({"$ref": "#/$defs/Deep"})),
        tool("d", json!({"$ref": "#/$defs/Both"})),
    ]);
    assert_eq!(
        text,
        "\
class Leaf(TypedDict, total=False):
    tree: Node
    n: int
class Node(TypedDict):
    name: str
    next: NotRequired[Node]
    leaf: NotRequired[Leaf]
def a(x: Node) -> Any:
def b(x: Leaf | None) -> Any:
def c(x: list[list[list[list[list[list[list[list]]]]]]]) -> Any:
class Both(TypedDict):
    tree: NotRequired[Node]
    n: int
    more: NotRequired[str]
def d(x: Both) -> Any:
"
    );
}
