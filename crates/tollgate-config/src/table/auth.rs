//! Config keys of JWT bearer tokens.

use super::agent::RIGHTS;
use super::memory::TENANT;
use super::model_usage;
use super::{KeyKind, PLAIN, PLAINS, SectionSpec, key, required_key, whole};

pub(super) const AUTH: SectionSpec = SectionSpec {
    title: "auth",
    keys: &[
        required_key(
            "issuer",
            PLAIN,
            "Issuer of the tokens, as in `iss`; https, or http on this machine",
        ),
        key("audience", PLAIN, "`resource`", "Required audience (`aud`)"),
        key(
            "resource",
            PLAIN,
            "`audience`",
            "Public URL of `/mcp`; published as OAuth metadata (RFC 9728)",
        ),
        key("jwks_url", PLAIN, "from the issuer's metadata", "URL of the issuer's public keys"),
        key("scopes", PLAINS, "[tollgate:execute]", "Scopes advertised to clients"),
        key("principals", KeyKind::Section(&PRINCIPALS), "see there", "Subject of a token"),
        key(
            "rules",
            KeyKind::Entries(&RULE),
            "scopes alone give rights",
            "Rules that grant access; the first match applies, and a token without a match is \
             rejected. Scopes `tollgate:RIGHT` add rights",
        ),
    ],
    elsewhere: &[
        ("jwks_uri", "write `jwks_url:`"),
        ("client_id", "the gateway only verifies tokens; client ids belong to clients"),
    ],
};

const PRINCIPALS: SectionSpec = SectionSpec {
    title: "auth.principals",
    keys: &[key(
        "claim",
        PLAIN,
        "sub",
        "The claim that names the principal: `oidc:` and its value",
    )],
    elsewhere: &[],
};

const RULE: SectionSpec = SectionSpec {
    title: "auth.rules[]",
    keys: &[
        key(
            "claim",
            PLAIN,
            "matches every token",
            "A claim; dots lead into objects: `realm_access.roles`",
        ),
        key(
            "value",
            PLAIN,
            "matches every token",
            "Required value of the claim, or an item of its list; with `scope` one of its words",
        ),
        key(
            "role",
            KeyKind::Choice(&["admin", "operator", "caller"]),
            "none: only `rights`",
            "As for keys",
        ),
        key("agents", PLAINS, "every agent", "Agents that it may use"),
        key("rights", RIGHTS, "those of the role", "As for keys"),
        key("tools", PLAINS, "all tools of its agents", "Tools that it may use; globs"),
        key("rate_limit", PLAIN, "none", "Rate limit of each principal: `600/min`"),
        model_usage::OF_KEY,
        key(
            "concurrent",
            whole(1, 1_000_000, "calls"),
            "`limits.per_key`",
            "Concurrent calls of each principal",
        ),
        TENANT,
    ],
    elsewhere: &[],
};
