//! Does the sandbox hold something that is not its own? Asked by wiring before anything starts.

use std::path::{Component, Path, PathBuf};

/// The first of `others` that lies in `base` or is `base`: `write_file` could change it.
///
/// A base within one of the others is fine. Symbolic links are followed; what does not exist
/// yet is judged by its name.
pub fn overlaps<'a>(base: &Path, others: &[&'a Path]) -> Option<&'a Path> {
    let base = resolve(base);
    others.iter().copied().find(|other| resolve(other).starts_with(&base))
}

/// Goes down the path and resolves every part of it that exists.
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
