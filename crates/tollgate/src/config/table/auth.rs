//! Config keys of JWT bearer tokens.

use super::agent::RIGHTS;
use super::memory::TENANT;
use super::{KeyKind, PLAIN, PLAINS, SectionSpec, key, required_key, whole};

pub(super) const AUTH: SectionSpec = SectionSpec {
    title: "auth",
    keys: &[
        required_key(
            "issuer",
            PLAIN,
            "Who signs the tokens, as they write it in `iss`; https, or http on this machine",
        ),
        key("audience", PLAIN, "`resource`", "What a token must be for (`aud`)"),
        key(
            "resource",
            PLAIN,
            "`audience`",
            "The URL of `/mcp` as clients know it; given to them as OAuth metadata (RFC 9728)",
        ),
        key(
            "jwks_url",
            PLAIN,
            "what the issuer's metadata says",
            "Where the issuer's public keys are",
        ),
        key("scopes", PLAINS, "[tollgate:execute]", "Scopes that clients are told to ask for"),
        key("principals", KeyKind::Section(&PRINCIPALS), "see there", "Whose a token is"),
        key(
            "rules",
            KeyKind::Entries(&RULE),
            "scopes alone give rights",
            "What tokens are good for: the first one that fits counts, and with rules a token that none fits is refused. Scopes `tollgate:RIGHT` add rights",
        ),
    ],
    elsewhere: &[
        ("jwks_uri", "write `jwks_url:`"),
        ("client_id", "the gateway checks tokens and asks for none; clients have a client id"),
    ],
};

const PRINCIPALS: SectionSpec = SectionSpec {
    title: "auth.principals",
    keys: &[key("claim", PLAIN, "sub", "The claim that names the holder: `oidc:` and its value")],
    elsewhere: &[],
};

const RULE: SectionSpec = SectionSpec {
    title: "auth.rules[]",
    keys: &[
        key(
            "claim",
            PLAIN,
            "fits every token",
            "A claim; dots lead into objects: `realm_access.roles`",
        ),
        key(
            "value",
            PLAIN,
            "fits every token",
            "What the claim must be, or have in its list; with `scope` one of its words",
        ),
        key(
            "role",
            KeyKind::Choice(&["admin", "operator", "caller"]),
            "none: only `rights`",
            "As for keys",
        ),
        key("agents", PLAINS, "every agent", "Agents that it may speak for"),
        key("rights", RIGHTS, "those of the role", "As for keys"),
        key("tools", PLAINS, "all that its agents see", "Tools that it may use at all; globs"),
        key("rate_limit", PLAIN, "none", "Requests of each holder: `600/min`"),
        key(
            "concurrent",
            whole(1, 1_000_000, "calls"),
            "`limits.per_key`",
            "Calls of each holder at the same time",
        ),
        TENANT,
    ],
    elsewhere: &[],
};
