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
            "The directory that `read_file` and `write_file` cannot leave",
        ),
        key("tables", PLAIN, "none", "A directory of tables for `roll_table`"),
        key(
            "rules",
            PLAIN,
            "none",
            "A directory of rule packs for `search_rules` and `get_rule`, beside the rules built in",
        ),
        key(
            "web",
            KeyKind::Section(&WEB),
            "no such tools",
            "Gives the tools `fetch_page` and `search`; `{}` is enough for the first one",
        ),
        key(
            "images",
            KeyKind::Section(&IMAGES),
            "no such tool",
            "Gives the tool `generate_image`; its files are in `files`",
        ),
        key(
            "music",
            KeyKind::Section(&MUSIC),
            "none: there is no `play_track`",
            "What `play_track` and `stop_music` play, and who is told",
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
            "none: those who listen to `/api/events` are told",
            "A URL that is sent every event by POST",
        ),
    ],
    elsewhere: &[("tracks", "write them into a file, and its path as `library:`")],
};
