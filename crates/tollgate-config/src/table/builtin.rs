//! Config keys of the built-in tools.

use super::web::{IMAGES, WEB};
use super::{KeyKind, PLAIN, SECRET, SectionSpec, key, required_key};

pub(super) const BUILTIN: SectionSpec = SectionSpec {
    title: "builtin",
    keys: &[
        key(
            "files",
            PLAIN,
            "`files` in the data directory",
            "The directory of `read_file` and `write_file`; they cannot access files outside",
        ),
        key("tables", PLAIN, "none", "A directory of tables for `roll_table`"),
        key(
            "rules",
            PLAIN,
            "none",
            "A directory of rule packs for `search_rules` and `get_rule`, in addition to the \
             built-in rules",
        ),
        key(
            "web",
            KeyKind::Section(&WEB),
            "none: tools disabled",
            "Enables the tools `fetch_page` and `search`; `{}` enables only `fetch_page`",
        ),
        key(
            "images",
            KeyKind::Section(&IMAGES),
            "none: tool disabled",
            "Enables the tool `generate_image`; its files are stored in `files`",
        ),
        key(
            "music",
            KeyKind::Section(&MUSIC),
            "none: there is no `play_track`",
            "Library and player of `play_track` and `stop_music`",
        ),
    ],
    elsewhere: &[],
};

const MUSIC: SectionSpec = SectionSpec {
    title: "builtin.music",
    keys: &[
        required_key("library", PLAIN, "The file that lists the tracks, YAML or JSON"),
        key(
            "webhook",
            SECRET,
            "none: only listeners of `/api/events` are notified",
            "A URL that receives every event by POST",
        ),
    ],
    elsewhere: &[("tracks", "write them into a file, and its path as `library:`")],
};
