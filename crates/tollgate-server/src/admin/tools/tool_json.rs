//! JSON representation of tools for the operator who reviews them. Texts of servers are unchanged
//! in the definitions. Elsewhere hidden characters are escaped.

use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_core::catalog::UnavailableTool;
use tollgate_core::tool::Finding;
use tollgate_core::tool::hidden_text::visible;
use tollgate_core::trust::{Change, TrustedBy};
use tollgate_engine::gate::{KnownTool, StoredPin, ToolExamination};

use super::figures::{ToolDescriptionJson, ToolDetailsJson, ToolObservationJson, ToolRowContext};

use crate::wire_schema::{TrustedByWord, VerdictWord};

#[derive(JsonSchema, Serialize)]
pub(crate) struct ToolListJson<'a> {
    tools: Vec<ToolRowJson<'a>>,
}

impl<'a> ToolListJson<'a> {
    pub(super) fn of(
        around: &ToolRowContext<'_>,
        known: &'a [KnownTool],
        away: &'a [UnavailableTool],
    ) -> Self {
        let known = known.iter().map(|it| ToolRowJson::of(around, it));
        let away = away.iter().map(|it| ToolRowJson::of_away(around, it));
        let mut tools: Vec<_> = known.chain(away).collect();
        tools.sort_by(|a, b| (a.name, a.server, a.tool).cmp(&(b.name, b.server, b.tool)));
        Self { tools }
    }
}

/// A tool, its verdict and its latency.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Tool")]
pub(crate) struct ToolRowJson<'a> {
    /// the exposed name
    name: &'a str,
    server: &'a str,
    /// the server's name of the tool
    tool: &'a str,
    #[schemars(with = "VerdictWord")]
    verdict: &'static str,
    /// a code
    reason: Option<&'static str>,
    /// the reason as text
    why: Option<String>,
    /// hash of the offered definition; `null` while its server is offline
    hash: Option<String>,
    pin: Option<PinJson>,
    findings: Vec<FindingJson<'a>>,
    #[serde(flatten)]
    described: ToolDescriptionJson<'a>,
    #[serde(flatten)]
    seen: ToolObservationJson,
}

#[derive(JsonSchema, Serialize)]
struct PinJson {
    hash: Option<String>,
    #[schemars(with = "Option<TrustedByWord>")]
    by: Option<&'static str>,
    rejected: Vec<String>,
}

#[derive(JsonSchema, Serialize)]
struct FindingJson<'a> {
    kind: &'static str,
    at: String,
    excerpt: Option<&'a str>,
    text: String,
}

impl<'a> ToolRowJson<'a> {
    pub(super) fn of(around: &ToolRowContext<'_>, known: &'a KnownTool) -> Self {
        let tool = &known.tool;
        let doubt = known.verdict.doubt();
        Self {
            described: ToolDescriptionJson::of(tool),
            seen: around.observation(&tool.id),
            name: tool.exposed.as_str(),
            server: tool.id.server.as_str(),
            tool: tool.id.tool.as_str(),
            verdict: known.verdict.as_str(),
            reason: doubt.map(|doubt| doubt.as_str()),
            why: doubt.map(|doubt| visible(&doubt.to_string())),
            hash: Some(tool.hash.to_string()),
            pin: known.pin.as_ref().map(|pin| PinJson {
                hash: pin.trusted.map(|it| it.hash.to_string()),
                by: pin.trusted.map(|it| match it.by {
                    TrustedBy::FirstUse => "first_use",
                    TrustedBy::Person => "person",
                }),
                rejected: pin.rejected.iter().map(ToString::to_string).collect(),
            }),
            findings: known.findings.iter().map(FindingJson::from).collect(),
        }
    }

    /// A tool whose server is offline: only its name and its measurements are known.
    pub(super) fn of_away(around: &ToolRowContext<'_>, away: &'a UnavailableTool) -> Self {
        let id = &away.tool;
        let why = format!("its server `{}` is unavailable", id.server);
        Self {
            name: away.exposed.as_str(),
            server: id.server.as_str(),
            tool: id.tool.as_str(),
            verdict: "away",
            reason: Some("away"),
            why: Some(why),
            hash: None,
            pin: None,
            findings: Vec::new(),
            described: ToolDescriptionJson::default(),
            seen: around.observation(id),
        }
    }
}

impl<'a> From<&'a Finding> for FindingJson<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            kind: finding.kind.as_str(),
            at: visible(&finding.at),
            excerpt: finding.excerpt.as_deref(),
            text: visible(&finding.to_string()),
        }
    }
}

/// All that is known of a tool.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ToolDetails")]
pub(crate) struct ToolExaminationJson<'a> {
    #[serde(flatten)]
    known: ToolRowJson<'a>,
    #[serde(flatten)]
    details: ToolDetailsJson,
    /// the definition that its server offers now
    offered: Option<Box<RawValue>>,
    /// the definition that was accepted
    trusted: Option<Box<RawValue>>,
    changes: Option<Vec<DefinitionChangeJson<'a>>>,
    history: Vec<StoredPinJson<'a>>,
}

#[derive(JsonSchema, Serialize)]
struct DefinitionChangeJson<'a> {
    at: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

#[derive(JsonSchema, Serialize)]
struct StoredPinJson<'a> {
    hash: String,
    state: &'static str,
    /// milliseconds since 1970
    first_seen: u64,
    decided_at: Option<u64>,
    decided_by: Option<&'a str>,
}

impl<'a> ToolExaminationJson<'a> {
    /// The known fields while no server lists the tool.
    pub(super) fn of_away(around: &ToolRowContext<'_>, away: &'a UnavailableTool) -> Self {
        Self {
            known: ToolRowJson::of_away(around, away),
            details: ToolDetailsJson::of(around, &away.tool, None),
            offered: None,
            trusted: None,
            changes: None,
            history: Vec::new(),
        }
    }

    pub(super) fn of(around: &ToolRowContext<'_>, examined: &'a ToolExamination) -> Self {
        let tool = &examined.known.tool;
        let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
        let pinned = examined.known.pin.as_ref().and_then(|pin| pin.trusted);
        let trusted = examined.pins.iter().find(|it| pinned.is_some_and(|pin| pin.hash == it.hash));
        let changes = examined.changes.as_ref();
        Self {
            known: ToolRowJson::of(around, &examined.known),
            details: ToolDetailsJson::of(around, &tool.id, Some(&tool.terms)),
            offered: raw(&examined.known.tool.definition.source_text()),
            trusted: trusted.and_then(|it| raw(&it.definition)),
            changes: changes
                .map(|changes| changes.iter().map(DefinitionChangeJson::from).collect()),
            history: examined.pins.iter().map(StoredPinJson::from).collect(),
        }
    }
}

impl<'a> From<&'a Change> for DefinitionChangeJson<'a> {
    fn from(change: &'a Change) -> Self {
        let before = change.before.as_deref();
        let after = change.after.as_deref();
        Self { at: &change.at, before, after }
    }
}

impl<'a> From<&'a StoredPin> for StoredPinJson<'a> {
    fn from(pin: &'a StoredPin) -> Self {
        let decided = pin.decided.as_ref();
        Self {
            hash: pin.hash.to_string(),
            state: pin.state.as_str(),
            first_seen: millis(pin.first_seen),
            decided_at: decided.map(|(at, _)| millis(*at)),
            decided_by: decided.map(|(_, by)| by.as_str()),
        }
    }
}

/// Since the Unix epoch.
fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
