//! The named types (`TypedDict`) of one stub text: each is written once, before or after its use.
//! Different types with the same name are numbered.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::comment_text;
use super::identifier::is_identifier;
use super::literal::quote;
use super::py_type::PyType;
use crate::digest::DigestBuilder;

/// Maximum length of a name made from a title or key.
const MAX_CLASS_NAME_LEN: usize = 40;
/// Types this short are written inline: `{"lat": float, "lon": float}`.
const INLINE_FIELDS: usize = 2;
const INLINE_LETTERS: usize = 48;

/// Identity of a reference's target: equal text with equal references means the same type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TypeReference {
    pub(super) digest: [u8; 32],
    pub(super) target: String,
}

#[derive(Debug, Default)]
pub(super) struct TypedDictSet {
    classes: Vec<TypedDictClass>,
    by_reference: HashMap<TypeReference, ReferencedType>,
    /// Indices into `classes`, by requested name and content.
    by_text: HashMap<[u8; 32], usize>,
    names: HashSet<String>,
    /// The last number given to a name.
    numbers: HashMap<String, usize>,
    /// How many of `classes` were written.
    written: usize,
}

#[derive(Debug)]
struct TypedDictClass {
    name: String,
    body: String,
}

#[derive(Debug, Clone)]
struct ReferencedType {
    typed: String,
    /// Referred to before it was complete.
    is_used: bool,
}

/// The fields of an object.
#[derive(Debug, Default)]
pub(super) struct ClassBody {
    pub(super) fields: Vec<ClassField>,
    /// Comment after the fields: further keys that are possible.
    pub(super) remark: Option<String>,
}

#[derive(Debug)]
pub(super) struct ClassField {
    pub(super) key: String,
    pub(super) typed: PyType,
    pub(super) presence: FieldPresence,
    pub(super) remark: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldPresence {
    Always,
    Sometimes,
}

impl TypedDictSet {
    /// The type of a reference that was seen before, possibly inside its own fields.
    pub(super) fn resolve_reference(&mut self, reference: &TypeReference) -> Option<PyType> {
        let known = self.by_reference.get_mut(reference)?;
        known.is_used = true;
        Some(PyType::from_name(known.typed.clone()))
    }

    /// Reserves a name for the target of a reference, so that its fields can refer to it.
    pub(super) fn begin(&mut self, reference: TypeReference, requested: &str) {
        let typed = self.free(requested);
        self.names.insert(typed.clone());
        self.by_reference.insert(reference, ReferencedType { typed, is_used: false });
    }

    /// The type of an object with these fields.
    pub(super) fn add(
        &mut self,
        requested: &str,
        body: &ClassBody,
        from: Option<&TypeReference>,
    ) -> PyType {
        let body_text = body.to_string();
        let text = DigestBuilder::default().with(requested).with([0]).with(&body_text).finish();
        let begun = from.and_then(|reference| self.by_reference.get(reference)).cloned();
        let is_named = begun.as_ref().is_some_and(|begun| begun.is_used);
        if !is_named {
            // Drop the reserved name if the type already has another.
            if let Some(begun) = &begun {
                self.names.remove(&begun.typed);
            }
            let same = self.by_text.get(&text).map(|at| &self.classes[*at]);
            let known = body.inline().or_else(|| same.map(|same| same.name.clone()));
            if let Some(typed) = known {
                if let Some(reference) = from {
                    let known = ReferencedType { typed: typed.clone(), is_used: true };
                    self.by_reference.insert(reference.clone(), known);
                }
                return PyType::from_name(typed);
            }
        }
        let name = begun.map_or_else(|| self.free(requested), |begun| begun.typed);
        self.names.insert(name.clone());
        self.by_text.entry(text).or_insert(self.classes.len());
        self.classes.push(TypedDictClass { name: name.clone(), body: body_text });
        PyType::from_name(name)
    }

    fn free(&mut self, requested: &str) -> String {
        let number = self.numbers.entry(requested.to_owned()).or_insert(1);
        loop {
            let name = match *number {
                1 => requested.to_owned(),
                number => format!("{requested}{number}"),
            };
            if !self.names.contains(&name) {
                return name;
            }
            *number += 1;
        }
    }

    /// Writes the types added since the last call.
    pub(super) fn write_new(&mut self, out: &mut String) {
        for class in &self.classes[self.written..] {
            write!(out, "class {}{}", class.name, class.body).expect("a string takes all");
        }
        self.written = self.classes.len();
    }
}

impl ClassBody {
    fn inline(&self) -> Option<String> {
        let is_plain =
            |it: &ClassField| it.presence == FieldPresence::Always && it.remark.is_none();
        let fits = (1..=INLINE_FIELDS).contains(&self.fields.len())
            && self.remark.is_none()
            && self.fields.iter().all(is_plain);
        let each = self.fields.iter().map(|it| format!("{}: {}", quote(&it.key), it.typed));
        let text = fits.then(|| format!("{{{}}}", each.collect::<Vec<_>>().join(", ")));
        text.filter(|text| text.chars().count() <= INLINE_LETTERS)
    }
}

/// Everything after the name.
impl std::fmt::Display for ClassBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_total = self.fields.iter().any(|it| it.presence == FieldPresence::Always);
        f.write_str(if is_total { "(TypedDict):\n" } else { "(TypedDict, total=False):\n" })?;
        for field in &self.fields {
            let key = if is_identifier(&field.key) {
                field.key.clone()
            } else {
                quote(&comment_text::line(&field.key, 80))
            };
            if field.presence == FieldPresence::Sometimes && is_total {
                write!(f, "    {key}: NotRequired[{}]", field.typed)?
            } else {
                write!(f, "    {key}: {}", field.typed)?
            }
            match &field.remark {
                Some(remark) => writeln!(f, "  # {remark}")?,
                None => writeln!(f)?,
            }
        }
        match &self.remark {
            Some(remark) => writeln!(f, "    # {remark}"),
            None => Ok(()),
        }
    }
}

/// Makes a type name from any text: `get_issue` and `get issue` give `GetIssue`. `None` if no
/// character is usable.
pub(super) fn class_name(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    let mut name = String::new();
    for word in words {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
        if name.len() >= MAX_CLASS_NAME_LEN {
            break;
        }
    }
    name.truncate(MAX_CLASS_NAME_LEN);
    let taken = ["Any", "Literal", "TypedDict", "NotRequired", "None", "True", "False"];
    match name.chars().next()? {
        first if first.is_ascii_digit() => Some(format!("T{name}")),
        _ if taken.contains(&&*name) => Some(format!("{name}Item")),
        _ => Some(name),
    }
}

/// The name of one item of a list: `labels` gives `label`.
pub(super) fn singular(name: &str) -> String {
    if let Some(stem) = name.strip_suffix("ies").filter(|it| it.len() > 1) {
        return format!("{stem}y");
    }
    let ends = ["ss", "us", "is"].iter().any(|it| name.ends_with(it));
    match name.strip_suffix('s').filter(|it| it.len() > 1 && !ends) {
        Some(stem) => stem.to_owned(),
        None => format!("{name}_item"),
    }
}
