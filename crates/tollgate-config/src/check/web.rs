//! Web access of built-in tools, and the private addresses that the SSRF guard allows
//! (`allow_private`).

use tollgate_core::secret::Secret;
use tollgate_engine::settings::{SearchProvider, WebSearchSettings, WebSettings};
use tollgate_engine::web::AllowedHost;

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::endpoint::{url, warn_of_open_wire};

const BRAVE: &str = "https://api.search.brave.com/res/v1/web/search";

/// Also `None` after an error, which has been reported.
pub(super) fn web(top: &SectionFields, problems: &mut Problems) -> Option<WebSettings> {
    let section = top.section("builtin")?.section("web")?;
    Some(WebSettings {
        search: search(section, problems),
        allow_private: allow_private(section, problems),
    })
}

fn search(section: &SectionFields, problems: &mut Problems) -> Option<WebSearchSettings> {
    let Some(kind) = section.text("search") else {
        // An invalid `search` has been reported already.
        let lonely = |key: &&str| section.has(key) && !section.has("search");
        for key in ["url", "api_key"].into_iter().filter(lonely) {
            let message = format!("`{key}` has no effect without `search`");
            problems
                .error(section.place(key), &section.path(key), message)
                .help("add `search: searxng` or `search: brave`");
        }
        return None;
    };
    let searcher = match kind.value {
        "brave" => SearchProvider::Brave,
        _ => SearchProvider::Searxng,
    };
    let key = section.text("api_key").map(|text| text.value.trim()).filter(|key| !key.is_empty());
    if searcher == SearchProvider::Brave && key.is_none() {
        problems
            .error(section.place("api_key"), &section.path("api_key"), "`brave` needs an `api_key`")
            .help("like `api_key: ${BRAVE_KEY}`");
    }
    let url = match (section.text("url"), searcher) {
        (Some(text), _) => {
            if key.is_some() {
                warn_of_open_wire(text, &section.path("url"), problems);
            }
            url(text, &section.path("url"), problems)?
        }
        (None, SearchProvider::Brave) => BRAVE.to_owned(),
        (None, SearchProvider::Searxng) => {
            if !section.has("url") {
                problems
                    .error(section.at, &section.path("url"), "`searxng` needs a `url`")
                    .help("like `url: https://searx.example/search`");
            }
            return None;
        }
    };
    Some(WebSearchSettings { searcher, url, key: key.map(Secret::new) })
}

fn allow_private(section: &SectionFields, problems: &mut Problems) -> Vec<AllowedHost> {
    let mut opened = Vec::new();
    for text in section.texts("allow_private") {
        match AllowedHost::parse(text.value.trim()) {
            Ok(place) => opened.push(place),
            Err(wrong) => {
                problems
                    .error(text.at, &section.path("allow_private"), wrong.to_string())
                    .help("like `10.0.0.5:8080`, `intranet.example` or `[fd00::5]:80`");
            }
        }
    }
    opened
}
