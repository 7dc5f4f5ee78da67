//! Human approval of calls: the only constructor of [`Cleared`], and only cleared requests are
//! planned. Asking an approver is done elsewhere and yields an [`ApprovalVerdict`] on exactly this
//! call.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::admission::Admitted;
use crate::call::Decider;
use crate::glob;
use crate::id::ServerId;
use crate::policy::Permitted;
use crate::text::TaggedId;
use crate::tool::{ApprovalMode, TaintRule, Tool, ToolEffect};
use crate::turn::{Principal, Turn};
use crate::view::View;

/// A request that needs no approval or was approved. Created only by [`clear`] and
/// [`HeldRequest::apply_verdict`].
#[derive(Debug)]
pub struct Cleared<'a> {
    admitted: Admitted<'a>,
}

impl<'a> Cleared<'a> {
    pub fn permitted_request(&self) -> &Permitted<'a> {
        self.admitted.permitted_request()
    }

    pub(crate) fn into_permitted(self) -> Permitted<'a> {
        self.admitted.into_permitted()
    }
}

/// Whether a request needs approval.
#[derive(Debug)]
pub enum Clearance<'a> {
    Clear(Cleared<'a>),
    Ask(HeldRequest<'a>),
}

/// A call that waits for approval.
#[derive(Debug)]
pub struct HeldRequest<'a> {
    id: ApprovalId,
    admitted: Admitted<'a>,
    tool: Arc<Tool>,
    why: ApprovalReason,
}

/// Why approval is required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalReason {
    /// The operator configured `approval: always`.
    Always,
    /// Called by a model, and not in the agent's `auto_execute`.
    NotAutomatic,
    /// Called by a model, and possibly destructive: a glob pattern does not suffice to allow it.
    Destructive,
    /// Possibly destructive, and this turn has read output of an untrusted server.
    Tainted { by: ServerId },
}

impl ApprovalReason {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::NotAutomatic => "not_automatic",
            Self::Destructive => "destructive",
            Self::Tainted { .. } => "taint",
        }
    }
}

impl fmt::Display for ApprovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tainted { by } => {
                return write!(
                    f,
                    "taint: the tool is destructive, and this turn has read a result of the \
                     untrusted server `{by}`"
                );
            }
            Self::Always => "every call of this tool requires approval",
            Self::NotAutomatic => {
                "the model requested the call, and the agent's `auto_execute` does not include \
                 this tool"
            }
            Self::Destructive => {
                "the model requested the call, and the tool is destructive; add it to \
                 `auto_execute` to run it without approval"
            }
        })
    }
}

/// Id of a waiting call. Random, so that it cannot be guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApprovalId(u128);

impl ApprovalId {
    const PREFIX: &str = "a_";

    pub fn from_bits(random: u128) -> Self {
        Self(random)
    }

    /// Parses exactly the [`ApprovalId`] display format.
    pub fn parse(text: &str) -> Option<Self> {
        TaggedId::parse(Self::PREFIX, text).map(Self)
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TaggedId(Self::PREFIX, self.0).fmt(f)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Deny,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Approve, Self::Deny].into_iter().find(|it| it.as_str() == text)
    }
}

/// How the wait for approval ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalEnding {
    Decided(Decision),
    /// The approval timeout expired.
    Expired,
    /// The caller disconnected.
    Withdrawn,
    /// The caller's credential or the tool was revoked.
    Revoked,
}

impl ApprovalEnding {
    pub const ALL: [Self; 5] = [
        Self::Decided(Decision::Approve),
        Self::Decided(Decision::Deny),
        Self::Expired,
        Self::Withdrawn,
        Self::Revoked,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decided(Decision::Approve) => "approved",
            Self::Decided(Decision::Deny) => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Revoked => "revoked",
        }
    }
}

/// An approver's decision on one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalVerdict {
    pub id: ApprovalId,
    pub decision: Decision,
    pub by: Principal,
    pub note: Option<String>,
}

/// A call that was not approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalDeniedError {
    #[error("{}", denial_message(.tool, .note.as_deref()))]
    By { tool: String, note: Option<String> },
    /// The verdict is for another call.
    #[error("nobody approved this call of `{tool}`")]
    Another { tool: String },
}

fn denial_message(tool: &str, note: Option<&str>) -> String {
    match note {
        Some(note) => format!("this call of `{tool}` was denied: {note}"),
        None => format!("this call of `{tool}` was denied; do not repeat it"),
    }
}

impl<'a> HeldRequest<'a> {
    pub fn id(&self) -> ApprovalId {
        self.id
    }

    pub fn why(&self) -> &ApprovalReason {
        &self.why
    }

    pub fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    pub fn permitted_request(&self) -> &Permitted<'a> {
        self.admitted.permitted_request()
    }

    /// A copy that does not borrow from the request text.
    pub fn into_owned(self) -> HeldRequest<'static> {
        let Self { id, admitted, tool, why } = self;
        HeldRequest { id, admitted: admitted.into_owned(), tool, why }
    }

    /// Clears the request if this call was approved. Consumes it either way, so that a verdict is
    /// used at most once.
    pub fn apply_verdict(
        self,
        verdict: &ApprovalVerdict,
    ) -> Result<Cleared<'a>, ApprovalDeniedError> {
        let tool = || self.tool.exposed.to_string();
        match verdict.decision {
            _ if verdict.id != self.id => Err(ApprovalDeniedError::Another { tool: tool() }),
            Decision::Approve => Ok(Cleared { admitted: self.admitted }),
            Decision::Deny => {
                Err(ApprovalDeniedError::By { tool: tool(), note: verdict.note.clone() })
            }
        }
    }
}

/// Decides whether a request needs approval. Probes by the gateway were allowed by the operator:
/// see [`crate::probe::may_probe`]. `random` becomes the id of the call if it has to wait.
pub fn clear<'a>(
    turn: &Turn,
    by: Decider,
    admitted: Admitted<'a>,
    now: Instant,
    random: impl FnOnce() -> u128,
) -> Clearance<'a> {
    let tool = admitted.permitted_request().tool().cloned();
    let asks = |tool: Arc<Tool>| Some((why(turn, by, &tool, now)?, tool));
    match tool.and_then(asks) {
        None => Clearance::Clear(Cleared { admitted }),
        Some((why, tool)) => {
            let id = ApprovalId::from_bits(random());
            Clearance::Ask(HeldRequest { id, admitted, tool, why })
        }
    }
}

/// Why a call of the tool needs approval; `None`: it does not.
///
/// The effect of a tool is the one stated by the operator or by a trusted server, and the worst one
/// otherwise. So a server cannot exempt itself.
pub fn why(turn: &Turn, by: Decider, tool: &Tool, now: Instant) -> Option<ApprovalReason> {
    if by != Decider::Gateway
        && tool.terms.approval != ApprovalMode::Never
        && tool.terms.taint == TaintRule::Ask
        && let Some(by) = turn.taint.by(now)
    {
        return Some(ApprovalReason::Tainted { by });
    }
    match (by, tool.terms.approval) {
        (Decider::Gateway, _) | (_, ApprovalMode::Never) => return None,
        (_, ApprovalMode::Always) => return Some(ApprovalReason::Always),
        (Decider::Client, ApprovalMode::Auto) => return None,
        (Decider::Model, ApprovalMode::Auto) => {}
    }
    not_by_itself(&turn.view, tool)
}

/// A call that cannot be approved in this turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{tool}` was not run: taint: the tool is destructive, and this turn has read a result of the \
     untrusted server `{by}`. Ask the user to request it in a new turn"
)]
pub struct TaintedCallError {
    pub tool: String,
    pub by: ServerId,
}

/// Refuses a destructive call after output of an untrusted server, if the operator configured so.
pub fn refuse_tainted(
    turn: &Turn,
    by: Decider,
    tool: &Tool,
    now: Instant,
) -> Result<(), TaintedCallError> {
    if by == Decider::Gateway || tool.terms.taint != TaintRule::Deny {
        return Ok(());
    }
    match turn.taint.by(now) {
        Some(by) => Err(TaintedCallError { tool: tool.exposed.to_string(), by }),
        None => Ok(()),
    }
}

/// Why a model's call of the tool needs approval, by the agent's configuration.
fn not_by_itself(view: &View, tool: &Tool) -> Option<ApprovalReason> {
    let name = tool.exposed.as_str();
    let automatic = &view.auto_execute;
    if automatic.iter().any(|glob| glob.is_exactly(name)) {
        return None;
    }
    if !automatic.iter().any(|glob| glob.matches(name)) {
        return Some(ApprovalReason::NotAutomatic);
    }
    match tool.terms.effect {
        ToolEffect::ReadOnly | ToolEffect::Mutating => None,
        ToolEffect::Destructive => Some(ApprovalReason::Destructive),
    }
}

/// Whether a model's call is run by the gateway or returned to the client. At the gate it may still
/// need approval: see [`clear`].
pub fn runs_by_itself(view: &View, tool: &Tool) -> bool {
    match tool.terms.approval {
        ApprovalMode::Never => true,
        ApprovalMode::Always => glob::any(&view.auto_execute, tool.exposed.as_str()),
        ApprovalMode::Auto => not_by_itself(view, tool).is_none(),
    }
}

#[cfg(test)]
mod tests;
