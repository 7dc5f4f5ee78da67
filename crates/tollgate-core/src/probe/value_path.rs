//! The path of the value being generated, and the pending values around it.

use super::ProbeSynthesisError;
use crate::text::truncate_chars;

/// Maximum nesting of values. Schemas have a similar limit, but references bypass it.
const MAX_NESTING: usize = 32;
/// Maximum characters of a pointer quoted in an error.
const MAX_QUOTED_CHARS: usize = 80;

/// One value being generated. The enclosing values wait for it.
pub(super) struct ValuePath<'p> {
    around: Option<&'p Self>,
    name: &'p str,
    level: usize,
    /// The addresses of the schemas that the value has to satisfy, in any order.
    needs: Vec<usize>,
}

impl<'p> ValuePath<'p> {
    pub(super) fn whole(needs: Vec<usize>) -> Self {
        Self { around: None, name: "", level: 0, needs: sort_and_dedup(needs) }
    }

    pub(super) fn inside(around: &'p Self, name: &'p str, needs: Vec<usize>) -> Self {
        Self { around: Some(around), name, level: around.level + 1, needs: sort_and_dedup(needs) }
    }

    /// Detects recursion: a minimal value never contains the same task, since the inner value would
    /// be smaller.
    pub(super) fn check(&self) -> Result<(), ProbeSynthesisError> {
        if !self.needs.is_empty() && self.outwards().skip(1).any(|it| it.needs == self.needs) {
            return Err(ProbeSynthesisError::Recursive { at: self.pointer() });
        }
        if self.level > MAX_NESTING {
            Err(self.too_large(format!("values nested deeper than {MAX_NESTING} levels")))
        } else {
            Ok(())
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

/// A JSON pointer as part of a sentence.
pub(super) fn describe_pointer(pointer: &str) -> String {
    match pointer {
        "" => "the whole".to_owned(),
        pointer => format!("`{pointer}`"),
    }
}
