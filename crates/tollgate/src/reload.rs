//! Config actor: the task that owns the config of a running gateway (hot reload).
//!
//! It is notified of changes (file watch, poll, signal, API), validates the new config before
//! anything changes, and applies it in one step. An invalid file changes nothing and is reported.
//! Other tasks use a [`ReloadHandle`].

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, Sleep, interval, sleep};
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_engine::notices::Notice;
use tollgate_engine::settings::Server;
use tollgate_mcp::tasks::{self, Task};
use tollgate_server::config_service::{
    ConfigChangeRequest, ConfigChangeSummary, ConfigServiceError, ProposedServer, RedactedConfig,
    ReloadAttempt, ReloadOutcome, ServerConfigEntry,
};
use tracing::{info, warn};

use crate::app::App;
use crate::signals::Hangups;

mod audit;
mod change;
mod config_store;
mod effect;
mod entry;
mod file_source;
mod file_watch;
mod handle;
mod login;

pub(crate) use change::{ConfigDraft, draft, draft_edits};
pub(crate) use file_source::ConfigFileSource;
pub use handle::ReloadHandle;

use config_store::ConfigStore;
use file_source::ConfigFileState;
use file_watch::ConfigWatcher;
use tollgate_config::{ConfigReport, ConfigRequest, LoadedConfig};

/// How long a file must be unchanged before it is read: programs save in several writes.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Poll interval, for file systems without notifications.
const POLL: Duration = Duration::from_secs(2);
/// How often a file that is invalid, each time with other content, is read again before it is
/// reported.
const MAX_REREADS: u32 = 20;
/// Length of the request queue.
const QUEUE: usize = 64;

/// A request to the actor.
enum ConfigActorRequest {
    Show(oneshot::Sender<Result<RedactedConfig, ConfigServiceError>>),
    Entry(String, oneshot::Sender<Result<Option<ServerConfigEntry>, ConfigServiceError>>),
    Login {
        name: String,
        by: String,
        reply: login::LoginLinkSender,
    },
    Prove(Box<ProposedServer>, oneshot::Sender<Result<Server, ConfigServiceError>>),
    Change(
        Box<ConfigChangeRequest>,
        oneshot::Sender<Result<ConfigChangeSummary, ConfigServiceError>>,
    ),
    Reload(String, oneshot::Sender<ReloadAttempt>),
    /// URL of the MCP registry.
    Registry(oneshot::Sender<String>),
}

/// Starts the actor for `app`. It ends when the task is dropped.
pub fn start(
    app: Arc<App>,
    loaded: LoadedConfig,
    request: ConfigRequest,
) -> (Task, Arc<ReloadHandle>) {
    let (asks, receiver) = mpsc::channel(QUEUE);
    let origin = ConfigFileSource::new(&loaded.config.origin, request);
    let handle = Arc::new(ReloadHandle::new(asks, origin.path().to_owned()));
    let actor = ConfigActor {
        watch: ConfigWatcher::start(origin.path()),
        store: ConfigStore::new(app, loaded.config, &loaded.version, origin),
        handle: Arc::clone(&handle),
        debounce: ContentDebounce::default(),
        unrest: ContentDebounce::default(),
    };
    (tasks::spawn("config", actor.run(receiver)), handle)
}

struct ConfigActor {
    store: ConfigStore,
    watch: ConfigWatcher,
    handle: Arc<ReloadHandle>,
    debounce: ContentDebounce,
    /// For the files that the config names.
    unrest: ContentDebounce,
}

/// An invalid file may be only partly written.
#[derive(Default)]
struct ContentDebounce {
    content: Option<String>,
    count: u32,
}

impl ContentDebounce {
    /// Whether to wait and read again before reporting.
    fn again(&mut self, content: &str) -> bool {
        let is_new = self.content.as_deref() != Some(content);
        self.count += 1;
        self.content = Some(content.to_owned());
        is_new && self.count <= MAX_REREADS
    }
}

impl ConfigActor {
    async fn run(mut self, mut asks: mpsc::Receiver<ConfigActorRequest>) {
        let mut hangups = Hangups::listen();
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pause: Option<Pin<Box<Sleep>>> = None;
        loop {
            tokio::select! {
                ask = asks.recv() => match ask {
                    Some(ask) => self.answer(ask).await,
                    None => return,
                },
                () = hangups.next() => drop(self.reload("signal").await),
                () = self.watch.wait_for_change(), if pause.is_none() => {
                    pause = Some(Box::pin(sleep(DEBOUNCE)));
                }
                () = wait_for_pause(&mut pause), if pause.is_some() => {
                    self.watch.forget();
                    pause = self.look().await;
                }
                _ = poll.tick(), if pause.is_none() => pause = self.look().await,
            }
        }
    }

    async fn answer(&mut self, ask: ConfigActorRequest) {
        // A requester that is gone does not cancel its request.
        match ask {
            ConfigActorRequest::Show(reply) => drop(reply.send(self.store.show().await)),
            ConfigActorRequest::Entry(name, reply) => {
                drop(reply.send(self.store.entry(name).await))
            }
            ConfigActorRequest::Login { name, by, reply } => self.store.login(name, by, reply),
            ConfigActorRequest::Prove(proposed, reply) => {
                drop(reply.send(self.store.prove(*proposed).await))
            }
            ConfigActorRequest::Registry(reply) => drop(reply.send(self.store.registry())),
            ConfigActorRequest::Reload(by, reply) => drop(reply.send(self.reload(&by).await)),
            ConfigActorRequest::Change(order, reply) => {
                let by = order.by.clone();
                let act = audit::act(&order.change);
                let changed = self.store.change(*order).await;
                if let Ok(changed) = &changed
                    && let Some(effect) = &changed.applied
                {
                    self.store.note(act.by(&by)).await;
                    let result = ReloadOutcome::Applied(effect.clone());
                    self.tell(&by, result, changed.summary.report.clone()).await;
                }
                drop(reply.send(changed.map(|it| it.summary)));
            }
        }
    }

    /// Checks whether the file changed. Returns the delay before the next check.
    async fn look(&mut self) -> Option<Pin<Box<Sleep>>> {
        match self.store.look().await {
            ConfigFileState::Same => return self.look_at_files().await,
            ConfigFileState::Good(loaded) => {
                self.debounce = ContentDebounce::default();
                drop(self.apply("file", loaded).await);
            }
            ConfigFileState::Bad { content, report } => {
                if self.debounce.again(&content) {
                    return Some(Box::pin(sleep(DEBOUNCE)));
                }
                self.debounce = ContentDebounce::default();
                self.store.saw(content);
                drop(self.refuse("file", &report).await);
            }
        }
        None
    }

    /// Reloads tables, rules, music and certificates that changed, once their files are stable.
    async fn look_at_files(&mut self) -> Option<Pin<Box<Sleep>>> {
        let Some(stamp) = self.store.changed_files().await else {
            self.unrest = ContentDebounce::default();
            return None;
        };
        if self.unrest.again(&stamp) {
            return Some(Box::pin(sleep(DEBOUNCE)));
        }
        self.unrest = ContentDebounce::default();
        const BY: &str = "files that the config names";
        match self.store.reload_builtin_files().await {
            Ok(effect) => {
                drop(self.tell(BY, ReloadOutcome::Applied(effect), serde_json::Value::Null).await);
            }
            Err(report) => drop(self.refuse(BY, &report).await),
        }
        None
    }

    /// Reads the file even if it is unchanged: the files and variables it refers to may have
    /// changed.
    async fn reload(&mut self, by: &str) -> ReloadAttempt {
        self.debounce = ContentDebounce::default();
        match self.store.read().await {
            ConfigFileState::Same => {
                self.tell(by, ReloadOutcome::Unchanged, serde_json::Value::Null).await
            }
            ConfigFileState::Good(loaded) => self.apply(by, loaded).await,
            ConfigFileState::Bad { content, report } => {
                self.store.saw(content);
                self.refuse(by, &report).await
            }
        }
    }

    async fn apply(
        &mut self,
        by: &str,
        loaded: Box<file_source::ConfigCandidate>,
    ) -> ReloadAttempt {
        let report = loaded.report.to_json();
        let content = loaded.version.as_str().to_owned();
        match self.store.apply(*loaded).await {
            Ok(effect) => self.tell(by, ReloadOutcome::Applied(effect), report).await,
            Err(why) => {
                self.store.saw(content);
                self.refuse(by, &why).await
            }
        }
    }

    async fn refuse(&self, by: &str, report: &ConfigReport) -> ReloadAttempt {
        self.tell(by, ReloadOutcome::Refused(report.to_string()), report.to_json()).await
    }

    /// Reports an attempt to the log, the audit ledger, event listeners and later queries.
    async fn tell(
        &self,
        by: &str,
        result: ReloadOutcome,
        report: serde_json::Value,
    ) -> ReloadAttempt {
        let by = by.to_owned();
        let error = match &result {
            ReloadOutcome::Applied(effect) => {
                info!(by, added = ?effect.added, removed = ?effect.removed, restarted = ?effect.restarted,
                    needs_restart = ?effect.needs_restart, "config applied");
                None
            }
            ReloadOutcome::Unchanged => None,
            ReloadOutcome::Refused(why) => {
                warn!(by, "the new config was rejected, the old one remains in use: {why}");
                Some(why.clone())
            }
        };
        if let Some(decision) = audit::reload(&by, self.store.file(), &result) {
            self.store.note(decision).await;
            self.store.announce(Notice::Reloaded { by: by.clone(), error });
        }
        let attempt = ReloadAttempt { at: SystemClock.wall(), by, result, report };
        self.handle.note(&attempt);
        attempt
    }
}

/// Waits for the end of the delay.
async fn wait_for_pause(pause: &mut Option<Pin<Box<Sleep>>>) {
    if let Some(sleeping) = pause {
        sleeping.await;
        *pause = None;
    }
}

#[cfg(test)]
mod tests;
