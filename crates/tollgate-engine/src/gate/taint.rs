//! Taint tracking against prompt injection (S-30): a turn that has read a result of an untrusted
//! server is tainted, and its destructive calls need approval or are refused.

use std::sync::Arc;

use tollgate_core::approval;
use tollgate_core::call::{CallStatus, Decider, Outcome, ServerTrust};
use tollgate_core::id::ServerId;
use tollgate_core::policy::Permitted;
use tollgate_core::tool::FindingKind;
use tollgate_core::turn::{Principal, Taint, TaintLinks, Turn};

use super::Gate;
use super::stages::StageResult;
use super::turn_links::{TAINT_HOLDS, TurnLink};
use crate::answer;
use crate::recorder::CallRecording;

impl Gate {
    /// Refuses a destructive call after a result of an untrusted server, where the config says so;
    /// the audit row says why.
    pub(super) fn refuse_tainted(
        &self,
        turn: &Turn,
        permitted: &Permitted<'_>,
        decided_by: Decider,
        recording: &mut CallRecording<'_>,
    ) -> StageResult<()> {
        let Some(tool) = permitted.tool() else { return Ok(()) };
        let checked = approval::refuse_tainted(turn, decided_by, tool, self.clock.now());
        checked.map_err(|tainted| {
            self.taints.count_refused();
            recording.target(&tool.id.server, Some(tool));
            recording.set_owned_detail(format!("taint: by a result of `{}`", tainted.by).into());
            answer::failure_reply(CallStatus::Denied, &tainted.to_string()).into()
        })
    }

    /// Taints the turn if the server whose words it reads is not trusted.
    pub(super) fn note_server(&self, turn: &Turn, server: &ServerId) {
        if turn.policy.results.of(server).trust == ServerTrust::Untrusted {
            turn.taint.note(server, self.clock.now());
        }
    }

    /// The turn reads what the tool of this name answered, in whichever request that was.
    pub fn note_answered(&self, turn: &Turn, exposed: &str) {
        if let Some(tool) = turn.view.tool(exposed) {
            self.note_server(turn, &tool.id.server);
        }
    }

    /// Somebody reads a result later than its call was answered.
    pub fn note_later(&self, taint: &Taint, outcome: &Outcome) {
        if let Some(origin) = outcome.origin.as_ref().filter(|origin| !origin.is_trusted()) {
            taint.note(&origin.server, self.clock.now());
        }
    }

    /// The same by whoever asks under this link.
    pub fn note_linked(&self, principal: &Principal, link: TurnLink<'_>, outcome: &Outcome) {
        let taint = self.taints.open(principal, link, None, self.clock.now());
        self.note_later(&taint, outcome);
    }

    /// How much was taken out of results since the start, by kind.
    pub fn removed_counts(&self) -> impl Iterator<Item = (FindingKind, u64)> {
        self.results.removed_counts()
    }

    /// Destructive calls after a result of an untrusted server, by what became of them.
    pub fn tainted_calls(&self) -> [(&'static str, u64); 2] {
        self.taints.counts()
    }

    /// What the requests of one turn share, for a client that keeps a session of its own.
    pub fn session_taint(&self) -> Arc<Taint> {
        Arc::new(Taint::holding(TAINT_HOLDS, TaintLinks::default()))
    }
}
