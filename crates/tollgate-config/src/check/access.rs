//! Access settings: listen address, TLS, keys, state shared by replicas. Fails closed.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::SystemTime;

use tollgate_core::date;
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::secret::Secret;
use tollgate_core::turn::PrincipalGrant;
use tollgate_server::{Fingerprint, KeyRole, Right, Rights};

use super::super::ConfigRequest;
use super::super::diagnostic::{DiagnosticLocation, Problems};
use super::super::raw::SectionFields;
use super::endpoint::has_scheme;
use super::memory::tenant;
use super::model_usage::model_limits;
use super::rate::rate_limit;
use super::{absolute, is_new, unknown_name};

const USUAL_PORT: u16 = 8655;
/// Shorter keys can be guessed.
const MIN_KEY_CHARACTERS: usize = 20;

/// Source of the certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsSource {
    Files {
        cert: PathBuf,
        key: PathBuf,
    },
    /// A CA in the data directory, which clients have to trust.
    Local,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredKey {
    pub name: String,
    pub proof: KeyProof,
    pub role: KeyRole,
    /// `None`: every agent. Never empty.
    pub agents: Option<Vec<AgentId>>,
    pub rights: Rights,
    pub grant: PrincipalGrant,
    pub expires: Option<SystemTime>,
}

/// How a key is given: itself or its fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyProof {
    /// The key itself. Never empty.
    Key(Secret),
    Hash(Fingerprint),
}

impl KeyProof {
    pub fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Key(key) => Fingerprint::of(key.reveal().as_bytes()),
            Self::Hash(hash) => *hash,
        }
    }
}

/// The listen address, which must be loopback without keys. Keys created by command are not known
/// here. The start checks them.
pub(crate) fn listen(
    top: &SectionFields,
    request: &ConfigRequest,
    problems: &mut Problems,
) -> Option<SocketAddr> {
    let (text, place) = match (&request.listen, top.text("listen")) {
        (Some(text), _) => (text.as_str(), DiagnosticLocation::Flag("--listen")),
        (None, Some(text)) => (text.value, DiagnosticLocation::At(text.at)),
        (None, None) if top.has("listen") => return None,
        (None, None) => return Some(SocketAddr::from((Ipv4Addr::LOCALHOST, USUAL_PORT))),
    };
    let Some(address) = address(text) else {
        problems
            .error(place, "listen", format!("`listen` must be an address and a port, not `{text}`"))
            .help("like `127.0.0.1:8655`, `[::1]:8655`, or `0.0.0.0:8655` for every interface");
        return None;
    };
    let is_guarded = !top.entries("keys").is_empty() || top.has("auth");
    if !address.ip().is_loopback() && !is_guarded {
        problems
            .warning(
                place,
                "listen",
                format!("`{address}` can be reached from outside, but the config has no keys"),
            )
            .help(
                "the gateway does not start without keys: add `keys:`, or run `tollgate keys \
                 create`",
            );
    }
    Some(address)
}

fn address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => {
            let port = port.parse().ok()?;
            Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
        }
        None => text.parse().ok(),
    }
}

pub(crate) fn tls(
    top: &SectionFields,
    request: &ConfigRequest,
    problems: &mut Problems,
) -> Option<TlsSource> {
    let Some(tls) = top.section("tls") else { return request.tls.then_some(TlsSource::Local) };
    if request.tls {
        problems
            .error(DiagnosticLocation::Flag("--tls"), "tls", "`--tls` and `tls` exclude each other")
            .help("`--tls` creates a certificate; `tls` in the config names one");
    }
    let mut path = |key: &str| absolute(tls.text(key)?, &tls.path(key), problems);
    let cert = path("cert");
    let key = path("key");
    Some(TlsSource::Files { cert: cert?, key: key? })
}

pub(crate) fn redis(top: &SectionFields, problems: &mut Problems) -> Option<Secret> {
    let text = top.text("redis")?;
    if has_scheme(text.value, &["redis", "rediss"]) {
        return Some(Secret::new(text.value));
    }
    problems
        .error(text.at, "redis", "`redis` must begin with redis:// or rediss://")
        .help("like `redis://127.0.0.1:6379`");
    None
}

pub(crate) fn keys(top: &SectionFields, problems: &mut Problems) -> Vec<ConfiguredKey> {
    let agents: Vec<&str> =
        top.named_sections("agents").iter().map(|(name, _)| name.value.as_str()).collect();
    let mut names = BTreeSet::new();
    let mut proofs = BTreeSet::new();
    let mut keys = Vec::new();
    for fields in top.entries("keys") {
        if let Some(name) = fields.text("name") {
            let name = super::Spanned { value: name.value.to_owned(), at: name.at };
            is_new(&mut names, &fields.path("name"), "key", &name, problems);
        }
        let proof = proof(fields, problems);
        if let Some(proof) = &proof
            && !proofs.insert(*proof.fingerprint().as_bytes())
        {
            let message = "two entries have the same key";
            problems
                .error(fields.place("key"), &fields.path("key"), message)
                .help("each holder needs a key of their own");
        }
        let allowed = key_agents(fields, &agents, problems);
        let limit = rate_limit(fields, problems);
        let expires = expires(fields, problems);
        let (Some(name), Some(proof)) = (fields.text("name"), proof) else { continue };
        let role = fields.text("role").and_then(|text| KeyRole::parse(text.value));
        let role = role.unwrap_or(KeyRole::Caller);
        let grant = PrincipalGrant {
            tools: fields.has("tools").then(|| globs(fields)),
            rate_limit: limit,
            model_limits: model_limits(fields, problems),
            concurrent: fields.whole("concurrent").and_then(|it| u32::try_from(it.value).ok()),
            tenant: tenant(fields, problems),
        };
        keys.push(ConfiguredKey {
            name: name.value.to_owned(),
            proof,
            role,
            agents: allowed,
            rights: role.rights(fields.has("rights").then(|| rights(fields))),
            grant,
            expires,
        });
    }
    keys
}

fn globs(fields: &SectionFields) -> Vec<Glob> {
    fields.texts("tools").iter().map(|text| Glob::new(text.value)).collect()
}

fn expires(fields: &SectionFields, problems: &mut Problems) -> Option<SystemTime> {
    let text = fields.text("expires")?;
    let when = date::parse(text.value);
    if when.is_none() {
        let message = format!("`expires` must be a date, not `{}`", text.value);
        problems
            .error(text.at, &fields.path("expires"), message)
            .help("like `2027-01-31` or `2027-01-31T12:00:00Z`");
    }
    when
}

fn proof(fields: &SectionFields, problems: &mut Problems) -> Option<KeyProof> {
    match (fields.has("key"), fields.text("hash")) {
        (false, None) if fields.has("hash") => None,
        (false, None) => {
            problems
                .error(fields.at, &fields.path("key"), "`key` is missing")
                .help(format!("`{}` requires it, or `hash`", fields.path));
            None
        }
        (true, None) => key_text(fields, problems).map(KeyProof::Key),
        (false, Some(text)) => {
            let hash = Fingerprint::parse(text.value.trim());
            if hash.is_none() {
                problems
                    .error(text.at, &fields.path("hash"), "the hash is not a SHA-256")
                    .help("`sha256:` and 64 hexadecimal digits: `printf %s KEY | sha256sum`");
            }
            hash.map(KeyProof::Hash)
        }
        (true, Some(text)) => {
            problems
                .error(text.at, &fields.path("hash"), "`key` and `hash` exclude each other")
                .help("remove one of them");
            None
        }
    }
}

fn key_text(fields: &SectionFields, problems: &mut Problems) -> Option<Secret> {
    let text = fields.text("key")?;
    let value = text.value.trim();
    let path = fields.path("key");
    if value.is_empty() {
        problems
            .error(text.at, &path, "the key is empty")
            .help("an empty key would allow everyone; is the variable set?");
        return None;
    }
    if value.chars().any(|c| !c.is_ascii_graphic()) {
        problems
            .error(
                text.at,
                &path,
                "the key has spaces or characters that are not allowed in a header",
            )
            .help("use ASCII letters, digits and punctuation");
        return None;
    }
    if value.len() < MIN_KEY_CHARACTERS {
        let message = format!("the key is shorter than {MIN_KEY_CHARACTERS} characters");
        problems.error(text.at, &path, message).help(
            "short keys can be guessed: use `openssl rand -hex 32`, or create a key with `tollgate \
             keys create NAME`",
        );
        return None;
    }
    Some(Secret::new(value))
}

pub(super) fn key_agents(
    fields: &SectionFields,
    known: &[&str],
    problems: &mut Problems,
) -> Option<Vec<AgentId>> {
    if !fields.has("agents") {
        return None;
    }
    let mut agents = Vec::new();
    let named = fields.texts("agents");
    if named.is_empty() {
        problems
            .error(
                fields.place("agents"),
                &fields.path("agents"),
                "a key without agents is useless",
            )
            .help("name an agent, or remove `agents` to allow every agent");
    }
    for name in named {
        match AgentId::parse(name.value) {
            Ok(id) if known.contains(&name.value) => agents.push(id),
            _ => unknown_name(name, &fields.path("agents"), "agent", known, problems),
        }
    }
    Some(agents)
}

pub(super) fn rights(fields: &SectionFields) -> Rights {
    fields.texts("rights").iter().filter_map(|text| Right::parse(text.value)).collect()
}
