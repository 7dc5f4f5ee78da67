//! What an untrusted server says before it answers: progress, log messages and questions reach a
//! model or a person like a result, and taint the turn like one (S-30).

use tokio::sync::mpsc;
use tollgate_core::call::ServerTrust;
use tollgate_core::id::ServerId;
use tollgate_core::turn::Turn;
use tollgate_mcp::client::{Event, ProgressReporting, ServerEventSender};

use super::Gate;
use crate::caller::{Caller, Dialogue};

/// Events on their way to the caller. A full queue drops progress.
const QUEUE: usize = 16;

/// The way of a call's events, by which its turn is tainted.
pub(super) struct TaintingEvents<'c> {
    gate: &'c Gate,
    turn: &'c Turn,
    server: &'c ServerId,
    events: mpsc::Receiver<Event>,
    to: &'c ServerEventSender,
}

impl Gate {
    /// `None`: the server is trusted, or the caller hears nothing before the answer. Otherwise the
    /// call is to be made for the caller that is returned.
    pub(super) fn listen_for<'c>(
        &'c self,
        turn: &'c Turn,
        server: &'c ServerId,
        caller: &'c Caller<'c>,
    ) -> Option<(Caller<'c>, TaintingEvents<'c>)> {
        let to = caller.events.as_ref()?;
        let hears = caller.progress == ProgressReporting::Requested
            || caller.client.log_level.is_some()
            || matches!(caller.dialogue, Dialogue::Live);
        if !hears || turn.policy.results.of(server).trust != ServerTrust::Untrusted {
            return None;
        }
        let (events, said) = mpsc::channel(QUEUE);
        let caller = Caller { events: Some(events), ..caller.clone() };
        Some((caller, TaintingEvents { gate: self, turn, server, events: said, to }))
    }
}

impl TaintingEvents<'_> {
    /// Passes events on while the call runs. Those sent before the answer are delivered before it.
    pub(super) async fn forward<T>(mut self, running: impl Future<Output = T>) -> T {
        tokio::pin!(running);
        // A question is not dropped; meanwhile, others wait in the queue.
        let mut question = None;
        loop {
            tokio::select! {
                biased;
                permit = self.to.reserve(), if question.is_some() => {
                    // Dropping a question answers it.
                    let question = question.take();
                    if let (Ok(permit), Some(question)) = (permit, question) {
                        permit.send(question);
                    }
                }
                Some(event) = self.events.recv(), if question.is_none() => {
                    question = self.pass_on(event);
                }
                done = &mut running => {
                    while let Ok(event) = self.events.try_recv() {
                        self.pass_on(event);
                    }
                    return done;
                }
            }
        }
    }

    fn pass_on(&self, event: Event) -> Option<Event> {
        if has_words(&event) {
            self.gate.note_server(self.turn, self.server);
        }
        match event {
            Event::Question(_) => Some(event),
            Event::Progress(_) | Event::Log(_) | Event::Announcement(_) => {
                let _ = self.to.try_send(event);
                None
            }
        }
    }
}

/// Whether somebody reads it: a number of steps is nothing to obey.
fn has_words(event: &Event) -> bool {
    match event {
        Event::Progress(params) => params.contains("message"),
        Event::Log(_) => true,
        Event::Question(question) => question.method != "roots/list",
        Event::Announcement(_) => false,
    }
}
