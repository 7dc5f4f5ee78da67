//! The mailbox of one connection: events for its supervisor. Coalesced, so it is bounded however
//! much a server sends, and writers never wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tollgate_core::json::Object;
use tollgate_mcp::client::ServerListener;

use super::process::ServerLog;

/// Changed resources kept until the supervisor reads them; further ones are dropped.
const MAX_CHANGED_RESOURCES: usize = 4096;
/// Bytes kept of a server's log message.
const MAX_LOG_BYTES: usize = 1024;

pub(super) struct Mailbox {
    mail: Mutex<MailboxContents>,
    closed: AtomicBool,
    arrived: Notify,
    log: Arc<ServerLog>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MailboxContents {
    /// A list of the server changed.
    pub(super) changed: bool,
    pub(super) updated: BTreeSet<String>,
    /// Lines that were not MCP.
    pub(super) garbage: u32,
    /// Answers that came after their caller was gone.
    pub(super) late: u32,
    /// Calls that failed or got no answer, so that liveness is in doubt.
    pub(super) rechecks: u32,
    pub(super) closed: Option<String>,
}

impl Mailbox {
    pub(super) fn new(log: Arc<ServerLog>) -> Self {
        let mail = Mutex::default();
        let closed = AtomicBool::new(false);
        Self { mail, closed, arrived: Notify::new(), log }
    }

    /// Waits until there is an event. Cancel-safe.
    pub(super) async fn wait_for_mail(&self) {
        self.arrived.notified().await;
    }

    pub(super) fn take(&self) -> MailboxContents {
        std::mem::take(&mut *self.mail.lock())
    }

    /// Whether the connection is gone, whether or not that was read yet.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn doubt(&self) {
        self.put(|mail| mail.rechecks = mail.rechecks.saturating_add(1));
    }

    /// Wakes the supervisor because the breaker opened or closed.
    pub(super) fn breaker_moved(&self) {
        self.arrived.notify_one();
    }

    fn put(&self, change: impl FnOnce(&mut MailboxContents)) {
        change(&mut self.mail.lock());
        self.arrived.notify_one();
    }
}

impl ServerListener for Mailbox {
    fn on_notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/prompts/list_changed" => self.put(|mail| mail.changed = true),
            "notifications/resources/updated" => {
                let params = params.and_then(|params| Object::parse(params.get()).ok());
                let uri = params.and_then(|params| Some(params.string("uri")?.into_owned()));
                if let Some(uri) = uri {
                    self.put(|mail| {
                        if mail.updated.len() < MAX_CHANGED_RESOURCES {
                            mail.updated.insert(uri);
                        }
                    });
                }
            }
            "notifications/message" => {
                let text = params.map_or("", RawValue::get).as_bytes();
                self.log.push(&text[..text.len().min(MAX_LOG_BYTES)]);
            }
            _ => {}
        }
    }

    fn on_closed(&self, reason: &str) {
        self.closed.store(true, Ordering::Release);
        self.put(|mail| mail.closed = Some(reason.to_owned()));
    }

    fn on_garbage(&self, what: &str) {
        let what = what.as_bytes();
        self.log.push(&what[..what.len().min(MAX_LOG_BYTES)]);
        self.put(|mail| mail.garbage = mail.garbage.saturating_add(1));
    }

    fn late(&self) {
        self.put(|mail| mail.late = mail.late.saturating_add(1));
    }
}

#[cfg(test)]
mod tests;
