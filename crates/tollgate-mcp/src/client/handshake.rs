//! Handshake: detects the era of a server and negotiates a revision. The decisions are pure; each
//! transport sends the messages in its own way. [`on_dispatch`] does it for pipes.

use serde_json::value::RawValue;
use tokio::time::timeout;
use tollgate_core::json::{self, Object};

use super::declared_capabilities::DeclaredCapabilities;
use super::dispatch::{Dispatch, InFlightRequest, OnDrop};
use super::{ConnectError, ConnectOptions, RequestError, ServerFacts};
use crate::error_code::{self, JsonRpcError};
use crate::meta::{self, ClientFacts};
use crate::{Era, Revision};

/// The gateway's own client identity, for handshakes and lists.
pub fn identity() -> ClientFacts {
    ClientFacts { capabilities: None, info: Some(info()), log_level: None }
}

fn info() -> Box<RawValue> {
    json::raw(format!(
        r#"{{"name":"tollgate","title":"Tollgate","version":"{}"}}"#,
        env!("CARGO_PKG_VERSION")
    ))
}

/// The verdict on an answer to `server/discover`.
#[derive(Debug)]
pub(super) enum DiscoverVerdict {
    Modern(ServerFacts),
    /// Modern, but refuses wrongly: probe again, with all capabilities declared.
    AskAgain,
    Legacy,
    Unusable(String),
}

/// The next step after an answer to `initialize`.
#[derive(Debug)]
pub(super) enum InitializeStep {
    Agreed(ServerFacts),
    /// The server refuses the revision, but names one that we support.
    TryAgain(Revision),
    Unusable(String),
}

/// The `params` of the probe, with the bridge's capabilities or without any.
pub(super) fn discover_params(capabilities: ProbeCapabilities) -> String {
    let mut facts = identity();
    if capabilities == ProbeCapabilities::Bridge {
        facts.capabilities =
            Some(json::raw(DeclaredCapabilities::ALL.to_capabilities_json(Revision::NEWEST)));
    }
    let mut meta = Object::new();
    meta::stamp(&mut meta, Revision::NEWEST, &facts);
    let mut params = Object::new();
    params.set("_meta", meta.to_raw());
    params.to_text()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeCapabilities {
    Nothing,
    Bridge,
}

pub(super) fn judge_discover(outcome: Result<&RawValue, &JsonRpcError>) -> DiscoverVerdict {
    match outcome {
        Ok(result) => judge_discovered(result),
        Err(error) => match error.code {
            error_code::UNSUPPORTED_VERSION => judge_supported(&supported_revisions(error)),
            error_code::MISSING_CLIENT_CAPABILITY => DiscoverVerdict::AskAgain,
            error_code::HEADER_MISMATCH => DiscoverVerdict::Unusable(format!(
                "the server rejected the gateway's headers: {}",
                error.message
            )),
            _ => DiscoverVerdict::Legacy,
        },
    }
}

fn judge_discovered(result: &RawValue) -> DiscoverVerdict {
    let Ok(object) = Object::parse(result.get()) else { return DiscoverVerdict::Legacy };
    let Some(versions) = object.get("supportedVersions").and_then(strings) else {
        return DiscoverVerdict::Legacy;
    };
    if !versions.iter().any(|version| version == Revision::NEWEST.as_str()) {
        return judge_supported(&versions);
    }
    let info =
        object.object("_meta").and_then(|it| it.get(meta::SERVER_INFO).map(ToOwned::to_owned));
    DiscoverVerdict::Modern(facts(Revision::NEWEST, &object, info))
}

/// The server listed its versions, without the requested one.
fn judge_supported(versions: &[String]) -> DiscoverVerdict {
    let known = versions.iter().filter_map(|version| Revision::parse(version));
    match known.max().map(Revision::era) {
        Some(Era::Legacy) => DiscoverVerdict::Legacy,
        Some(Era::Modern) => DiscoverVerdict::AskAgain,
        None => {
            DiscoverVerdict::Unusable(format!("the server only supports {}", versions.join(", ")))
        }
    }
}

/// The `params` of `initialize`, with the bridge's capabilities in that revision.
pub(super) fn initialize_params(revision: Revision, bridge: DeclaredCapabilities) -> String {
    format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{},"clientInfo":{}}}"#,
        bridge.to_capabilities_json(revision),
        info()
    )
}

pub(super) fn judge_initialize(
    requested: Revision,
    pinned: Option<Revision>,
    outcome: Result<&RawValue, &JsonRpcError>,
) -> InitializeStep {
    let result = match outcome {
        Ok(result) => result,
        Err(error) => return judge_refusal(requested, pinned, error),
    };
    let Ok(object) = Object::parse(result.get()) else {
        return InitializeStep::Unusable("the answer to `initialize` is not an object".to_owned());
    };
    let Some(stated) = object.string("protocolVersion") else {
        return InitializeStep::Unusable("the answer to `initialize` names no revision".to_owned());
    };
    let agreed = Revision::parse(&stated).filter(|revision| revision.era() == Era::Legacy);
    let Some(agreed) = agreed else {
        return InitializeStep::Unusable(format!(
            "the server requires revision `{}`",
            printable_excerpt(&stated)
        ));
    };
    if let Some(pinned) = pinned.filter(|pinned| *pinned != agreed) {
        return InitializeStep::Unusable(format!(
            "the server supports {agreed}, not the pinned {pinned}"
        ));
    }
    InitializeStep::Agreed(facts(agreed, &object, object.get("serverInfo").map(ToOwned::to_owned)))
}

fn judge_refusal(
    requested: Revision,
    pinned: Option<Revision>,
    error: &JsonRpcError,
) -> InitializeStep {
    let named = supported_revisions(error);
    let known = named.iter().filter_map(|version| Revision::parse(version));
    let best = known.filter(|revision| *revision < requested).max();
    match (best, pinned) {
        (Some(revision), None) => InitializeStep::TryAgain(revision),
        _ => InitializeStep::Unusable(format!(
            "the server rejected `initialize`: {} ({})",
            printable_excerpt(&error.message),
            error.code
        )),
    }
}

fn facts(revision: Revision, object: &Object<'_>, info: Option<Box<RawValue>>) -> ServerFacts {
    let capabilities = object.get("capabilities").filter(|raw| raw.get().starts_with('{'));
    ServerFacts {
        revision,
        capabilities: capabilities.map_or_else(|| json::raw("{}".to_owned()), ToOwned::to_owned),
        info,
        instructions: object.string("instructions").map(std::borrow::Cow::into_owned),
    }
}

/// `data.supported` of a refused revision.
fn supported_revisions(error: &JsonRpcError) -> Vec<String> {
    let data = error.data.as_deref().and_then(|raw| Object::parse(raw.get()).ok());
    data.as_ref().and_then(|data| data.get("supported").and_then(strings)).unwrap_or_default()
}

fn strings(raw: &RawValue) -> Option<Vec<String>> {
    serde_json::from_str(raw.get()).ok()
}

/// Text of a server, short enough for an error message.
fn printable_excerpt(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// The handshake over a pipe, within the timeouts of `options`.
pub(super) async fn on_dispatch(
    dispatch: &Dispatch,
    options: &ConnectOptions,
) -> Result<ServerFacts, ConnectError> {
    let limit = options.handshake_timeout;
    let facts = timeout(limit, agree(dispatch, options)).await.map_err(|_| {
        ConnectError::Unreachable(format!("no answer to the handshake within {limit:?}"))
    })??;
    dispatch.inbound.set_revision(facts.revision);
    if facts.era() == Era::Legacy {
        let notified = dispatch.notify("notifications/initialized", Object::new()).await;
        notified.map_err(|error| ConnectError::Unreachable(error.to_string()))?;
    }
    Ok(facts)
}

async fn agree(dispatch: &Dispatch, options: &ConnectOptions) -> Result<ServerFacts, ConnectError> {
    if let Some(pinned) = options.pinned.filter(|pinned| pinned.era() == Era::Legacy) {
        return initialize(dispatch, pinned, options.pinned).await;
    }
    let mut declared = ProbeCapabilities::Nothing;
    loop {
        let params = discover_params(declared);
        let mut probe =
            dispatch.send_probe(&params).await.map_err(|error| connect_error(&error))?;
        let verdict = match timeout(options.probe_timeout, probe.answer()).await {
            Ok(outcome) => verdict(outcome)?,
            Err(_) if options.pinned.is_some() => {
                let message = "the server does not answer `server/discover`".to_owned();
                return Err(ConnectError::Unreachable(message));
            }
            Err(_) => return initialize_after_silence(dispatch, probe).await,
        };
        match verdict {
            DiscoverVerdict::Modern(facts) => return Ok(facts),
            DiscoverVerdict::AskAgain if declared == ProbeCapabilities::Nothing => {
                declared = ProbeCapabilities::Bridge
            }
            DiscoverVerdict::AskAgain => {
                let message =
                    "the server rejected `server/discover` at a revision that it supports"
                        .to_owned();
                return Err(ConnectError::Protocol(message));
            }
            DiscoverVerdict::Unusable(message) => return Err(ConnectError::Protocol(message)),
            DiscoverVerdict::Legacy => {
                if let Some(pinned) = options.pinned {
                    let message = format!("the server does not support the pinned {pinned}");
                    return Err(ConnectError::Protocol(message));
                }
                return initialize(dispatch, Revision::NEWEST_LEGACY, None).await;
            }
        }
    }
}

/// Slow servers get `initialize` after the probe. If they are modern after all, the answer to the
/// probe has arrived by the time they refuse.
async fn initialize_after_silence(
    dispatch: &Dispatch,
    mut probe: InFlightRequest<'_>,
) -> Result<ServerFacts, ConnectError> {
    let failed = match initialize(dispatch, Revision::NEWEST_LEGACY, None).await {
        Ok(facts) => return Ok(facts),
        Err(error) => error,
    };
    match probe.answer_now() {
        Some(outcome) => match verdict(outcome)? {
            DiscoverVerdict::Modern(facts) => Ok(facts),
            DiscoverVerdict::AskAgain | DiscoverVerdict::Legacy | DiscoverVerdict::Unusable(_) => {
                Err(failed)
            }
        },
        None => Err(failed),
    }
}

fn verdict(outcome: Result<Box<RawValue>, RequestError>) -> Result<DiscoverVerdict, ConnectError> {
    match outcome {
        Ok(result) => Ok(judge_discover(Ok(&result))),
        Err(RequestError::Refused(error)) => Ok(judge_discover(Err(&error))),
        Err(error) => Err(connect_error(&error)),
    }
}

fn connect_error(error: &RequestError) -> ConnectError {
    ConnectError::DiedOnProbe(error.to_string())
}

/// Opens a legacy session, with a lower revision if the server names one.
pub(super) async fn initialize(
    dispatch: &Dispatch,
    mut requested: Revision,
    pinned: Option<Revision>,
) -> Result<ServerFacts, ConnectError> {
    loop {
        let params = initialize_params(requested, DeclaredCapabilities::ALL);
        let unreachable = |error: RequestError| ConnectError::Unreachable(error.to_string());
        let sent = dispatch.send("initialize", &params, OnDrop::Forget).await;
        let outcome = sent.map_err(unreachable)?.answer().await;
        let step = match &outcome {
            Ok(result) => judge_initialize(requested, pinned, Ok(result)),
            Err(RequestError::Refused(error)) => judge_initialize(requested, pinned, Err(error)),
            Err(error) => return Err(ConnectError::Unreachable(error.to_string())),
        };
        match step {
            InitializeStep::Agreed(facts) => return Ok(facts),
            // Each revision is lower, so this terminates.
            InitializeStep::TryAgain(revision) => requested = revision,
            InitializeStep::Unusable(message) => return Err(ConnectError::Protocol(message)),
        }
    }
}
