//! The search for entities with a close name: which names are compared, and which are closest.

use tollgate_core::memory::{CloseName, NameDistance};

/// Names compared in one search. A bound on the time it takes: about a microsecond each.
const MAX_COMPARED: usize = 20_000;

/// The known names compared so far, of which the closest are kept.
pub(super) struct CloseNameSearch {
    name: CloseName,
    most: usize,
    left: usize,
    /// With the row numbers, the closest first.
    closest: Vec<(NameDistance, i64)>,
}

impl CloseNameSearch {
    /// `None`: nothing can be close to such a name.
    pub(super) fn new(name: &str, most: usize) -> Option<Self> {
        let name = CloseName::new(name)?;
        (most > 0).then_some(Self { name, most, left: MAX_COMPARED, closest: Vec::new() })
    }

    /// How many more names are compared.
    pub(super) fn room_left(&self) -> usize {
        self.left
    }

    /// The range of folded names with the same first letter: from, and up to.
    pub(super) fn likely_range(&self) -> (String, String) {
        let initial = self.name.initial();
        let end = (initial..=char::MAX).nth(1).unwrap_or(char::MAX);
        (initial.to_string(), end.to_string())
    }

    pub(super) fn compare(&mut self, number: i64, folded: &str) {
        self.left = self.left.saturating_sub(1);
        let Some(distance) = self.name.distance(folded) else { return };
        let at = self.closest.partition_point(|known| *known <= (distance, number));
        if at < self.most {
            self.closest.insert(at, (distance, number));
            self.closest.truncate(self.most);
        }
    }

    /// The row numbers of the closest, closest first.
    pub(super) fn into_closest(self) -> Vec<i64> {
        self.closest.into_iter().map(|(_, number)| number).collect()
    }
}
