//! Settings of the built-in tools. Files are only named here: errors in them do not prevent the
//! start.

use std::path::{Path, PathBuf};

use http::Uri;
use tollgate_core::secret::Secret;
use tollgate_engine::settings::{BuiltinSettings, MusicSettings};

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;

pub(super) fn builtin(
    top: &SectionFields,
    data: &Path,
    problems: &mut Problems,
) -> BuiltinSettings {
    let usual = data.join("files");
    let Some(fields) = top.section("builtin") else { return BuiltinSettings::new(usual) };
    let path = |key: &str| fields.text(key).map(|text| PathBuf::from(text.value));
    BuiltinSettings {
        tables: path("tables"),
        rules: path("rules"),
        web: super::web::web(top, problems),
        music: fields.section("music").and_then(|music| self::music(music, problems)),
        ..BuiltinSettings::new(path("files").unwrap_or(usual))
    }
}

fn music(fields: &SectionFields, problems: &mut Problems) -> Option<MusicSettings> {
    let webhook = match fields.text("webhook") {
        Some(text) if !is_web(text.value) => {
            // Such a URL may contain a token: do not repeat it.
            let message = "`webhook` must be a URL that begins with http:// or https://";
            problems
                .error(text.at, &fields.path("webhook"), message)
                .help("like `http://127.0.0.1:9000/music`");
            None
        }
        found => found.map(|text| Secret::new(text.value)),
    };
    let library = PathBuf::from(fields.text("library")?.value);
    Some(MusicSettings { library, webhook })
}

fn is_web(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let host = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    matches!(scheme, Some("http" | "https")) && host.is_some_and(|host| !host.is_empty())
}
