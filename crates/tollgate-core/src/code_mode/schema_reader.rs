//! Converts a JSON schema to a Python type. Bounded in depth and size, also for cyclic references.

use std::cell::OnceCell;

use serde_json::Value;

use super::classes::{
    ClassBody, ClassField, FieldPresence, TypeReference, TypedDictSet, class_name, singular,
};
use super::comment_text;
use super::constraint_notes::remark;
use super::py_type::PyType;
use super::schema_layers::{SchemaLayers, SchemaRoot};
use super::type_detail::TypeDetail;
use crate::digest::DigestBuilder;
use crate::json::canonical;

/// Maximum depth of nested types.
const MAX_TYPE_DEPTH: usize = 8;
/// Maximum schemas read for one tool.
const MAX_SCHEMAS: usize = 500;
const MAX_FIELDS: usize = 60;
const MAX_ALTERNATIVES: usize = 24;
const MAX_TUPLE_ITEMS: usize = 8;
/// Maximum characters of a description beside a field.
const DESCRIPTION: usize = 120;

pub(super) struct SchemaTypeReader<'r, 'a> {
    root: &'r SchemaRoot<'a>,
    classes: &'r mut TypedDictSet,
    detail: TypeDetail,
    depth: usize,
    left: usize,
    definitions: OnceCell<[u8; 32]>,
    whole: OnceCell<[u8; 32]>,
}

impl<'r, 'a> SchemaTypeReader<'r, 'a> {
    pub(super) fn new(
        root: &'r SchemaRoot<'a>,
        classes: &'r mut TypedDictSet,
        detail: TypeDetail,
    ) -> Self {
        let definitions = OnceCell::new();
        let whole = OnceCell::new();
        Self { root, classes, detail, depth: 0, left: MAX_SCHEMAS, definitions, whole }
    }

    /// The type that `schema` describes; `name` is its preferred name.
    pub(super) fn read(&mut self, schema: &'a Value, name: &str) -> PyType {
        if self.depth == MAX_TYPE_DEPTH || self.left == 0 || !schema.is_object() {
            return PyType::any();
        }
        self.left -= 1;
        self.depth += 1;
        let found = self.read_layers(&SchemaLayers::of(self.root, schema), name);
        self.depth -= 1;
        found
    }

    /// The constraint note beside the type.
    pub(super) fn remark(&self, schema: &'a Value) -> Option<String> {
        let layers = SchemaLayers::of(self.root, schema);
        let description = match self.detail {
            TypeDetail::Brief => None,
            TypeDetail::Full => {
                layers.text("description").map(|it| comment_text::line(it, DESCRIPTION))
            }
        };
        let lines = [description.filter(|it| !it.is_empty()), remark(&layers, self.detail)];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    fn read_layers(&mut self, layers: &SchemaLayers<'r, 'a>, name: &str) -> PyType {
        if let Some(value) = layers.get("const") {
            return PyType::literal(value);
        }
        if let Some(values) = layers.get("enum").and_then(Value::as_array) {
            return self
                .root
                .spend(values.len())
                .map_or_else(PyType::any, |()| PyType::one_of(values));
        }
        let alternatives = layers.alternatives();
        let alternatives = &alternatives[..alternatives.len().min(MAX_ALTERNATIVES)];
        let found = self.alternatives(layers, alternatives, name);
        match found {
            Some(found) if !found.is_any() => found,
            _ => self.read_plain(layers, name),
        }
    }

    fn alternatives(
        &mut self,
        layers: &SchemaLayers<'r, 'a>,
        each: &'a [Value],
        name: &str,
    ) -> Option<PyType> {
        let has_fields = layers.has(&["properties"]);
        let says = |it: &'a Value| {
            SchemaLayers::of(self.root, it).has(&["type", "properties", "enum", "const"])
        };
        // Alternatives that only list required fields carry no type information.
        if has_fields && !each.iter().any(says) {
            return None;
        }
        let found = each.iter().map(|it| {
            if has_fields { self.read_plain(&layers.and(it), name) } else { self.read(it, name) }
        });
        found.reduce(PyType::or)
    }

    fn read_plain(&mut self, layers: &SchemaLayers<'r, 'a>, name: &str) -> PyType {
        match layers.get("type") {
            Some(Value::String(kind)) => self.kind(layers, kind, name),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str).take(MAX_ALTERNATIVES);
                kinds.map(|kind| self.kind(layers, kind, name)).fold(PyType::default(), PyType::or)
            }
            _ if layers.has(&["properties", "additionalProperties", "patternProperties"]) => {
                self.object(layers, name)
            }
            _ if layers.has(&["items", "prefixItems"]) => self.list(layers, name),
            _ if layers.has(&["pattern", "minLength", "maxLength"]) => PyType::from_name("str"),
            _ => PyType::any(),
        }
    }

    fn kind(&mut self, layers: &SchemaLayers<'r, 'a>, kind: &str, name: &str) -> PyType {
        match kind {
            "string" => PyType::from_name("str"),
            "integer" => PyType::from_name("int"),
            "number" => PyType::from_name("float"),
            "boolean" => PyType::from_name("bool"),
            "null" => PyType::null(),
            "array" => self.list(layers, name),
            "object" => self.object(layers, name),
            _ => PyType::any(),
        }
    }

    fn list(&mut self, layers: &SchemaLayers<'r, 'a>, name: &str) -> PyType {
        let one = singular(name);
        let items = layers.get("items");
        let first = layers.get("prefixItems").or(items.filter(|it| it.is_array()));
        if let Some(first) = first.and_then(Value::as_array) {
            let each: Vec<PyType> =
                first.iter().take(MAX_TUPLE_ITEMS).map(|it| self.read(it, &one)).collect();
            let is_all = first.len() <= MAX_TUPLE_ITEMS && !items.is_some_and(Value::is_object);
            return if is_all && !each.is_empty() {
                PyType::tuple(&each)
            } else {
                PyType::from_name("list")
            };
        }
        let item = items.map_or_else(PyType::any, |items| self.read(items, &one));
        PyType::list(&item)
    }

    fn object(&mut self, layers: &SchemaLayers<'r, 'a>, name: &str) -> PyType {
        let properties = layers.properties();
        if !properties.is_empty() {
            return self.class(layers, &properties, name);
        }
        let one = singular(name);
        let values = match layers.get("additionalProperties").filter(|it| it.is_object()) {
            Some(values) => Some(self.read(values, &one)),
            None => {
                let each = layers.get("patternProperties").and_then(Value::as_object);
                let each = each.into_iter().flat_map(|it| it.values()).take(MAX_ALTERNATIVES);
                each.map(|it| self.read(it, &one)).reduce(PyType::or)
            }
        };
        PyType::dictionary(&values.unwrap_or_else(PyType::any))
    }

    fn class(
        &mut self,
        layers: &SchemaLayers<'r, 'a>,
        properties: &[(&'a str, &'a Value)],
        name: &str,
    ) -> PyType {
        let reference = self.reference(layers);
        if let Some(known) = reference.as_ref().and_then(|it| self.classes.resolve_reference(it)) {
            return known;
        }
        let requested = choose_class_name(layers, name);
        if let Some(reference) = &reference {
            self.classes.begin(reference.clone(), &requested);
        }
        let required = layers.required_fields();
        let mut body = ClassBody::default();
        for (key, schema) in properties.iter().take(MAX_FIELDS) {
            let typed = self.read(schema, key);
            let is_required = required.contains(key);
            let presence =
                if is_required { FieldPresence::Always } else { FieldPresence::Sometimes };
            let remark = self.remark(schema);
            body.fields.push(ClassField { key: (*key).to_owned(), typed, presence, remark });
        }
        body.remark = match properties.len().checked_sub(MAX_FIELDS) {
            Some(more @ 1..) => Some(format!("and {more} more")),
            _ => layers.get("additionalProperties").filter(|it| it.is_object()).map(|it| {
                let typed = self.read(it, &singular(name));
                format!("other keys: {typed}")
            }),
        };
        self.classes.add(&requested, &body, reference.as_ref())
    }

    /// Identity of the object, if it is a plain reference.
    fn reference(&self, layers: &SchemaLayers<'r, 'a>) -> Option<TypeReference> {
        let target = layers.reference()?;
        let in_definitions = ["#/$defs/", "#/definitions/"].iter().any(|it| target.starts_with(it));
        let digest = if in_definitions {
            self.definitions.get_or_init(|| {
                let texts =
                    ["$defs", "definitions"].map(|it| self.root.schema.get(it).map(canonical));
                let sum = texts
                    .into_iter()
                    .flatten()
                    .fold(DigestBuilder::default(), |sum, it| sum.with(it));
                sum.finish()
            })
        } else {
            self.whole
                .get_or_init(|| DigestBuilder::default().with(canonical(self.root.schema)).finish())
        };
        Some(TypeReference { digest: *digest, target: target.to_owned() })
    }
}

/// The title in the schema if it is usable as a name, else the name of the place.
fn choose_class_name(layers: &SchemaLayers<'_, '_>, name: &str) -> String {
    let referred = layers.reference().and_then(|it| it.rsplit('/').next());
    let referred = referred.map(|it| it.rsplit('.').next().unwrap_or(it));
    let title = layers.text("title").filter(|it| it.len() <= 40 && it.split(' ').count() <= 3);
    let mut found = referred.into_iter().chain(title).chain([name]).filter_map(class_name);
    found.next().unwrap_or_else(|| "Item".to_owned())
}
