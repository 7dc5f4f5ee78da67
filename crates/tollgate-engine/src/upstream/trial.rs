//! Trial of a server before it is added to the config.
//!
//! The server is started separately, in the same way and with the same limits as any other, watched
//! until it is known whether it comes up, and stopped. Nothing of it reaches a catalogue or an
//! agent, and it has no access to logins: a trial neither renews nor loses those of configured
//! servers.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Uri;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tollgate_core::catalog::ServerListing;
use tollgate_core::json::Object;
use tollgate_core::mask::SecretMasker;
use tollgate_core::text::truncate_chars;
use tollgate_mcp::Revision;

use super::{
    Change, TestVerdict, Update, Upstream, UpstreamContext, UpstreamState, UpstreamStatus,
};
use crate::clock::Clock;
use crate::confine::Launcher;
use crate::notices::Notices;
use crate::settings::{
    RestartPolicy, RestartSettings, Server, ServerDesiredState, ServerTransport, StartMode,
};

/// How long it may take to come up.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Concurrent trials.
const MAX_CONCURRENT_TRIALS: usize = 4;
/// Updates of the server that may be queued.
const QUEUE: usize = 16;
/// Characters of a description.
const DESCRIPTION: usize = 400;
/// Lines of stderr that are reported; further ones are not read.
const MAX_STDERR_LINES: usize = 1_000;
/// Replaces a secret.
const MASK_PLACEHOLDER: &str = "[masked]";

pub(crate) struct TrialRunner {
    context: UpstreamContext,
    seats: Arc<Semaphore>,
}

impl TrialRunner {
    pub(crate) fn new(clock: Arc<dyn Clock>, data: PathBuf, launcher: Option<Launcher>) -> Self {
        // A trial has its own receiver of updates.
        let (updates, _) = mpsc::channel(1);
        // Trials cause no notices.
        let notices = Notices::default();
        let context = UpstreamContext { clock, updates, data, launcher, store: None, notices };
        Self { context, seats: Arc::new(Semaphore::new(MAX_CONCURRENT_TRIALS)) }
    }

    /// `None`: too many trials are running.
    pub(crate) fn try_acquire(&self) -> Option<TrialPermit> {
        Arc::clone(&self.seats).try_acquire_owned().ok().map(TrialPermit)
    }

    /// Must be called within a runtime.
    pub(crate) fn begin(&self, server: Server, permit: TrialPermit) -> ServerTrial {
        let (updates, receiver) = mpsc::channel(QUEUE);
        let context = UpstreamContext { updates, ..self.context.clone() };
        let restart = RestartSettings { policy: RestartPolicy::Never, ..server.restart };
        let server = Server {
            state: ServerDesiredState::Enabled,
            start: StartMode::Eager,
            restart,
            ..server
        };
        let upstream = Upstream::start(server, &context);
        let begun = context.clock.now();
        ServerTrial {
            changes: upstream.changes(),
            upstream,
            updates: receiver,
            listing: None,
            shown: None,
            read: 0,
            lines: VecDeque::new(),
            lines_left: MAX_STDERR_LINES,
            begun,
            _permit: permit,
        }
    }
}

/// Permit for one trial.
pub(crate) struct TrialPermit(
    #[expect(dead_code, reason = "held until it is over")] OwnedSemaphorePermit,
);

/// Dropping it kills the server.
pub struct ServerTrial {
    upstream: Arc<Upstream>,
    changes: watch::Receiver<UpstreamStatus>,
    updates: mpsc::Receiver<Update>,
    listing: Option<Arc<ServerListing>>,
    /// The last reported state.
    shown: Option<(UpstreamState, String)>,
    /// Position in its log, and lines that are not reported yet.
    read: u64,
    lines: VecDeque<String>,
    lines_left: usize,
    begun: Instant,
    _permit: TrialPermit,
}

/// An event of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialEvent {
    /// A line of stderr.
    Line(String),
    State(UpstreamState, String),
}

/// The result of a trial.
#[derive(Debug, Clone)]
pub struct TrialReport {
    pub verdict: TestVerdict,
    pub message: String,
    pub protocol: Option<Revision>,
    pub took: Duration,
    pub tools: Vec<OfferedTool>,
}

/// A tool as listed by its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTool {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
}

impl ServerTrial {
    /// The next event; `None` once the result is known, or at the timeout.
    pub async fn next(&mut self) -> Option<TrialEvent> {
        let upstream = Arc::clone(&self.upstream);
        let until = self.begun + TRIAL_TIMEOUT;
        // Checked each time: a server that never stops writing gets no more time than others.
        while upstream.now() < until {
            // Registered before the lines are read: a line that comes meanwhile wakes us.
            let mut grown = std::pin::pin!(upstream.log().wait_for_line());
            grown.as_mut().enable();
            let status = self.changes.borrow_and_update().clone();
            if self.shown.as_ref() != Some(&(status.state, status.reason.clone())) {
                self.shown = Some((status.state, status.reason.clone()));
                return Some(TrialEvent::State(status.state, status.reason));
            }
            if let Some(line) = self.line() {
                return Some(TrialEvent::Line(line));
            }
            if self.is_over(&status) {
                return None;
            }
            tokio::select! {
                () = grown, if self.lines_left > 0 => {}
                _ = self.changes.changed() => {}
                Some(update) = self.updates.recv() => {
                    if let Change::Listed(listing) = update.change {
                        self.listing = Some(listing);
                    }
                }
                () = tokio::time::sleep_until(until.into()) => return None,
            }
        }
        None
    }

    /// Stops the server and returns the result so far.
    pub async fn end(self) -> TrialReport {
        let status = self.upstream.status();
        let took = self.upstream.now().duration_since(self.begun);
        let (verdict, message) = match (self.is_up(&status), is_down(&status)) {
            (true, _) => (TestVerdict::Works, status.reason),
            (false, true) => (TestVerdict::Fails, status.reason),
            (false, false) => {
                (TestVerdict::Fails, format!("did not start within {} s", TRIAL_TIMEOUT.as_secs()))
            }
        };
        let listing = self.listing.as_deref().filter(|_| verdict == TestVerdict::Works);
        let tools = listing.map_or_else(Vec::new, |it| {
            it.tools.iter().filter_map(|tool| parse_offered_tool(tool)).collect()
        });
        self.upstream.stop().await;
        TrialReport { verdict, message, protocol: status.revision, took, tools }
    }

    fn is_over(&self, status: &UpstreamStatus) -> bool {
        self.is_up(status) || is_down(status)
    }

    fn is_up(&self, status: &UpstreamStatus) -> bool {
        let serves = matches!(status.state, UpstreamState::Ready | UpstreamState::Degraded);
        serves && self.listing.is_some()
    }

    /// The next line that is not reported yet, up to the limit.
    fn line(&mut self) -> Option<String> {
        self.lines_left = self.lines_left.checked_sub(1)?;
        if self.lines.is_empty() {
            let (lines, at) = self.upstream.log().news(self.read);
            self.lines.extend(lines);
            self.read = at;
        }
        let line = self.lines.pop_front();
        if line.is_none() {
            self.lines_left += 1;
        }
        line
    }
}

/// The command or URL for the audit trail: without variables, headers, paths (which may contain a
/// password) and queries.
pub(crate) fn describe_target(server: &Server, masker: &SecretMasker) -> String {
    match &server.transport {
        ServerTransport::Stdio(command) => line(&command.words, masker),
        ServerTransport::StreamableHttp(endpoint) | ServerTransport::Sse(endpoint) => {
            let Ok(url) = endpoint.url.parse::<Uri>() else { return "no URL".to_owned() };
            let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
            let scheme = url.scheme_str().unwrap_or("http");
            let host = url.host().unwrap_or("?");
            format!("{scheme}://{host}{port}")
        }
    }
}

/// The words of a command; a value after a flag that is named like a secret is masked.
fn line(words: &[String], masker: &SecretMasker) -> String {
    let is_secret = |flag: &str, value: &str| {
        let pair = json!({ flag.trim_start_matches('-'): value });
        flag.starts_with('-') && masker.json(&pair.to_string()).is_some()
    };
    let mut lines: Vec<&str> = Vec::with_capacity(words.len());
    let mut flag = "";
    for word in words {
        let secret = match word.split_once('=') {
            Some((name, value)) => is_secret(name, value),
            None => is_secret(flag, word),
        };
        lines.push(if secret { MASK_PLACEHOLDER } else { word });
        flag = word;
    }
    lines.join(" ")
}

fn is_down(status: &UpstreamStatus) -> bool {
    matches!(status.state, UpstreamState::Offline | UpstreamState::Failed | UpstreamState::Disabled)
}

fn parse_offered_tool(tool: &RawValue) -> Option<OfferedTool> {
    let tool = Object::parse(tool.get()).ok()?;
    let text = |key: &str| tool.string(key).map(|text| truncate_chars(&text, DESCRIPTION));
    Some(OfferedTool {
        name: text("name")?,
        title: text("title"),
        description: text("description"),
    })
}

#[cfg(test)]
mod tests;
