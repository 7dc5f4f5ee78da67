//! Ownership of exposed names: detects `expose_as` collisions. Persisted, so that a name never
//! moves to another tool by itself.

use std::collections::BTreeMap;

use crate::id::{ExposedName, ServerId, ToolId};

/// Tools and prompts are addressed by different methods, so they have separate namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    Tool,
    Prompt,
}

/// One name and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedName {
    pub kind: NameKind,
    pub exposed: ExposedName,
    pub owner: ToolId,
}

/// Invariant: names are unique ignoring case, and names of different servers do not look alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameOwners {
    /// By lower-case name.
    names: BTreeMap<(NameKind, String), OwnedName>,
    /// By name with look-alikes folded: the server that has it, and the number of such names.
    shapes: BTreeMap<(NameKind, String), (ServerId, usize)>,
}

impl NameOwners {
    /// Assigns the name to `owner`, or returns its current owner. Claiming one's own name again
    /// succeeds.
    pub fn claim(
        &mut self,
        kind: NameKind,
        exposed: &ExposedName,
        owner: &ToolId,
    ) -> Result<(), ToolId> {
        let key = (kind, lower(exposed));
        let shape = (kind, shape(exposed));
        if let Some(owned) = self.names.get(&key) {
            return if owned.owner == *owner && owned.exposed == *exposed {
                Ok(())
            } else {
                Err(owned.owner.clone())
            };
        }
        match self.shapes.get_mut(&shape) {
            Some((server, count)) if *server == owner.server => *count += 1,
            Some(_) => return Err(self.twin(kind, &shape.1, owner)),
            None => {
                self.shapes.insert(shape, (owner.server.clone(), 1));
            }
        }
        let owned = OwnedName { kind, exposed: exposed.clone(), owner: owner.clone() };
        self.names.insert(key, owned);
        Ok(())
    }

    /// Removes all owners that `keeps` rejects.
    pub fn retain(&mut self, mut keeps: impl FnMut(&OwnedName) -> bool) {
        let shapes = &mut self.shapes;
        self.names.retain(|_, owned| {
            let is_retained = keeps(owned);
            if !is_retained {
                let shape = (owned.kind, shape(&owned.exposed));
                if let Some((_, count)) = shapes.get_mut(&shape) {
                    *count -= 1;
                    if *count == 0 {
                        shapes.remove(&shape);
                    }
                }
            }
            is_retained
        });
    }

    /// Sorted by name, for persistence.
    pub fn iter(&self) -> impl Iterator<Item = &OwnedName> {
        self.names.values()
    }

    /// The owner of the name that looks the same.
    fn twin(&self, kind: NameKind, folded: &str, loser: &ToolId) -> ToolId {
        self.names
            .values()
            .find(|owned| owned.kind == kind && shape(&owned.exposed) == folded)
            .map_or_else(|| loser.clone(), |owned| owned.owner.clone())
    }
}

/// From persisted names; of two in conflict, the first is kept.
impl FromIterator<OwnedName> for NameOwners {
    fn from_iter<I: IntoIterator<Item = OwnedName>>(written: I) -> Self {
        let mut owners = Self::default();
        for owned in written {
            // A conflict can only come from an edited file; the first claim is kept.
            let _ = owners.claim(owned.kind, &owned.exposed, &owned.owner);
        }
        owners
    }
}

fn lower(exposed: &ExposedName) -> String {
    exposed.as_str().to_ascii_lowercase()
}

/// Folds look-alikes: `0` to `o`, `1` and `i` to `l`.
pub(crate) fn shape(exposed: &ExposedName) -> String {
    let fold = |c: char| match c.to_ascii_lowercase() {
        '0' => 'o',
        '1' | 'i' => 'l',
        '-' | '.' | '/' => '_',
        other => other,
    };
    exposed.as_str().chars().map(fold).collect()
}
