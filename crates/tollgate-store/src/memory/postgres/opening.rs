//! The way to the tables: they are made when the server comes, and nobody is let to them before that.
//! Called by everything that needs a connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch::{self, Receiver, Sender};
use tokio::time::{sleep, timeout_at};

use super::pool::{Lease, Pool, Term};
use super::schema::{self, Vectors};
use crate::memory::Trouble;

/// After a failure the tables are looked for again.
const AGAIN: Duration = Duration::from_millis(250);

pub(super) struct Door {
    pool: Pool,
    standing: Receiver<Standing>,
}

/// Whether the tables are there.
#[derive(Debug, Clone)]
pub(super) enum Standing {
    Unknown,
    Not(Trouble),
    Ready(Vectors),
}

impl Door {
    /// It opens by what [`open`] says.
    pub(super) fn new(pool: Pool) -> (Self, Sender<Standing>) {
        let (told, standing) = watch::channel(Standing::Unknown);
        (Self { pool, standing }, told)
    }

    /// Waits until the tables are there, not longer than that.
    pub(super) async fn ready(&self, term: Term) -> Result<Vectors, Trouble> {
        let mut standing = self.standing.clone();
        loop {
            match &*standing.borrow_and_update() {
                Standing::Ready(vectors) => return Ok(*vectors),
                Standing::Not(trouble) => return Err(trouble.clone()),
                Standing::Unknown => {}
            }
            match timeout_at(term.until.into(), standing.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Trouble::Away("the gateway ends".to_owned())),
                Err(_) => return Err(Trouble::Slow(term.whole)),
            }
        }
    }

    pub(super) async fn lease(&self, term: Term) -> Result<Lease, Trouble> {
        self.ready(term).await?;
        self.pool.lease(term).await
    }

    pub(super) async fn begin(&self, term: Term) -> Result<Lease, Trouble> {
        self.ready(term).await?;
        self.pool.begin(term).await
    }
}

/// Makes the tables, however long it takes until somebody is there.
pub(super) async fn open(door: Arc<Door>, told: Sender<Standing>) {
    loop {
        let prepared = match door.pool.manager().connect().await {
            Ok(connection) => schema::prepare(&connection).await,
            Err(trouble) => Err(trouble),
        };
        match prepared {
            Ok((vectors, place)) => {
                place.iter().for_each(|place| door.pool.manager().look_into(place));
                told.send_replace(Standing::Ready(vectors));
                return;
            }
            Err(trouble) => drop(told.send_replace(Standing::Not(trouble))),
        }
        sleep(AGAIN).await;
    }
}
