//! Config keys of web access for built-in tools.

use super::{KeyKind, PLAIN, PLAINS, SECRET, SectionSpec, key, required_key};

pub(super) const WEB: SectionSpec = SectionSpec {
    title: "builtin.web",
    keys: &[
        key(
            "search",
            KeyKind::Choice(&["searxng", "brave"]),
            "no `search`",
            "Kind of the search service",
        ),
        key(
            "url",
            PLAIN,
            "Brave's own",
            "URL of the search service, like `https://searx.example/search`; may be in a private \
             network",
        ),
        key("api_key", SECRET, "none", "API key of the search service; required for Brave"),
        key(
            "allow_private",
            PLAINS,
            "none",
            "Allowlist of hosts that `fetch_page` may read although they are not public or have \
             another port: `10.0.0.5:8080`, `intranet.example`",
        ),
    ],
    elsewhere: &[("engine", "search"), ("token", "api_key"), ("allow", "allow_private")],
};

pub(super) const IMAGES: SectionSpec = SectionSpec {
    title: "builtin.images",
    keys: &[
        required_key(
            "provider",
            PLAIN,
            "One of `providers`, of kind `openai`: its address and its key are used",
        ),
        required_key("model", PLAIN, "The provider's name of the model, like `gpt-image-1`"),
        key("size", PLAIN, "the default of the service", "Like `1024x1024`"),
    ],
    elsewhere: &[],
};
