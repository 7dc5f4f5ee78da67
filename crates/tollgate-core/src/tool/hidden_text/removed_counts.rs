//! Counts of characters removed from a text, by kind.

use std::fmt;

use crate::json::{self, Object};
use crate::tool::finding::FindingKind;

/// Every kind that can be removed from a text.
const KINDS: [FindingKind; 8] = [
    FindingKind::Control,
    FindingKind::Tag,
    FindingKind::Bidi,
    FindingKind::ZeroWidth,
    FindingKind::VariationSelector,
    FindingKind::PrivateUse,
    FindingKind::Combining,
    FindingKind::Surrogate,
];

/// Counts of removed characters, by kind. An escape sequence counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemovedCounts([u32; KINDS.len()]);

/// As text: `control 3, bidi 1`.
impl fmt::Display for RemovedCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (kind, count)) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{} {count}", kind.as_str())?;
        }
        Ok(())
    }
}

impl RemovedCounts {
    /// In reporting order.
    pub const KINDS: [FindingKind; KINDS.len()] = KINDS;

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Each kind with a count above zero.
    pub fn iter(&self) -> impl Iterator<Item = (FindingKind, u32)> + '_ {
        KINDS.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// As JSON: `{"control":3,"bidi":1}`.
    pub fn to_object(self) -> Object<'static> {
        let mut object = Object::new();
        for (kind, count) in self.iter() {
            object.set(kind.as_str(), json::raw_value(&count.into()));
        }
        object
    }

    pub(crate) fn kinds(&self) -> Vec<FindingKind> {
        self.iter().map(|(kind, _)| kind).collect()
    }

    pub(crate) fn count(&mut self, kind: FindingKind) {
        if let Some(at) = KINDS.iter().position(|it| *it == kind) {
            self.0[at] = self.0[at].saturating_add(1);
        }
    }
}
