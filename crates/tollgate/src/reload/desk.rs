//! The reloader's hands: reads, proves, writes and applies, each away from the threads that serve.
//! Decides nothing of when.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tollgate_engine::audit::Decision;
use tollgate_engine::notices::Notice;
use tollgate_engine::settings::Server;
use tollgate_mcp::tasks::{self, Task};
use tollgate_server::operator::{Changed, Effect, Entry, Mode, Order, Refused, Shown, Wanted};

use tracing::warn;

use super::change::{self, Draft, Trouble};
use super::effect::{self, Fixed};
use super::entry;
use super::login::{self, Login};
use super::origin::{Candidate, Found, Origin};
use crate::app::App;
use crate::config::file::Version;
use crate::config::masked::Masks;
use crate::config::{Config, Report};

pub(super) struct Desk {
    app: Arc<App>,
    fixed: Fixed,
    /// What runs.
    now: Config,
    origin: Origin,
    /// The content that was looked at last, good or bad.
    seen: Option<String>,
    masks: Arc<Masks>,
    /// By the names of their servers.
    logins: HashMap<String, Task>,
}

/// A change, and what it did if it was made.
pub(super) struct Made {
    pub(super) told: Changed,
    pub(super) applied: Option<Effect>,
}

impl Desk {
    pub(super) fn new(app: Arc<App>, (config, version): (Config, Version), origin: Origin) -> Self {
        Self {
            app,
            fixed: Fixed::new(config.clone()),
            now: config,
            origin,
            seen: Some(version.as_str().to_owned()),
            masks: Arc::new(Masks::new()),
            logins: HashMap::new(),
        }
    }

    pub(super) async fn show(&self) -> Result<Shown, Refused> {
        let (origin, masks) = (self.origin.clone(), Arc::clone(&self.masks));
        Ok(beside(move || change::show(&origin, &masks)).await??)
    }

    pub(super) async fn entry(&self, name: String) -> Result<Option<Entry>, Refused> {
        let (origin, masks) = (self.origin.clone(), Arc::clone(&self.masks));
        Ok(beside(move || entry::show(&origin, &masks, &name)).await??)
    }

    pub(super) async fn prove(&self, wanted: Wanted) -> Result<Server, Refused> {
        let (origin, masks) = (self.origin.clone(), Arc::clone(&self.masks));
        Ok(beside(move || entry::prove(&origin, &masks, wanted)).await??)
    }

    /// Goes on beside everything else; one that was begun before for the same server is over.
    pub(super) fn login(&mut self, (name, by): (String, String), reply: login::Reply) {
        let servers = &self.now.settings.servers;
        let Some(server) = servers.iter().find(|it| it.id.as_str() == name) else {
            let _ = reply.send(Err(Refused::UnknownServer(name)));
            return;
        };
        let (store, gate) = (Arc::clone(self.app.store()), Arc::clone(self.app.gate()));
        let login = Login { server: server.clone(), by, store, gate };
        self.logins.insert(name, tasks::spawn("login", login.run(reply)));
    }

    /// What is in the file, if that is new.
    pub(super) async fn look(&self) -> Found {
        self.find(self.seen.clone()).await
    }

    /// What is in the file.
    pub(super) async fn read(&self) -> Found {
        self.find(None).await
    }

    async fn find(&self, seen: Option<String>) -> Found {
        let origin = self.origin.clone();
        let name = origin.path().display().to_string();
        let found = beside(move || origin.look(seen.as_deref())).await;
        found.unwrap_or_else(|why| {
            let content = why.to_string();
            Found::Bad { report: Report::about(&name, content.clone()), content }
        })
    }

    pub(super) fn saw(&mut self, content: String) {
        self.seen = Some(content);
    }

    /// Goes on by a config that was proved.
    pub(super) async fn apply(&mut self, candidate: Candidate) -> Result<Effect, Report> {
        let Candidate { config, version, .. } = candidate;
        let name = self.origin.path().display().to_string();
        effect::admit(&name, &config).await?;
        let certified = self.app.certify(&config).await;
        certified.map_err(|why| Report::about(&name, why.to_string()))?;
        let turnover = self.app.reconfigure(&config).await;
        let effect = effect::of(turnover, self.fixed.waiting(&config));
        self.origin.became_file();
        self.seen = Some(version.as_str().to_owned());
        self.now = config;
        Ok(effect)
    }

    /// How the files stand that the config names, if they changed since they were read.
    pub(super) async fn changed_files(&self) -> Option<String> {
        self.app.changed_files().await
    }

    /// Goes on by the same config, with all that it refers to read again.
    pub(super) async fn refurnish(&self) -> Result<Effect, Report> {
        let certified = self.app.certify(&self.now).await;
        let turnover = self.app.reconfigure(&self.now).await;
        let name = self.origin.path().display().to_string();
        certified.map_err(|why| Report::about(&name, why.to_string()))?;
        Ok(effect::of(turnover, self.fixed.waiting(&self.now)))
    }

    pub(super) async fn change(&mut self, order: Order) -> Result<Made, Refused> {
        let (origin, masks, mode) = (self.origin.clone(), Arc::clone(&self.masks), order.mode);
        let draft = beside(move || change::draft(&origin, &masks, &order)).await??;
        let next = &draft.candidate.config;
        let name = self.origin.path().display().to_string();
        effect::admit(&name, next).await.map_err(Trouble::from)?;
        let (diff, report) = (draft.diff.clone(), draft.candidate.report.to_json());
        let version = draft.candidate.version.as_str().to_owned();
        let told = |effect: Effect| Changed { version, diff, report, effect };
        if mode == Mode::Try {
            let effect = effect::foreseen(&self.now, next, self.fixed.waiting(next));
            return Ok(Made { told: told(effect), applied: None });
        }
        let origin = self.origin.clone();
        let written = beside(move || draft.write(&origin).map(|()| draft)).await?;
        let Draft { candidate, .. } = written?;
        let effect = self.apply(candidate).await.map_err(Trouble::from)?;
        Ok(Made { told: told(effect.clone()), applied: Some(effect) })
    }

    pub(super) fn registry(&self) -> String {
        self.now.registry.clone()
    }

    pub(super) fn file(&self) -> &Path {
        self.origin.path()
    }

    /// Into the audit trail. What was decided holds, written or not.
    pub(super) async fn note(&self, decision: Decision) {
        if let Err(error) = self.app.gate().ledger().note(decision).await {
            warn!(%error, "a change of the config has no row in the audit trail");
        }
    }

    pub(super) fn announce(&self, notice: Notice) {
        self.app.gate().announce(notice);
    }
}

/// On a thread that may wait for a disk. A panic there is a failure here, not the end.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Refused::Failed("reading the config ran into a fault".to_owned()))
}
