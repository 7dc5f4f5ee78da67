//! Config keys of web access for built-in tools.

use super::{KeyKind, PLAIN, PLAINS, SECRET, SectionSpec, key, required_key};

pub(super) const WEB: SectionSpec = SectionSpec {
    title: "builtin.web",
    keys: &[
        key(
            "search",
            KeyKind::Choice(&["searxng", "brave"]),
            "no `search`",
            "What kind of search service `search` asks",
        ),
        key(
            "url",
            PLAIN,
            "Brave's own",
            "Where the search service is, like `https://searx.example/search`; may be in a private network",
        ),
        key("api_key", SECRET, "none", "The key of the search service; Brave needs one"),
        key(
            "allow_private",
            PLAINS,
            "none",
            "Places that `fetch_page` may read although they are not on the public web or have another port: `10.0.0.5:8080`, `intranet.example`",
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
        required_key("model", PLAIN, "What the provider calls it, like `gpt-image-1`"),
        key("size", PLAIN, "the service's own", "Like `1024x1024`"),
    ],
    elsewhere: &[],
};
