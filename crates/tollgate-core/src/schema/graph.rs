//! A schema as a graph of subschemas and references, with limits on its size and shape.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::SchemaError;
use super::subschema::{InstancePart, subschemas};
use crate::text::truncate_chars;

pub(crate) const MAX_SUBSCHEMAS: usize = 2_000;
pub(crate) const MAX_DEPTH: usize = 32;
/// Maximum schemas on one path of references; the compiler recurses along it.
const MAX_PATH: usize = 256;

/// All subschemas. The first is the root.
#[derive(Debug)]
pub(crate) struct SchemaGraph<'a> {
    pub(crate) nodes: Vec<SchemaNode<'a>>,
    /// Topological order of in-place application: a schema precedes those it applies in place.
    pub(crate) order: Vec<usize>,
    /// The longest chain of in-place applications.
    pub(crate) chain: usize,
    pub(crate) has_references: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SchemaNode<'a> {
    /// Applied to the same instance, including references.
    pub(crate) in_place: Vec<usize>,
    /// Applied to parts of the instance.
    pub(crate) parts: Vec<(InstancePart<'a>, usize)>,
    /// Compiled, but not applied to anything by itself.
    idle: Vec<usize>,
    /// Evaluates everything applied in place a second time.
    pub(crate) is_unevaluated: bool,
}

impl<'a> SchemaGraph<'a> {
    pub(crate) fn of(root: &'a Value) -> Result<Self, SchemaError> {
        let mut reader = SchemaGraphBuilder::of(root);
        reader.add(root, 1)?;
        reader.resolve()?;
        let has_references = reader.seen > 0;
        let nodes = reader.nodes;
        let (order, chain) = order(&nodes).ok_or(SchemaError::Endless)?;
        let longest = longest_path(&nodes);
        if longest > MAX_PATH {
            return Err(SchemaError::LongPath { found: longest, limit: MAX_PATH });
        }
        Ok(Self { nodes, order, chain, has_references })
    }
}

struct SchemaGraphBuilder<'a> {
    root: &'a Value,
    nodes: Vec<SchemaNode<'a>>,
    /// Keyed by address: the tree is borrowed for as long as this lives.
    known: HashMap<usize, usize>,
    anchors: HashMap<&'a str, usize>,
    references: Vec<(usize, &'a str)>,
    /// References seen so far, resolved or not.
    seen: usize,
    has_inner_id: bool,
}

impl<'a> SchemaGraphBuilder<'a> {
    fn of(root: &'a Value) -> Self {
        Self {
            root,
            nodes: Vec::new(),
            known: HashMap::new(),
            anchors: HashMap::new(),
            references: Vec::new(),
            seen: 0,
            has_inner_id: false,
        }
    }

    fn add(&mut self, schema: &'a Value, depth: usize) -> Result<usize, SchemaError> {
        if depth > MAX_DEPTH {
            return Err(SchemaError::TooDeep { limit: MAX_DEPTH });
        }
        if self.nodes.len() == MAX_SUBSCHEMAS {
            return Err(SchemaError::TooManySubschemas { limit: MAX_SUBSCHEMAS });
        }
        let at = self.nodes.len();
        self.nodes.push(SchemaNode::default());
        self.known.insert(address(schema), at);
        let Value::Object(fields) = schema else { return Ok(at) };
        self.keywords(at, fields);
        for step in subschemas(fields) {
            let child = match self.known.get(&address(step.schema)) {
                Some(known) => *known,
                None => self.add(step.schema, depth + 1)?,
            };
            let node = &mut self.nodes[at];
            node.is_unevaluated |= step.keyword.starts_with("unevaluated");
            match step.target {
                InstancePart::Same => node.in_place.push(child),
                InstancePart::Nothing => node.idle.push(child),
                target => node.parts.push((target, child)),
            }
        }
        Ok(at)
    }

    fn keywords(&mut self, at: usize, fields: &'a Map<String, Value>) {
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(reference)) = fields.get(keyword) {
                self.references.push((at, reference));
                self.seen += 1;
            }
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(anchor)) = fields.get(keyword) {
                self.anchors.entry(anchor).or_insert(at);
            }
        }
        let id = if self.is_draft4() { "id" } else { "$id" };
        self.has_inner_id |= at > 0 && fields.get(id).is_some_and(Value::is_string);
    }

    fn is_draft4(&self) -> bool {
        let dialect = self.root.get("$schema").and_then(Value::as_str);
        dialect.is_some_and(|dialect| dialect.contains("draft-04"))
    }

    /// Resolves every reference. Targets outside of schema keywords are parsed as schemas too.
    fn resolve(&mut self) -> Result<(), SchemaError> {
        while let Some((from, reference)) = self.references.pop() {
            // With a second base, `#` would mean another document to the compiler than here.
            if self.has_inner_id {
                return Err(SchemaError::InnerId);
            }
            let target = match self.target(reference)? {
                ReferenceTarget::Node(node) => node,
                ReferenceTarget::Value(value) => match self.known.get(&address(value)) {
                    Some(known) => *known,
                    None => self.add(value, 1)?,
                },
            };
            self.nodes[from].in_place.push(target);
        }
        if self.seen > 0 && self.has_inner_id { Err(SchemaError::InnerId) } else { Ok(()) }
    }

    fn target(&self, reference: &str) -> Result<ReferenceTarget<'a>, SchemaError> {
        let outside = || SchemaError::Outside(truncate_chars(reference, 80));
        let nowhere = || SchemaError::Nowhere(truncate_chars(reference, 80));
        let fragment = reference.strip_prefix('#').ok_or_else(outside)?;
        let fragment = decode(fragment).ok_or_else(nowhere)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let value = self.root.pointer(&fragment).ok_or_else(nowhere)?;
            return match value {
                Value::Object(_) | Value::Bool(_) => Ok(ReferenceTarget::Value(value)),
                _ => Err(nowhere()),
            };
        }
        self.anchors.get(&*fragment).map(|node| ReferenceTarget::Node(*node)).ok_or_else(nowhere)
    }
}

enum ReferenceTarget<'a> {
    Node(usize),
    Value(&'a Value),
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// Percent-decoding, as for the fragment of a URI.
pub(crate) fn decode(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// Topological order of in-place application and its longest chain; `None` if it has a cycle.
fn order(nodes: &[SchemaNode<'_>]) -> Option<(Vec<usize>, usize)> {
    let mut waiting = vec![0_usize; nodes.len()];
    for child in nodes.iter().flat_map(|node| &node.in_place) {
        waiting[*child] += 1;
    }
    let mut order: Vec<usize> = (0..nodes.len()).filter(|at| waiting[*at] == 0).collect();
    let mut chain = vec![1_usize; nodes.len()];
    let mut next = 0;
    while let Some(at) = order.get(next).copied() {
        next += 1;
        for child in &nodes[at].in_place {
            chain[*child] = chain[*child].max(chain[at] + 1);
            waiting[*child] -= 1;
            if waiting[*child] == 0 {
                order.push(*child);
            }
        }
    }
    let longest = chain.into_iter().max().unwrap_or(1);
    (order.len() == nodes.len()).then_some((order, longest))
}

/// An upper bound on the schemas along any path: the nodes of cycles count once each.
fn longest_path(nodes: &[SchemaNode<'_>]) -> usize {
    let edges: Vec<Vec<usize>> = nodes
        .iter()
        .map(|node| {
            let parts = node.parts.iter().map(|(_, child)| child);
            node.in_place.iter().chain(&node.idle).chain(parts).copied().collect()
        })
        .collect();
    let mut reversed = vec![Vec::new(); nodes.len()];
    for (from, targets) in edges.iter().enumerate() {
        for target in targets {
            reversed[*target].push(from);
        }
    }
    let (before, head) = peel(&edges, &vec![false; nodes.len()]);
    let (both, tail) = peel(&reversed, &before);
    head + tail + both.iter().filter(|gone| !**gone).count()
}

/// Repeatedly removes nodes without incoming edges: the removed nodes, and the number of rounds.
fn peel(edges: &[Vec<usize>], already: &[bool]) -> (Vec<bool>, usize) {
    let mut gone = already.to_vec();
    let mut waiting = vec![0_usize; edges.len()];
    for (_, targets) in edges.iter().enumerate().filter(|(from, _)| !already[*from]) {
        for target in targets {
            waiting[*target] += 1;
        }
    }
    let free = |at: &usize| waiting[*at] == 0 && !already[*at];
    let mut round: Vec<usize> = (0..edges.len()).filter(free).collect();
    let mut rounds = 0;
    while !round.is_empty() {
        rounds += 1;
        let mut next = Vec::new();
        for at in round {
            gone[at] = true;
            for target in &edges[at] {
                waiting[*target] -= 1;
                if waiting[*target] == 0 && !gone[*target] {
                    next.push(*target);
                }
            }
        }
        round = next;
    }
    (gone, rounds)
}
