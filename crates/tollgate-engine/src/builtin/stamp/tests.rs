//! What makes two stamps differ.

use std::fs;

use super::BuiltinFilesStamp;
use crate::builtin::scratch::ScratchDir;
use crate::settings::{BuiltinSettings, MusicSettings};

#[test]
fn a_stamp_changes_with_the_files_that_are_read() {
    let scratch = ScratchDir::new();
    let path = |name: &str| scratch.path().join(name);
    fs::create_dir(path("tables")).unwrap();
    let settings = BuiltinSettings {
        tables: Some(path("tables")),
        rules: Some(path("rules")),
        music: Some(MusicSettings { library: path("music.yaml"), webhook: None }),
        ..BuiltinSettings::new(path("files"))
    };
    let mut last = BuiltinFilesStamp::of(&settings);
    let mut changes = |what: &str| {
        let now = BuiltinFilesStamp::of(&settings);
        assert_ne!(now, last, "{what}");
        assert_eq!(now, BuiltinFilesStamp::of(&settings), "{what}");
        last = now;
    };
    fs::write(path("tables/inns.txt"), "The Owl").unwrap();
    changes("a new table");
    fs::write(path("tables/new.txt"), "The Cat").unwrap();
    fs::rename(path("tables/new.txt"), path("tables/inns.txt")).unwrap();
    changes("one of the same size in its place");
    fs::create_dir(path("rules")).unwrap();
    changes("a directory that was missing");
    fs::write(path("music.yaml"), "tracks: []").unwrap();
    changes("a library");
    fs::remove_file(path("tables/inns.txt")).unwrap();
    changes("a table that is gone");

    let before = BuiltinFilesStamp::of(&settings);
    fs::write(path("tables/notes.md"), "no table").unwrap();
    assert_eq!(BuiltinFilesStamp::of(&settings), before, "others may lie beside them");
}
