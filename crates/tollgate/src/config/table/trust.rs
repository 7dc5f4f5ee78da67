//! Config keys of trust in tools of upstream servers: global, and per server.

use super::{KeyKind, KeySpec, SectionSpec, key};

const KEYS: &[KeySpec] = &[
    key(
        "pin",
        KeyKind::Choice(&["first_use", "reviewed", "off"]),
        "first_use",
        "`first_use`: what a server lists first is trusted, and nothing else from then on. `reviewed`: nothing is served that nobody accepted. `off`: whatever it lists",
    ),
    key(
        "on_change",
        KeyKind::Choice(&["quarantine", "flag"]),
        "quarantine",
        "A tool whose definition changed: left out until somebody accepts it, or served with a note",
    ),
    key(
        "on_finding",
        KeyKind::Choice(&["flag", "quarantine"]),
        "flag",
        "A tool whose text hides something or gives orders: served with a note, or left out until somebody accepts it",
    ),
    key(
        "taint",
        KeyKind::Choice(&["off", "ask", "deny"]),
        "ask",
        "A destructive call after a result of a server that is not `trusted` was read in the same turn: as any other, only if a person agrees, or never. Destructive is what has `destructiveHint: true` or `effect: destructive`",
    ),
    key(
        "mark",
        KeyKind::Choice(&["off", "on"]),
        "off",
        "`on`: a line before each result of a server that is not `trusted` tells models that it is data",
    ),
];

pub(super) const TRUST: SectionSpec = SectionSpec { title: "trust", keys: KEYS, elsewhere: &[] };

pub(super) const SERVER_TRUST: SectionSpec =
    SectionSpec { title: "servers.ID.trust", keys: KEYS, elsewhere: &[] };
