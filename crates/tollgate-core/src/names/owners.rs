//! Who owns which exposed name: finds `expose_as` collisions. Kept over restarts, so that no name
//! changes hands by itself.

use std::collections::BTreeMap;

use crate::id::{ExposedName, ServerId, ToolId};

/// Tools and prompts are asked for by different methods, so their names are apart.
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

/// Invariant: no two names are equal by case, and none of two servers look alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameOwners {
    /// By the name in lower case.
    names: BTreeMap<(NameKind, String), OwnedName>,
    /// By the name with look-alikes folded: the server that has it, and how many such names.
    shapes: BTreeMap<(NameKind, String), (ServerId, usize)>,
}

impl NameOwners {
    /// Gives the name to `owner`, or says who has it. Asking again for one's own name is fine.
    pub fn claim(
        &mut self,
        kind: NameKind,
        exposed: &ExposedName,
        owner: &ToolId,
    ) -> Result<(), ToolId> {
        let (key, shape) = ((kind, lower(exposed)), (kind, shape(exposed)));
        if let Some(owned) = self.names.get(&key) {
            return match owned.owner == *owner && owned.exposed == *exposed {
                true => Ok(()),
                false => Err(owned.owner.clone()),
            };
        }
        match self.shapes.get_mut(&shape) {
            Some((server, count)) if *server == owner.server => *count += 1,
            Some(_) => return Err(self.twin(&shape, owner)),
            None => {
                self.shapes.insert(shape, (owner.server.clone(), 1));
            }
        }
        let owned = OwnedName { kind, exposed: exposed.clone(), owner: owner.clone() };
        self.names.insert(key, owned);
        Ok(())
    }

    /// Forgets all owners that `keeps` does not want.
    pub fn retain(&mut self, mut keeps: impl FnMut(&OwnedName) -> bool) {
        let shapes = &mut self.shapes;
        self.names.retain(|_, owned| {
            let kept = keeps(owned);
            if !kept {
                let shape = (owned.kind, shape(&owned.exposed));
                if let Some((_, count)) = shapes.get_mut(&shape) {
                    *count -= 1;
                    if *count == 0 {
                        shapes.remove(&shape);
                    }
                }
            }
            kept
        });
    }

    /// In the order of the names, to be written down.
    pub fn iter(&self) -> impl Iterator<Item = &OwnedName> {
        self.names.values()
    }

    fn twin(&self, wanted: &(NameKind, String), loser: &ToolId) -> ToolId {
        self.names
            .values()
            .find(|owned| owned.kind == wanted.0 && shape(&owned.exposed) == wanted.1)
            .map_or_else(|| loser.clone(), |owned| owned.owner.clone())
    }
}

/// What was written down; of two that cannot both be, the first counts.
impl FromIterator<OwnedName> for NameOwners {
    fn from_iter<I: IntoIterator<Item = OwnedName>>(written: I) -> Self {
        let mut owners = Self::default();
        for owned in written {
            // A second claim of the same name can only be an edited file; the first stands.
            let _ = owners.claim(owned.kind, &owned.exposed, &owned.owner);
        }
        owners
    }
}

fn lower(exposed: &ExposedName) -> String {
    exposed.as_str().to_ascii_lowercase()
}

/// What a hurried reader sees: `0` is an `o`, `1` and `i` are an `l`.
pub(crate) fn shape(exposed: &ExposedName) -> String {
    let fold = |c: char| match c.to_ascii_lowercase() {
        '0' => 'o',
        '1' | 'i' => 'l',
        '-' | '.' | '/' => '_',
        other => other,
    };
    exposed.as_str().chars().map(fold).collect()
}
