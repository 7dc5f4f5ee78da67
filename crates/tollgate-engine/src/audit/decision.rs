//! What someone decided, as the audit trail keeps it. Decisions are rare and matter, so they are
//! plain text, and each is waited for.

use std::borrow::Cow;

use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::turn::Principal;

use crate::record::CallId;

/// What kind of decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditAction {
    /// A call waited for a person.
    Approval,
    /// A key was made, changed or taken away.
    Key,
    /// The config was read anew, or edited.
    Reload,
    /// A tool's definition was accepted or rejected.
    Pin,
    /// A server was added, removed, switched or logged in to.
    Server,
    /// Something was put into the memory, or taken out of it, by whoever runs the gateway.
    Memory,
    /// A live session was closed or given a tier by whoever runs the gateway.
    Session,
    /// Something was stopped because what it ran under was taken away: a stream, a session, a result
    /// that was still to come. Calls say so in their own rows.
    Revocation,
    /// Someone showed who they are, or could not.
    Login,
    /// A request was turned away before it was a call.
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

/// One decision: who did what, to which thing, and how it came out.
///
/// ```
/// # use tollgate_core::turn::Principal;
/// # use tollgate_engine::audit::{Act, Decision};
/// let who = Principal::named("key:ops");
/// let made = Decision::new(Act::Key, &who, "made").about("phone").because("rights: execute");
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

/// Characters of what others may have written.
const LONGEST_NAME: usize = 128;
const LONGEST_DETAIL: usize = 1_000;

impl Decision {
    /// `outcome` is one word in the past: `approved`, `denied`, `made`, `expired`.
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

    /// The name of what was decided about: a key's, a file's, a tool's as it is exposed.
    #[must_use]
    pub fn about(mut self, name: &str) -> Self {
        self.name = Some(cut(name, LONGEST_NAME));
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

    /// As its server says it.
    #[must_use]
    pub fn tool(mut self, tool: &str) -> Self {
        self.tool = Some(cut(tool, LONGEST_NAME));
        self
    }

    /// The call that was decided about, and the hash of its arguments.
    #[must_use]
    pub fn call(mut self, call: CallId, arguments_hash: Option<[u8; 32]>) -> Self {
        self.call = Some(call);
        self.arguments_hash = arguments_hash;
        self
    }

    /// In words. Never a secret: this is kept, and shown.
    #[must_use]
    pub fn because(mut self, detail: &str) -> Self {
        self.detail = Some(cut(detail, LONGEST_DETAIL));
        self
    }
}

fn cut(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}
