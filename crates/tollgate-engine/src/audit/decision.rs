//! Decisions (administrative actions) as the audit trail keeps them. They are rare and important,
//! so they are plain text, and each is waited for.

use std::borrow::Cow;

use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::turn::Principal;

use crate::record::CallId;

/// The kind of decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditAction {
    /// A person approved or denied a call.
    Approval,
    /// A key was created, changed or revoked.
    Key,
    /// The config was reloaded or edited.
    Reload,
    /// A tool's definition was accepted or rejected.
    Pin,
    /// A server was added, removed, switched or logged in to.
    Server,
    /// The operator added something to the memory or deleted something from it.
    Memory,
    /// The operator closed a realtime session or set its tier.
    Session,
    /// Something was stopped because its credentials were revoked: a stream, a session, a pending
    /// result. Calls have this in their own rows.
    Revocation,
    /// An authentication succeeded or failed.
    Login,
    /// A request was rejected before it became a call.
    Refused,
    /// Old rows were removed.
    Retention,
    /// Rows were lost while the trail could not be written.
    Lost,
}

impl AuditAction {
    pub const ALL: [Self; 12] = [
        Self::Approval,
        Self::Key,
        Self::Reload,
        Self::Pin,
        Self::Server,
        Self::Memory,
        Self::Session,
        Self::Revocation,
        Self::Login,
        Self::Refused,
        Self::Retention,
        Self::Lost,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Key => "key",
            Self::Reload => "reload",
            Self::Pin => "pin",
            Self::Server => "server",
            Self::Memory => "memory",
            Self::Session => "session",
            Self::Revocation => "revocation",
            Self::Login => "login",
            Self::Refused => "refused",
            Self::Retention => "retention",
            Self::Lost => "lost",
        }
    }
}

/// One decision: principal, action, subject and outcome.
///
/// ```
/// # use tollgate_core::turn::Principal;
/// # use tollgate_engine::audit::{AuditAction, Decision};
/// let key = AuditAction::Key;
/// let who = Principal::from_name("key:ops");
/// let made = Decision::new(key, &who, "made").about("phone").because("rights: execute");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub(super) act: AuditAction,
    pub(super) principal: Principal,
    pub(super) outcome: Cow<'static, str>,
    pub(super) agent: Option<AgentId>,
    pub(super) name: Option<String>,
    pub(super) server: Option<ServerId>,
    pub(super) tool: Option<String>,
    pub(super) arguments_hash: Option<[u8; 32]>,
    pub(super) call: Option<CallId>,
    pub(super) detail: Option<String>,
}

/// In characters; the name may come from outside.
const MAX_NAME_CHARS: usize = 128;
const MAX_DETAIL_CHARS: usize = 1_000;

impl Decision {
    /// `outcome` is one word in the past tense: `approved`, `denied`, `made`, `expired`.
    pub fn new(
        act: AuditAction,
        principal: &Principal,
        outcome: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            act,
            principal: principal.clone(),
            outcome: outcome.into(),
            agent: None,
            name: None,
            server: None,
            tool: None,
            arguments_hash: None,
            call: None,
            detail: None,
        }
    }

    /// The subject's name: of a key, a file, or a tool as it is exposed.
    #[must_use]
    pub fn about(mut self, name: &str) -> Self {
        self.name = Some(cut(name, MAX_NAME_CHARS));
        self
    }

    #[must_use]
    pub fn agent(mut self, agent: &AgentId) -> Self {
        self.agent = Some(agent.clone());
        self
    }

    #[must_use]
    pub fn server(mut self, server: &ServerId) -> Self {
        self.server = Some(server.clone());
        self
    }

    /// The tool's name at its server.
    #[must_use]
    pub fn tool(mut self, tool: &str) -> Self {
        self.tool = Some(cut(tool, MAX_NAME_CHARS));
        self
    }

    /// The call that the decision is about, and the hash of its arguments.
    #[must_use]
    pub fn call(mut self, call: CallId, arguments_hash: Option<[u8; 32]>) -> Self {
        self.call = Some(call);
        self.arguments_hash = arguments_hash;
        self
    }

    /// Free text. Never a secret: it is stored and displayed.
    #[must_use]
    pub fn because(mut self, detail: &str) -> Self {
        self.detail = Some(cut(detail, MAX_DETAIL_CHARS));
        self
    }
}

fn cut(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}
