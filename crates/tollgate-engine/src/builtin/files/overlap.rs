//! Checks that the file sandbox contains nothing else of value. Called by the wiring before
//! anything starts.

use std::path::{Component, Path, PathBuf};

/// The first of `others` that is `base` or lies in it, so that `write_file` could change it.
///
/// A base inside one of the others is fine. Symbolic links are resolved; paths that do not exist
/// yet are compared by name.
pub fn overlaps<'a>(base: &Path, others: &[&'a Path]) -> Option<&'a Path> {
    let base = resolve(base);
    others.iter().copied().find(|other| resolve(other).starts_with(&base))
}

/// Resolves every part of the path that exists.
fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut resolved = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            _ => resolved.push(part),
        }
        if let Ok(canonical) = resolved.canonicalize() {
            resolved = canonical;
        }
    }
    resolved
}

#[cfg(test)]
mod tests;
