//! What the built-in tools are given.

use std::path::PathBuf;

use tollgate_core::secret::Secret;
use tollgate_engine::settings::{BuiltinSettings, MusicSettings};

use super::{good, refusal_of};

#[test]
fn files_and_directories_are_read() {
    assert_eq!(good("data: /d").settings.builtin, BuiltinSettings::new(PathBuf::from("/d/files")));
    let config = good(
        "
builtin:
  files: /f
  tables: ./tables
  rules: ./rules
  music: { library: ./music.yaml, webhook: \"http://127.0.0.1:9000/music\" }
",
    );
    let music = MusicSettings {
        library: PathBuf::from("./music.yaml"),
        webhook: Some(Secret::new("http://127.0.0.1:9000/music")),
    };
    assert_eq!(
        config.settings.builtin,
        BuiltinSettings {
            tables: Some(PathBuf::from("./tables")),
            rules: Some(PathBuf::from("./rules")),
            music: Some(music),
            ..BuiltinSettings::new(PathBuf::from("/f"))
        }
    );
}

#[test]
fn music_needs_a_library_and_a_webhook_a_url() {
    refusal_of("builtin: { music: { webhook: \"http://a.test\" } }", "1:12 `library` is missing");
    for webhook in ["player", "ftp://a.test", "http://", "\"http:// x\""] {
        refusal_of(
            &format!("builtin: {{ music: {{ library: a, webhook: {webhook} }} }}"),
            "1:42 `webhook` must be a URL that begins with http:// or https://",
        );
    }
    refusal_of("builtin: { music: { library: a, tracks: [] } }", "1:33 unknown key `tracks`");
}
