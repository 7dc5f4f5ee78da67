//! Cost estimate of validation, before it runs: an upper bound on subschema evaluations per part of
//! an instance, by its depth.

use std::collections::BTreeMap;

use serde_json::Value;

use super::SchemaError;
use super::graph::SchemaGraph;
use super::subschema::InstancePart;

/// Maximum in-place evaluations on one part of an instance.
const MAX_IN_PLACE: u64 = 10_000;
/// Maximum evaluations of one check; some tens of milliseconds.
const MAX_TOTAL: u64 = 1_000_000;
/// Maximum evaluations for which detailed errors are reported.
const MAX_DETAILED: u64 = 20_000;
/// Up to here the work is linear in the instance with a small factor, and is not counted.
const HARMLESS: u64 = 64;
/// Maximum chain of in-place schemas times the depth of the instance: the stack of one check.
const MAX_STACK: usize = 1_024;
/// Deeper than any instance that the JSON parser accepts.
const LEVELS: usize = 128;
/// Maximum total size of all closures; beyond it even counting is expensive.
const MAX_CLOSURES: usize = 50_000;

/// Bounds for one schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkBounds {
    /// Evaluations per part of the instance, by depth.
    levels: Vec<u64>,
    /// Evaluations per part at all greater depths.
    beyond: u64,
    chain: usize,
}

/// The cost of checking one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckCost {
    Fine,
    TooMuch,
}

impl WorkBounds {
    pub(crate) fn of(graph: &SchemaGraph<'_>) -> Result<Self, SchemaError> {
        let is_plain = !graph.has_references && !graph.nodes.iter().any(|it| it.is_unevaluated);
        let count = graph.nodes.len() as u64;
        if is_plain && count <= HARMLESS {
            // A tree: no subschema is applied to the same part twice.
            return Ok(Self { levels: Vec::new(), beyond: count, chain: graph.chain });
        }
        let entries = WorkEntries::of(graph)?;
        let (levels, beyond) = entries.levels();
        Ok(Self { levels, beyond, chain: graph.chain })
    }

    /// Looks only at the shape of `instance`, and not even at that if the schema is harmless.
    pub(crate) fn cost(&self, instance: &Value) -> CheckCost {
        let most = self.levels.iter().copied().max().unwrap_or(0).max(self.beyond);
        if most <= HARMLESS && self.chain * LEVELS <= MAX_STACK {
            return CheckCost::Fine;
        }
        self.cost_of(&counts(instance))
    }

    /// Detailed errors are reported only if that is cheap: each takes memory, and in-place schemas
    /// repeat them.
    pub(crate) fn allows_details(&self, instance: &Value) -> bool {
        let counts = counts(instance);
        self.total(&counts) <= MAX_DETAILED
    }

    fn total(&self, counts: &[u64]) -> u64 {
        let per_level = |at| self.levels.get(at).copied().unwrap_or(self.beyond);
        counts.iter().enumerate().fold(0_u64, |total, (at, count)| {
            total.saturating_add(count.saturating_mul(per_level(at)))
        })
    }

    fn cost_of(&self, counts: &[u64]) -> CheckCost {
        let fits = self.total(counts) <= MAX_TOTAL.max(linear(counts));
        if fits && counts.len() * self.chain <= MAX_STACK {
            CheckCost::Fine
        } else {
            CheckCost::TooMuch
        }
    }
}

/// A large instance may cost more, as long as each part is cheap.
fn linear(counts: &[u64]) -> u64 {
    counts.iter().sum::<u64>().saturating_mul(HARMLESS)
}

/// Parts of the instance, by depth.
pub(crate) fn counts(instance: &Value) -> Vec<u64> {
    let mut counts = Vec::new();
    let mut level = vec![instance];
    while !level.is_empty() {
        counts.push(level.len() as u64);
        level = level
            .into_iter()
            .flat_map(|value| -> Box<dyn Iterator<Item = &Value>> {
                match value {
                    Value::Array(items) => Box::new(items.iter()),
                    Value::Object(fields) => Box::new(fields.values()),
                    _ => Box::new(std::iter::empty()),
                }
            })
            .collect();
    }
    counts
}

/// The schemas that can apply to a part of an instance, with their in-place closures.
struct WorkEntries<'a> {
    entries: Vec<WorkEntry<'a>>,
}

struct WorkEntry<'a> {
    /// Evaluations on the part itself.
    own: u64,
    /// Transitions to parts of the part, sorted by target: how often, and to which entry.
    parts: Vec<WorkStep<'a>>,
}

struct WorkStep<'a> {
    target: InstancePart<'a>,
    times: u64,
    entry: usize,
}

impl<'a> WorkEntries<'a> {
    fn of(graph: &SchemaGraph<'a>) -> Result<Self, SchemaError> {
        let mut starts = vec![0];
        let mut entry_of = vec![None; graph.nodes.len()];
        entry_of[0] = Some(0);
        let mut place = vec![0; graph.nodes.len()];
        for (rank, node) in graph.order.iter().enumerate() {
            place[*node] = rank;
        }
        let mut entries = Vec::new();
        let mut size = 0;
        let mut next = 0;
        while let Some(start) = starts.get(next).copied() {
            next += 1;
            let closure = closure(graph, &place, start);
            size += closure.len();
            let own = closure.iter().fold(0_u64, |sum, (_, times)| sum.saturating_add(*times));
            if own > MAX_IN_PLACE || size > MAX_CLOSURES {
                return Err(SchemaError::TooMuchWork);
            }
            let mut parts = Vec::new();
            for (node, times) in closure {
                for (target, child) in &graph.nodes[node].parts {
                    let entry = *entry_of[*child].get_or_insert_with(|| {
                        starts.push(*child);
                        starts.len() - 1
                    });
                    parts.push(WorkStep { target: *target, times, entry });
                }
            }
            size += parts.len();
            parts.sort_unstable_by_key(|part| part.target);
            entries.push(WorkEntry { own, parts });
        }
        Ok(Self { entries })
    }

    /// Evaluations per part by depth below the root, and the value for all greater depths.
    fn levels(&self) -> (Vec<u64>, u64) {
        let mut now: Vec<u64> = self.entries.iter().map(|entry| entry.own).collect();
        let mut levels = vec![now[0]];
        for _ in 1..LEVELS {
            let next: Vec<u64> = self.entries.iter().map(|entry| entry.below(&now)).collect();
            if next == now || next[0] > MAX_TOTAL {
                return (levels, next[0]);
            }
            levels.push(next[0]);
            now = next;
        }
        (levels, u64::MAX)
    }
}

impl WorkEntry<'_> {
    /// Evaluations on a part one level deeper, if `now` holds for this level. Transitions that
    /// cannot reach the same part (two names, two positions) do not add up.
    fn below(&self, now: &[u64]) -> u64 {
        let mut all_properties = 0_u64;
        let mut all_items = 0_u64;
        let mut one_property = 0_u64;
        let mut one_item = 0_u64;
        for same in self.parts.chunk_by(|a, b| a.target == b.target) {
            let work = same.iter().fold(0_u64, |sum, part| {
                sum.saturating_add(part.times.saturating_mul(now[part.entry]))
            });
            match same[0].target {
                InstancePart::Property(_) => one_property = one_property.max(work),
                InstancePart::Item(_) => one_item = one_item.max(work),
                InstancePart::AnyItem => all_items = all_items.saturating_add(work),
                _ => all_properties = all_properties.saturating_add(work),
            }
        }
        all_items.saturating_add(one_item).max(all_properties.saturating_add(one_property))
    }
}

/// The in-place closure of `start`, itself first, with the number of evaluations of each.
fn closure(graph: &SchemaGraph<'_>, place: &[usize], start: usize) -> Vec<(usize, u64)> {
    let mut waiting = BTreeMap::from([(place[start], (1_u64, 0_u64))]);
    let mut closure = Vec::new();
    while let Some((rank, (times, mut marked))) = waiting.pop_first() {
        let at = graph.order[rank];
        let node = &graph.nodes[at];
        closure.push((at, times));
        if node.is_unevaluated {
            marked = marked.saturating_add(times);
        }
        for child in &node.in_place {
            let (again, marks) = waiting.entry(place[*child]).or_insert((0, 0));
            *again = again.saturating_add(times).saturating_add(marked);
            *marks = marks.saturating_add(marked);
        }
    }
    closure
}
