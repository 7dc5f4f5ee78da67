//! Access to the pool once the schema exists: it is created when the server becomes reachable, and
//! callers wait for that. Used wherever a connection is needed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch::{self, Receiver, Sender};
use tokio::time::{sleep, timeout_at};

use super::pool::{PgDeadline, PgLease, PgPool};
use super::schema::{self, VectorSupport};
use crate::memory::MemoryError;

/// Retry interval of creating the schema after a failure.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct ReadyPool {
    pool: PgPool,
    standing: Receiver<SchemaState>,
}

/// Whether the schema is ready.
#[derive(Debug, Clone)]
pub(super) enum SchemaState {
    Unknown,
    Not(MemoryError),
    Ready(VectorSupport),
}

impl ReadyPool {
    /// Becomes ready when [`open`] reports so.
    pub(super) fn new(pool: PgPool) -> (Self, Sender<SchemaState>) {
        let (sender, standing) = watch::channel(SchemaState::Unknown);
        (Self { pool, standing }, sender)
    }

    /// Waits until the schema is ready, up to the deadline.
    pub(super) async fn ready(&self, term: PgDeadline) -> Result<VectorSupport, MemoryError> {
        let mut standing = self.standing.clone();
        loop {
            match &*standing.borrow_and_update() {
                SchemaState::Ready(vectors) => return Ok(*vectors),
                SchemaState::Not(trouble) => return Err(trouble.clone()),
                SchemaState::Unknown => {}
            }
            match timeout_at(term.until.into(), standing.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => {
                    return Err(MemoryError::Away("the gateway is shutting down".to_owned()));
                }
                Err(_) => return Err(MemoryError::Slow(term.whole)),
            }
        }
    }

    pub(super) async fn lease(&self, term: PgDeadline) -> Result<PgLease, MemoryError> {
        self.ready(term).await?;
        self.pool.lease(term).await
    }

    pub(super) async fn begin(&self, term: PgDeadline) -> Result<PgLease, MemoryError> {
        self.ready(term).await?;
        self.pool.begin(term).await
    }
}

/// Creates the schema, retrying until the server is reachable.
pub(super) async fn open(door: Arc<ReadyPool>, sender: Sender<SchemaState>) {
    loop {
        let prepared = match door.pool.manager().connect().await {
            Ok(connection) => schema::prepare(&connection).await,
            Err(trouble) => Err(trouble),
        };
        match prepared {
            Ok((vectors, place)) => {
                place.iter().for_each(|place| door.pool.manager().look_into(place));
                sender.send_replace(SchemaState::Ready(vectors));
                return;
            }
            Err(trouble) => drop(sender.send_replace(SchemaState::Not(trouble))),
        }
        sleep(RETRY_INTERVAL).await;
    }
}
