//! The operator's rules for running calls: limits, secrets, audit, approvals, and how the results of
//! each server reach models.
//!
//! A turn carries the rules it began with, and every stage of its calls reads those. A reload in the
//! middle of a call cannot loosen them; what a reload takes away ends the turn's lease instead.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::budget::Limits;
use crate::call::{ResultOrigin, ServerTrust, UntrustedMarking};
use crate::code_mode::BindingLevel;
use crate::id::ServerId;
use crate::mask::SecretMasker;
use crate::tool::hidden_text::RemovedCounts;

/// The built-in server that returns text written by strangers, under either of its names.
const BUILTIN_WEB: [&str; 2] = ["web", "builtin-web"];

/// The rules of one version of the config.
#[derive(Debug, Clone, Default)]
pub struct CallPolicy {
    pub limits: Limits,
    pub approvals: ApprovalLimits,
    pub audit: AuditPolicy,
    pub secrets: SecretPolicy,
    /// Recognises secrets.
    pub masker: Arc<SecretMasker>,
    pub results: ResultPolicies,
    pub code: CodeModePolicy,
    pub capture: ContentCapture,
}

impl CallPolicy {
    /// Masks results; `None`: they are returned as they are.
    pub fn result_masker(&self) -> Option<Arc<SecretMasker>> {
        match self.secrets.results {
            SecretResultPolicy::Passed => None,
            SecretResultPolicy::Masked => Some(Arc::clone(&self.masker)),
        }
    }
}

/// How calls wait for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalLimits {
    /// A call that nobody decided on by then is denied.
    pub timeout: Duration,
    /// More calls than this do not wait.
    pub waiting: usize,
}

impl Default for ApprovalLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), waiting: 256 }
    }
}

/// The audit row of a call, and what happens when it cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditPolicy {
    pub arguments: ArgumentRecording,
    pub durable: AuditDurability,
    pub on_failure: OnAuditFailure,
}

impl Default for AuditPolicy {
    fn default() -> Self {
        Self {
            arguments: ArgumentRecording::None,
            durable: AuditDurability::Mutating,
            on_failure: OnAuditFailure::Refuse,
        }
    }
}

/// What an audit row holds of arguments beside their hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentRecording {
    None,
    /// The arguments, without secrets.
    Redacted,
}

/// Which calls wait for their row to be on disk before they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditDurability {
    /// Calls of tools that are not known to be read-only.
    Mutating,
    All,
    None,
}

/// What becomes of such calls while rows cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnAuditFailure {
    Refuse,
    Continue,
}

/// What becomes of secrets in calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretPolicy {
    pub arguments: SecretArgumentPolicy,
    pub results: SecretResultPolicy,
}

impl Default for SecretPolicy {
    fn default() -> Self {
        Self { arguments: SecretArgumentPolicy::Passed, results: SecretResultPolicy::Passed }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretArgumentPolicy {
    Passed,
    Masked,
    /// The call is not made.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretResultPolicy {
    Passed,
    Masked,
}

/// How much of a server's results reaches models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultForm {
    /// Without escape sequences, control characters and hidden text.
    #[default]
    Clean,
    /// Byte for byte.
    Raw,
}

/// How the results of one server are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultPolicy {
    pub trust: ServerTrust,
    pub form: ResultForm,
    pub mark: UntrustedMarking,
}

/// How results are treated, by server.
#[derive(Debug, Clone, Default)]
pub struct ResultPolicies {
    /// Servers of the config.
    pub configured: HashMap<ServerId, ResultPolicy>,
    /// Built-in servers.
    pub builtin: Vec<ServerId>,
    /// For built-in servers, and for those that are not in the config any more.
    pub default_mark: UntrustedMarking,
}

impl ResultPolicies {
    pub fn of(&self, server: &ServerId) -> ResultPolicy {
        let configured = self.configured.get(server).copied();
        let (form, mark) =
            configured.map_or((ResultForm::Clean, self.default_mark), |it| (it.form, it.mark));
        let trust = if self.builtin.contains(server) {
            if BUILTIN_WEB.contains(&server.as_str()) {
                ServerTrust::Untrusted
            } else {
                ServerTrust::Trusted
            }
        } else {
            configured.map_or(ServerTrust::Untrusted, |it| it.trust)
        };
        ResultPolicy { trust, form, mark }
    }

    /// The origin of a result of this server from which nothing has been removed yet.
    pub fn origin(&self, server: &ServerId) -> ResultOrigin {
        let ResultPolicy { trust, mark, .. } = self.of(server);
        let removed = RemovedCounts::default();
        ResultOrigin { server: server.clone(), trust, removed, raw: None, mark }
    }
}

/// Rules of code mode that hold for a whole turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodeModePolicy {
    pub binding: BindingLevel,
    pub unapproved: UnapprovedCallPolicy,
    pub limits: ProgramLimits,
}

/// Limits of one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramLimits {
    pub steps: u64,
    /// Of the program's values.
    pub heap_bytes: u64,
    /// Depth of the call stack.
    pub depth: u32,
    pub calls: u32,
    /// Prints and `result` together.
    pub output_bytes: u64,
    /// Without the time spent waiting for a person.
    pub time: Duration,
    pub source_bytes: usize,
    /// Nesting of brackets and operators.
    pub nesting: usize,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            heap_bytes: 64 << 20,
            depth: 64,
            calls: 50,
            output_bytes: 64 << 10,
            time: Duration::from_secs(30),
            source_bytes: 32 << 10,
            nesting: 100,
        }
    }
}

/// What becomes of a call in a program that needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnapprovedCallPolicy {
    /// The program waits, as any call does.
    #[default]
    Waits,
    Refused,
}

/// What spans hold of arguments, of results and of error texts of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContentCapture {
    #[default]
    Nothing,
    /// All of them, without secrets, as the audit trail keeps arguments.
    Redacted,
}

#[cfg(test)]
mod tests {
    use super::{ResultForm, ResultPolicies, ResultPolicy};
    use crate::call::{ServerTrust, UntrustedMarking};
    use crate::id::ServerId;

    #[test]
    fn a_built_in_server_is_trusted_unless_it_returns_text_of_strangers() {
        let id = |name: &str| ServerId::parse(name).unwrap();
        let vouched = ResultPolicy {
            trust: ServerTrust::Trusted,
            form: ResultForm::Raw,
            mark: UntrustedMarking::default(),
        };
        let policies = ResultPolicies {
            configured: [(id("crm"), vouched)].into(),
            builtin: vec![id("files"), id("web")],
            default_mark: UntrustedMarking::default(),
        };
        assert_eq!(policies.of(&id("crm")), vouched);
        for (server, trust) in [
            ("files", ServerTrust::Trusted),
            ("web", ServerTrust::Untrusted),
            ("gone", ServerTrust::Untrusted),
        ] {
            assert_eq!(
                policies.of(&id(server)),
                ResultPolicy { trust, form: ResultForm::Clean, ..vouched }
            );
            assert_eq!(policies.origin(&id(server)).trust, trust);
        }
    }
}
