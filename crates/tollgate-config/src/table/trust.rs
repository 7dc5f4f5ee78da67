//! Config keys of trust in tools of upstream servers: global, and per server.

use super::{KeyKind, KeySpec, SectionSpec, key};

const KEYS: &[KeySpec] = &[
    key(
        "pin",
        KeyKind::Choice(&["first_use", "reviewed", "off"]),
        "first_use",
        "`first_use`: the first list of a server is trusted; later tools must be accepted. \
         `reviewed`: every tool must be accepted. `off`: all tools are served",
    ),
    key(
        "on_change",
        KeyKind::Choice(&["quarantine", "flag"]),
        "quarantine",
        "A tool whose definition changed: withheld until it is accepted, or served with a warning",
    ),
    key(
        "on_finding",
        KeyKind::Choice(&["flag", "quarantine"]),
        "flag",
        "A tool whose text has hidden characters or instructions: served with a warning, or \
         withheld until it is accepted",
    ),
    key(
        "taint",
        KeyKind::Choice(&["off", "ask", "deny"]),
        "ask",
        "A destructive call in a turn that has read a result of a server without `trusted`: \
         allowed, requires approval, or denied. Destructive tools have `destructiveHint: true` or \
         `effect: destructive`",
    ),
    key(
        "mark",
        KeyKind::Choice(&["off", "on"]),
        "off",
        "`on`: a line before each result of a server without `trusted` tells models that it is \
         data",
    ),
];

pub(super) const TRUST: SectionSpec = SectionSpec { title: "trust", keys: KEYS, elsewhere: &[] };

pub(super) const SERVER_TRUST: SectionSpec =
    SectionSpec { title: "servers.ID.trust", keys: KEYS, elsewhere: &[] };
