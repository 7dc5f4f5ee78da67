//! What others hold of the reloader: a way to ask, and how the last attempt went.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_engine::settings::Server;
use tollgate_server::operator::{
    Attempt, Changed, Connection, Door, Entry, File, Offered, OfferedServer, Operator, Order,
    Outcome, Reach, Refused, Shown, Tally, Wanted,
};

use super::Ask;
use crate::config::file::is_writable;
use crate::config::{Process, edit};
use crate::connect::{self, Access, Snippet, Target};
use crate::import::variables::Variables;
use crate::import::{self, Asked, Found, Imported, Secrets};
use crate::registry::Registry;

pub struct Handle {
    asks: mpsc::Sender<Ask>,
    noted: Mutex<Noted>,
    path: PathBuf,
}

#[derive(Default)]
struct Noted {
    last: Option<Attempt>,
    tally: Tally,
}

impl Handle {
    pub(super) fn new(asks: mpsc::Sender<Ask>, path: PathBuf) -> Self {
        Self { asks, noted: Mutex::default(), path }
    }

    pub(super) fn note(&self, attempt: &Attempt) {
        let mut noted = self.noted.lock();
        match attempt.result {
            Outcome::Applied(_) => noted.tally.applied += 1,
            Outcome::Refused(_) => noted.tally.refused += 1,
            Outcome::Unchanged => {}
        }
        noted.last = Some(attempt.clone());
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(ask(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// How long an authorization server may take until there is a link.
const LINK_PATIENCE: Duration = Duration::from_secs(30);
const STOPPING: &str = "the gateway is stopping";

#[async_trait]
impl Operator for Handle {
    async fn config(&self) -> Result<Shown, Refused> {
        let shown = self.ask(Ask::Show).await;
        shown.unwrap_or_else(|| Err(Refused::Failed(STOPPING.to_owned())))
    }

    fn file(&self) -> File {
        let path = &self.path;
        let shown = path.symlink_metadata().is_ok().then(|| path.display().to_string());
        File { path: shown, writable: is_writable(path) }
    }

    async fn server(&self, name: &str) -> Result<Option<Entry>, Refused> {
        let entry = self.ask(|reply| Ask::Entry(name.to_owned(), reply)).await;
        entry.unwrap_or_else(|| Err(Refused::Failed(STOPPING.to_owned())))
    }

    async fn login(&self, name: &str, by: &str) -> Result<String, Refused> {
        let (name, by) = (name.to_owned(), by.to_owned());
        let asked = self.ask(|reply| Ask::Login { name, by, reply });
        match tokio::time::timeout(LINK_PATIENCE, asked).await {
            Ok(link) => link.unwrap_or_else(|| Err(Refused::Failed(STOPPING.to_owned()))),
            Err(_) => {
                let why = "the authorization server did not answer in time".to_owned();
                Err(Refused::NotLoggedIn(why))
            }
        }
    }

    async fn prove(&self, wanted: Wanted) -> Result<Server, Refused> {
        let proved = self.ask(|reply| Ask::Prove(Box::new(wanted), reply)).await;
        proved.unwrap_or_else(|| Err(Refused::Failed(STOPPING.to_owned())))
    }

    async fn change(&self, order: Order) -> Result<Changed, Refused> {
        let changed = self.ask(|reply| Ask::Change(Box::new(order), reply)).await;
        changed.unwrap_or_else(|| Err(Refused::Failed(STOPPING.to_owned())))
    }

    async fn import(&self, text: &str, name: Option<&str>) -> Result<Offered, Refused> {
        let shown = self.config().await?;
        // Large texts take their time; nobody else waits for it.
        let (text, name) = (text.to_owned(), name.map(str::to_owned));
        let read = tokio::task::spawn_blocking(move || {
            let secrets = Secrets::InTheEnvironment;
            let asked =
                Asked { name: name.as_deref(), file: None, client: None, secrets, given: &[] };
            import::read(&text, &asked)
        });
        let read = read.await.map_err(|_| Refused::Failed("it could not be read".to_owned()))?;
        let mut imported = read.map_err(|why| Refused::Unreadable(why.to_string()))?;
        Variables::of(&shown.values, &Process).fit(&mut imported);
        Ok(offered(imported, &shown.values))
    }

    fn connect(&self, reach: &Reach) -> Vec<Connection> {
        let access = match reach.door {
            Door::Open => Access::Open,
            Door::Locked => Access::Keyed,
        };
        let target = Target {
            base: reach.url.clone(),
            agent: reach.agent.clone(),
            model: reach.model.clone(),
            access,
            config: None,
            data: None,
        };
        connect::snippets(&target).into_iter().map(connection).collect()
    }

    async fn registry(&self, words: &str, cursor: Option<&str>) -> Result<Value, Refused> {
        let url = self.ask(Ask::Registry).await;
        let url = url.ok_or_else(|| Refused::Failed(STOPPING.to_owned()))?;
        let found = async { Registry::new(&url)?.search(words, cursor).await };
        let page = found.await.map_err(|why| Refused::Elsewhere(why.to_string()))?;
        Ok(page.to_json())
    }

    async fn reload(&self, by: &str) -> Attempt {
        let attempt = self.ask(|reply| Ask::Reload(by.to_owned(), reply)).await;
        attempt.unwrap_or_else(|| Attempt {
            at: SystemClock.wall(),
            by: by.to_owned(),
            result: Outcome::Refused(STOPPING.to_owned()),
            report: Value::Null,
        })
    }

    fn last(&self) -> (Option<Attempt>, Tally) {
        let noted = self.noted.lock();
        (noted.last.clone(), noted.tally)
    }
}

/// What was read, with what the config has of these names already.
fn offered(imported: Imported, config: &Value) -> Offered {
    let entry = |section: &str, found: Found| {
        let Found { name, keys, notes } = found;
        let folded = |name: &str| import::folded(section, name);
        let clash = edit::names(config, section).iter().any(|it| folded(it) == folded(&name));
        OfferedServer { name, keys, clash, notes }
    };
    let servers = imported.servers.into_iter().map(|found| entry("servers", found)).collect();
    let others = imported.others.into_iter();
    let others =
        others.map(|other| (other.section.to_owned(), entry(other.section, other.found))).collect();
    let dropped = imported.dropped.into_iter().map(|it| (it.what, it.why)).collect();
    let given = imported.given;
    Offered { format: imported.format.to_owned(), servers, others, dropped, given }
}

fn connection(snippet: Snippet) -> Connection {
    let Snippet { id, name, file, language, text, link, note } = snippet;
    let (id, name, language) = (id.to_owned(), name.to_owned(), language.to_owned());
    Connection { id, name, file, language, text, link, note }
}
