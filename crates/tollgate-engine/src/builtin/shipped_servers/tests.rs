//! Which servers ship, and that their definitions are whole.

use std::fs;

use super::{flaws, servers};
use crate::builtin::BuiltinDeps;
use crate::builtin::scratch::ScratchDir;
use crate::settings::{BuiltinSettings, MusicSettings};

#[test]
fn servers_ship_with_their_tools() {
    let scratch = ScratchDir::new();
    let settings = BuiltinSettings::new(scratch.path().join("files"));
    let mut shown = Vec::new();
    for server in servers(&settings, &BuiltinDeps::default()) {
        for tool in &server.tools {
            let definition = tool.definition();
            shown.push(format!("{}/{}", server.name, definition["name"].as_str().unwrap()));
        }
    }
    assert_eq!(
        shown,
        [
            "dice/roll",
            "dice/roll_table",
            "files/write_file",
            "files/read_file",
            "rules/search_rules",
            "rules/get_rule",
        ]
    );
    assert!(!settings.files.exists(), "nothing is made before it is used");
}

#[test]
fn tables_of_the_user_are_offered() {
    let scratch = ScratchDir::new();
    fs::write(scratch.path().join("taverns.txt"), "The Broken Oar\n").unwrap();
    fs::write(scratch.path().join("broken.txt"), "").unwrap();
    let settings = BuiltinSettings {
        tables: Some(scratch.path().to_owned()),
        ..BuiltinSettings::new(scratch.path().join("files"))
    };
    let roll_table = servers(&settings, &BuiltinDeps::default())[0].tools[1].definition();
    let names = roll_table["inputSchema"]["properties"]["table_name"]["enum"].clone();
    assert_eq!(
        names,
        serde_json::json!(["random_encounter", "taverns", "treasure_hoard", "wild_magic"])
    );
}

#[test]
fn rules_of_the_user_are_offered() {
    let scratch = ScratchDir::new();
    let pack = "system: pf2e\nrules:\n  - { id: pf2e-hero-points, name: Hero points, text: You have some. }\n";
    fs::write(scratch.path().join("pf2e.yaml"), pack).unwrap();
    fs::write(scratch.path().join("broken.yaml"), "rules: [").unwrap();
    let settings = BuiltinSettings {
        rules: Some(scratch.path().to_owned()),
        ..BuiltinSettings::new(scratch.path().join("files"))
    };
    let servers = servers(&settings, &BuiltinDeps::default());
    let rules = servers.iter().find(|server| server.name == "rules").unwrap();
    let definition = rules.tools[0].definition();
    let about = definition["inputSchema"]["properties"]["system"]["description"].as_str().unwrap();
    assert!(about.ends_with("There are: dnd5e, pf2e"), "{about}");
}

#[test]
fn music_is_offered_once_there_is_a_library() {
    let scratch = ScratchDir::new();
    let library = scratch.path().join("music.yaml");
    let settings = BuiltinSettings {
        music: Some(MusicSettings { library: library.clone(), webhook: None }),
        ..BuiltinSettings::new(scratch.path().join("files"))
    };
    let offered = servers(&settings, &BuiltinDeps::default());
    assert_eq!(offered.last().unwrap().name, "music");
    assert_eq!(flaws(&settings).len(), 1, "there is no file");
    fs::write(&library, "tracks: [{ title: a, file: b, moods: c }]").unwrap();
    assert_eq!(flaws(&settings), []);
}
