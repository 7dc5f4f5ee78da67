//! Python signatures of tools: `get_issue(owner: str, number: int, *, limit: int = 30) -> Issue`.

use super::classes::TypedDictSet;
use super::comment_text;
use super::literal::literal;
use super::parameters::{DeclaredParameter, DeclaredParameters, ParameterNeed};
use super::py_type::PyType;
use super::schema_layers::{SchemaLayers, SchemaRoot};
use super::schema_reader::SchemaTypeReader;
use super::type_detail::TypeDetail;
use super::{CodeModeTool, ShapeLookup};

/// Maximum parameters shown; the others are in the schema and can still be passed.
const MAX_PARAMETERS: usize = 60;
/// Maximum characters of a default value.
const MAX_DEFAULT_CHARS: usize = 40;

/// Writes signatures into one text with shared types.
pub(super) struct SignatureWriter<'s> {
    pub(super) classes: TypedDictSet,
    detail: TypeDetail,
    seen: ShapeLookup<'s>,
}

/// One tool, all on one line.
pub(super) struct ToolSignature {
    parameters: String,
    pub(super) returns: String,
    pub(super) origin: ReturnTypeOrigin,
    /// Constraint notes of parameters: `limit 1..100`.
    remarks: Vec<String>,
}

/// Where the return type is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReturnTypeOrigin {
    Promised,
    Seen,
    Unknown,
}

pub(super) const SEEN_TYPE_NOTE: &str = "result type inferred from earlier results, not guaranteed";

impl<'s> SignatureWriter<'s> {
    pub(super) fn new(detail: TypeDetail, seen: ShapeLookup<'s>) -> Self {
        Self { classes: TypedDictSet::default(), detail, seen }
    }

    pub(super) fn signature(&mut self, entry: &CodeModeTool) -> ToolSignature {
        let root = SchemaRoot::new(&entry.tool.definition.input_schema);
        let declared = DeclaredParameters::of(&root);
        let mut reader = SchemaTypeReader::new(&root, &mut self.classes, TypeDetail::Brief);
        let spelled = entry.parameters().all();
        let mut shown = Vec::new();
        let mut remarks = Vec::new();
        let mut is_optional = false;
        for (field, parameter) in declared.fields.iter().zip(spelled).take(MAX_PARAMETERS) {
            let name = &parameter.identifier;
            let typed = reader.read(field.schema, field.name);
            if field.need == ParameterNeed::Optional && !is_optional {
                is_optional = true;
                shown.push("*".to_owned());
            }
            let default = default(&root, field, &typed);
            shown.push(format!("{name}: {typed}{default}"));
            remarks.extend(reader.remark(field.schema).map(|it| format!("{name} {it}")));
        }
        if let Some(more @ 1..) = declared.fields.len().checked_sub(MAX_PARAMETERS) {
            remarks.push(format!("{more} more parameters"));
        }
        if let Some(other) = declared.other() {
            shown.push(format!("**others: {}", reader.read(other, "other")));
        }
        let (returns, origin) = self.returns(entry);
        ToolSignature {
            parameters: shown.join(", "),
            returns: returns.to_string(),
            origin,
            remarks,
        }
    }

    fn returns(&mut self, entry: &CodeModeTool) -> (PyType, ReturnTypeOrigin) {
        let name = format!("{}_result", entry.identifier);
        if let Some(schema) = &entry.tool.definition.output_schema {
            let root = SchemaRoot::new(schema);
            let mut reader = SchemaTypeReader::new(&root, &mut self.classes, self.detail);
            return (reader.read(schema, &name), ReturnTypeOrigin::Promised);
        }
        match (self.seen)(&entry.tool.id) {
            Some(shape) => (shape.to_type(&name, &mut self.classes), ReturnTypeOrigin::Seen),
            None => (PyType::any(), ReturnTypeOrigin::Unknown),
        }
    }
}

impl ToolSignature {
    /// `name(…)`
    pub(super) fn call(&self, name: &str) -> String {
        format!("{name}({})", self.parameters)
    }

    /// `name(…) -> Type`
    pub(super) fn whole(&self, name: &str) -> String {
        format!("{} -> {}", self.call(name), self.returns)
    }

    /// The comment after it, on the same line.
    pub(super) fn comment(&self, description: Option<&str>) -> String {
        let summary = description.map(comment_text::summary).filter(|it| !it.is_empty());
        let remarks = (!self.remarks.is_empty()).then(|| self.remarks.join(", "));
        let seen = (self.origin == ReturnTypeOrigin::Seen).then(|| SEEN_TYPE_NOTE.to_owned());
        let all: Vec<String> = [summary, remarks, seen].into_iter().flatten().collect();
        if all.is_empty() { String::new() } else { format!("  # {}", all.join("; ")) }
    }
}

/// The default value of an optional parameter.
fn default<'a>(root: &SchemaRoot<'a>, field: &DeclaredParameter<'a>, typed: &PyType) -> String {
    if field.need == ParameterNeed::Required {
        return String::new();
    }
    let given = SchemaLayers::of(root, field.schema).get("default").map(literal);
    match given.filter(|it| it.chars().count() <= MAX_DEFAULT_CHARS) {
        Some(given) => format!(" = {given}"),
        None if typed.takes_null() => " = None".to_owned(),
        None => " = ...".to_owned(),
    }
}
