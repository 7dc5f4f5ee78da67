//! Finds bind mounts: the same files under other paths.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A line of `/proc/self/mountinfo`.
struct Mount {
    device: String,
    /// The directory of the file system that is mounted.
    root: PathBuf,
    /// The mount point.
    target: PathBuf,
}

/// Other paths to the same files, and to mounts of parts of them.
pub(super) fn aliases(closed: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts: Vec<Mount> = mounts.lines().filter_map(parse).collect();
    closed.iter().flat_map(|path| aliases_of(path, &mounts)).collect()
}

fn aliases_of(path: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.target));
    // Of several mounts at one place the last is visible.
    let Some(own) = above.max_by_key(|mount| mount.target.components().count()) else {
        return Vec::new();
    };
    let Ok(below) = path.strip_prefix(&own.target) else { return Vec::new() };
    let inside = own.root.join(below);
    let others = mounts.iter().filter(|it| it.device == own.device && it.target != own.target);
    let shown = others.filter_map(|other| match inside.strip_prefix(&other.root) {
        Ok(below) => Some(other.target.join(below)).filter(|alias| is_same(alias, path)),
        Err(_) => other.root.starts_with(&inside).then(|| other.target.clone()),
    });
    shown.collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| fs::symlink_metadata(path).map(|about| (about.dev(), about.ino())).ok();
    identity(one).is_some() && identity(one) == identity(other)
}

fn parse(line: &str) -> Option<Mount> {
    let mut words = line.split(' ').skip(2);
    let device = words.next()?.to_owned();
    let root = unescape(words.next()?).into();
    Some(Mount { device, root, target: unescape(words.next()?).into() })
}

/// Spaces are escaped as `\040`.
fn unescape(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}
