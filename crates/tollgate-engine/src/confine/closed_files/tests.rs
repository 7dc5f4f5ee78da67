use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{ClosedFiles, OpenedPath, is_copy};

/// The names below `folder` that stay open when `closed` is not.
fn open_files(folder: &Path, closed: &[&str]) -> Vec<String> {
    let closed: Vec<PathBuf> = closed.iter().map(|name| folder.join(name)).collect();
    let mut names = Vec::new();
    let note = |opened: OpenedPath| {
        let (file, mark) = match &opened {
            OpenedPath::LeadingDirectory(file) => (file, "?"),
            OpenedPath::Directory(file) => (file, "/"),
            OpenedPath::File(file) => (file, ""),
        };
        let number = std::os::fd::AsRawFd::as_raw_fd(file);
        let path = fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
        if let Ok(name) = path.strip_prefix(folder.canonicalize().unwrap()) {
            names.push(format!("{}{mark}", name.display()));
        }
        Ok::<(), Infallible>(())
    };
    let Ok(()) = ClosedFiles::locate(&closed).open_all_else(note);
    names.sort();
    names
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for directory in ["project/.tollgate", "project/src", "other"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for file in ["project/tollgate.yaml", "project/main.py", "project/.tollgate/admin.token"] {
        fs::write(at(file), "x").unwrap();
    }
    folder
}

#[test]
fn directories_that_lead_to_closed_files_are_opened_entry_by_entry() {
    let folder = folder();
    let names = open_files(folder.path(), &["project/.tollgate", "project/tollgate.yaml"]);
    assert_eq!(names, ["?", "other/", "project/main.py", "project/src/", "project?"]);
}

#[test]
fn links_open_nothing_and_hide_nothing() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    symlink("project/.tollgate", at("data")).unwrap();
    symlink("..", at("other/up")).unwrap();
    symlink(".", at("self")).unwrap();
    let expected =
        ["?", "other/", "project/main.py", "project/src/", "project/tollgate.yaml", "project?"];
    assert_eq!(open_files(folder.path(), &["data"]), expected);
    assert_eq!(
        open_files(folder.path(), &["other/up/self/data"])[..3],
        ["?", "other?", "project/main.py"]
    );
    // `other` is on the way as it is written: it could be replaced by a link to elsewhere.
    let expected =
        ["?", "other?", "project/main.py", "project/src/", "project/tollgate.yaml", "project?"];
    assert_eq!(open_files(folder.path(), &["other/../project/./.tollgate"]), expected);
}

#[test]
fn what_is_not_there_yet_and_copies_beside_are_closed() {
    let folder = folder();
    for name in ["tollgate.yaml~", ".tollgate.yaml.swp", ".tollgate.yaml.77.new", "a-tollgate.yaml"]
    {
        fs::write(folder.path().join("project").join(name), "x").unwrap();
    }
    let names = open_files(folder.path(), &["project/new/data", "project/tollgate.yaml"]);
    let expected = [
        "?",
        "other/",
        "project/.tollgate/",
        "project/a-tollgate.yaml",
        "project/main.py",
        "project/src/",
        "project?",
    ];
    assert_eq!(names, expected);
}

#[test]
fn copies_are_known_by_their_names() {
    let check = |name: &str, expected: bool| {
        assert_eq!(is_copy(OsStr::new(name), OsStr::new("t.yaml")), expected, "{name}");
    };
    for copy in [
        "t.yaml~",
        ".t.yaml.swx",
        "#t.yaml#",
        ".#t.yaml",
        "t.yaml.bak",
        "t.yaml.1",
        ".t.yaml.123.new",
    ] {
        check(copy, true);
    }
    for other in ["t.yaml.local", "not.yaml", "at.yaml", "t.yml", "t.yamls"] {
        check(other, false);
    }
}
