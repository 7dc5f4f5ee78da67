use std::path::Path;

use super::{CLIENTS, ClientApp, UserFolders};

#[test]
fn a_client_is_found_by_any_of_its_names() {
    for (typed, id) in [
        ("cursor", "cursor"),
        ("Claude", "claude-code"),
        ("gemini", "gemini-cli"),
        ("roo", "cline"),
        ("vscode", "vscode"),
    ] {
        assert_eq!(ClientApp::find(typed).map(|it| it.id), Some(id), "{typed}");
    }
    assert!(ClientApp::find("emacs").is_none());
    assert_eq!(CLIENTS.len(), 12);
}

#[test]
fn a_file_says_by_its_name_whose_it_is() {
    for (path, id) in [
        ("/home/a/.gemini/settings.json", "gemini-cli"),
        ("/home/a/.codeium/windsurf/mcp_config.json", "windsurf"),
        ("/x/.mcp.json", "claude-code"),
    ] {
        assert_eq!(ClientApp::of_file(Path::new(path)).map(|it| it.id), Some(id), "{path}");
    }
    assert!(ClientApp::of_file(Path::new("/x/servers.json")).is_none());
}

#[test]
fn files_are_looked_for_where_this_machine_has_them() {
    let folders = UserFolders::of(|name| match name {
        "HOME" => Some("/home/a".to_owned()),
        "XDG_CONFIG_HOME" => Some("/cfg".to_owned()),
        _ => None,
    });
    let files = ClientApp::find("zed").unwrap().files(&folders.unwrap());
    assert_eq!(files, [Path::new("./.zed/settings.json"), Path::new("/cfg/zed/settings.json")]);
    assert!(UserFolders::of(|_| None).is_none());
}
