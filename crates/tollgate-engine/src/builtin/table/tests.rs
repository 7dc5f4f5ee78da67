//! Which servers ship, and that their definitions are whole.

use std::fs;

use super::servers;
use crate::builtin::scratch::Scratch;
use crate::settings::Builtin;

#[test]
fn dice_and_files_ship_with_their_tools() {
    let scratch = Scratch::new();
    let settings = Builtin { files: scratch.path().join("files"), tables: None };
    let mut shown = Vec::new();
    for server in servers(&settings) {
        for tool in &server.tools {
            let definition = tool.definition();
            shown.push(format!("{}/{}", server.name, definition["name"].as_str().unwrap()));
        }
    }
    assert_eq!(shown, ["dice/roll", "dice/roll_table", "files/write_file", "files/read_file"]);
    assert!(!settings.files.exists(), "nothing is made before it is used");
}

#[test]
fn tables_of_the_user_are_offered() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("taverns.txt"), "The Broken Oar\n").unwrap();
    fs::write(scratch.path().join("broken.txt"), "").unwrap();
    let settings =
        Builtin { files: scratch.path().join("files"), tables: Some(scratch.path().to_owned()) };
    let roll_table = servers(&settings)[0].tools[1].definition();
    let names = roll_table["inputSchema"]["properties"]["table_name"]["enum"].clone();
    assert_eq!(
        names,
        serde_json::json!(["random_encounter", "taverns", "treasure_hoard", "wild_magic"])
    );
}
