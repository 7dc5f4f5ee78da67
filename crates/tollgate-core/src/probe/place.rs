//! Where in the arguments a value is being made, and what is being made around it.

use super::Unmakeable;
use crate::text::shortened;

/// Levels of values inside one another. Schemas have a limit like it; references get around that.
const DEEPEST: usize = 32;
/// Characters of a place that a reason repeats.
const SAID: usize = 80;

/// One value that is being made. The values around it wait for it.
pub(super) struct Place<'p> {
    around: Option<&'p Self>,
    name: &'p str,
    level: usize,
    /// What the value has to fit, in any order: the addresses of schemas.
    needs: Vec<usize>,
}

impl<'p> Place<'p> {
    pub(super) fn whole(needs: Vec<usize>) -> Self {
        Self { around: None, name: "", level: 0, needs: sorted(needs) }
    }

    pub(super) fn inside(around: &'p Self, name: &'p str, needs: Vec<usize>) -> Self {
        Self { around: Some(around), name, level: around.level + 1, needs: sorted(needs) }
    }

    /// The least value never has the same task inside itself: the inner one would be less.
    pub(super) fn check(&self) -> Result<(), Unmakeable> {
        if !self.needs.is_empty() && self.outwards().skip(1).any(|it| it.needs == self.needs) {
            return Err(Unmakeable::Recursive { at: self.pointer() });
        }
        match self.level > DEEPEST {
            true => Err(self.too_large(format!("values nested deeper than {DEEPEST} levels"))),
            false => Ok(()),
        }
    }

    pub(super) fn contradiction(&self, why: impl Into<String>) -> Unmakeable {
        Unmakeable::Contradiction { at: self.pointer(), why: why.into() }
    }

    pub(super) fn too_large(&self, what: String) -> Unmakeable {
        Unmakeable::TooLarge { at: self.pointer(), what }
    }

    pub(super) fn pointer(&self) -> String {
        let mut names: Vec<&str> = self.outwards().map(|it| it.name).collect();
        names.pop();
        let pointer = names.iter().rev().fold(String::new(), |pointer, name| {
            format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
        });
        shortened(&pointer, SAID)
    }

    fn outwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |it| it.around)
    }
}

fn sorted(mut needs: Vec<usize>) -> Vec<usize> {
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// A place as it stands in a sentence.
pub(super) fn named(pointer: &str) -> String {
    match pointer {
        "" => "the whole".to_owned(),
        pointer => format!("`{pointer}`"),
    }
}
