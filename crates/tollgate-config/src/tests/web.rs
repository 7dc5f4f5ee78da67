//! `builtin.web` and `builtin.images`.

use tollgate_core::secret::Secret;
use tollgate_engine::settings::{ImageSettings, SearchProvider, WebSearchSettings, WebSettings};
use tollgate_engine::web::AllowedHost;

use super::{good, refusal_of, report};

fn web(typed: &str) -> Option<WebSettings> {
    good(&format!("builtin: {{ web: {typed} }}")).settings.builtin.web
}

#[test]
fn the_tools_of_the_web_are_there_when_asked_for() {
    assert_eq!(good("").settings.builtin.web, None);
    assert_eq!(web("{}"), Some(WebSettings { search: None, allow_private: Vec::new() }));
    let searcher = SearchProvider::Searxng;
    let url = "http://10.0.0.9:8888/search".to_owned();
    let search = Some(WebSearchSettings { searcher, url, key: None });
    let allow_private =
        ["10.0.0.5:8080", "intranet.example"].map(|it| AllowedHost::parse(it).unwrap());
    assert_eq!(
        web(
            "{ search: searxng, url: 'http://10.0.0.9:8888/search', allow_private: ['10.0.0.5:8080', intranet.example] }"
        ),
        Some(WebSettings { search, allow_private: allow_private.into() })
    );
    let brave = web("{ search: brave, api_key: k }").unwrap().search.unwrap();
    assert_eq!(brave.url, "https://api.search.brave.com/res/v1/web/search");
    assert_eq!(brave.key, Some(Secret::new("k")));
    let listed = "builtin: { web: {} }\nagents: { sage: { tools: [fetch_page] } }";
    assert_eq!(report(listed).diagnostics, []);
}

#[test]
fn a_web_that_cannot_be_is_refused() {
    for (typed, expected) in [
        ("{ search: google }", "1:27 `search` must be one of `searxng`, `brave`, not `google`"),
        ("{ search: searxng }", "1:12 `searxng` needs a `url`"),
        ("{ search: searxng, url: x }", "1:41 `url` must begin with http:// or https://: `x`"),
        ("{ search: brave }", "1:12 `brave` needs an `api_key`"),
        ("{ url: 'https://a.example' }", "1:24 `url` has no effect without `search`"),
        ("{ api_key: k }", "1:28 `api_key` has no effect without `search`"),
        ("{ allow_private: ['*.example'] }", "1:35 `*.example` is neither `host` nor `host:port`"),
        ("{ allow_private: ['http://x'] }", "1:35 `http://x` is neither `host` nor `host:port`"),
        ("{ allow_private: [10.0.0.0/8] }", "1:35 `10.0.0.0/8` is neither `host` nor `host:port`"),
    ] {
        refusal_of(&format!("builtin: {{ web: {typed} }}"), expected);
    }
}

const PROVIDERS: &str = "providers: { a: { kind: openai, api_key: k, base_url: 'http://10.0.0.9:8080/v1/' }, b: { kind: openai }, c: { kind: anthropic } }\n";

#[test]
fn pictures_come_from_a_provider() {
    let images = |typed: &str| {
        good(&format!("{PROVIDERS}builtin: {{ images: {typed} }}")).settings.builtin.images
    };
    assert_eq!(good(PROVIDERS).settings.builtin.images, None);
    assert_eq!(
        images("{ provider: a, model: painter, size: 512x512 }"),
        Some(ImageSettings {
            base_url: "http://10.0.0.9:8080/v1".to_owned(),
            key: Some(Secret::new("k")),
            headers: Vec::new(),
            model: "painter".to_owned(),
            size: Some("512x512".to_owned()),
        })
    );
    let usual = images("{ provider: b, model: m }").unwrap();
    assert_eq!(usual.base_url, "https://api.openai.com/v1");
}

#[test]
fn pictures_from_nowhere_are_refused() {
    for (typed, expected) in [
        ("{ provider: x, model: m }", "2:32 there is no provider `x`"),
        ("{ provider: c, model: m }", "2:32 `c` does not generate images"),
        ("{ provider: a, model: ' ' }", "2:42 `model` is empty"),
    ] {
        refusal_of(&format!("{PROVIDERS}builtin: {{ images: {typed} }}"), expected);
    }
}
