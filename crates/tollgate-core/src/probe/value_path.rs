//! Where in the arguments a value is being made, and what is being made around it.

use super::ProbeSynthesisError;
use crate::text::truncate_chars;

/// Levels of values inside one another. Schemas have a limit like it; references get around that.
const MAX_NESTING: usize = 32;
/// Characters of a place that a reason repeats.
const MAX_QUOTED_CHARS: usize = 80;

/// One value that is being made. The values around it wait for it.
pub(super) struct ValuePath<'p> {
    around: Option<&'p Self>,
    name: &'p str,
    level: usize,
    /// What the value has to fit, in any order: the addresses of schemas.
    needs: Vec<usize>,
}

impl<'p> ValuePath<'p> {
    pub(super) fn whole(needs: Vec<usize>) -> Self {
        Self { around: None, name: "", level: 0, needs: sort_and_dedup(needs) }
    }

    pub(super) fn inside(around: &'p Self, name: &'p str, needs: Vec<usize>) -> Self {
        Self { around: Some(around), name, level: around.level + 1, needs: sort_and_dedup(needs) }
    }

    /// The least value never has the same task inside itself: the inner one would be less.
    pub(super) fn check(&self) -> Result<(), ProbeSynthesisError> {
        if !self.needs.is_empty() && self.outwards().skip(1).any(|it| it.needs == self.needs) {
            return Err(ProbeSynthesisError::Recursive { at: self.pointer() });
        }
        match self.level > MAX_NESTING {
            true => Err(self.too_large(format!("values nested deeper than {MAX_NESTING} levels"))),
            false => Ok(()),
        }
    }

    pub(super) fn contradiction(&self, why: impl Into<String>) -> ProbeSynthesisError {
        ProbeSynthesisError::Contradiction { at: self.pointer(), why: why.into() }
    }

    pub(super) fn too_large(&self, what: String) -> ProbeSynthesisError {
        ProbeSynthesisError::TooLarge { at: self.pointer(), what }
    }

    pub(super) fn pointer(&self) -> String {
        let mut names: Vec<&str> = self.outwards().map(|it| it.name).collect();
        names.pop();
        let pointer = names.iter().rev().fold(String::new(), |pointer, name| {
            format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
        });
        truncate_chars(&pointer, MAX_QUOTED_CHARS)
    }

    fn outwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |it| it.around)
    }
}

fn sort_and_dedup(mut needs: Vec<usize>) -> Vec<usize> {
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// A place as it stands in a sentence.
pub(super) fn describe_pointer(pointer: &str) -> String {
    match pointer {
        "" => "the whole".to_owned(),
        pointer => format!("`{pointer}`"),
    }
}
