//! What makes two stamps differ.

use std::fs;

use super::Stamp;
use crate::builtin::scratch::Scratch;
use crate::settings::{Builtin, Music};

#[test]
fn a_stamp_changes_with_the_files_that_are_read() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.path().join(name);
    fs::create_dir(path("tables")).unwrap();
    let settings = Builtin {
        tables: Some(path("tables")),
        rules: Some(path("rules")),
        music: Some(Music { library: path("music.yaml"), webhook: None }),
        ..Builtin::new(path("files"))
    };
    let mut last = Stamp::of(&settings);
    let mut changes = |what: &str| {
        let now = Stamp::of(&settings);
        assert_ne!(now, last, "{what}");
        assert_eq!(now, Stamp::of(&settings), "{what}");
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

    let before = Stamp::of(&settings);
    fs::write(path("tables/notes.md"), "no table").unwrap();
    assert_eq!(Stamp::of(&settings), before, "others may lie beside them");
}
