//! PostgreSQL connection pool: a few connections, each leased for one unit of work with a deadline.
//!
//! A connection left in the middle of a statement or transaction is not reused. Used by all queries
//! and writes here; knows no tables.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use deadpool::managed::{self, Metrics, Object, PoolError, QueueMode, RecycleError, RecycleResult};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout, timeout_at};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Statement};

use super::address::CONNECT;
use super::circuit_breaker::{ConnectBreaker, ConnectDecision};
use super::tls::PgTls;
use crate::Error;
use crate::memory::MemoryError;

/// Deadline of every query.
pub(super) const ANSWER: Duration = Duration::from_millis(900);
/// Share of it reserved for the network round trip.
const FOR_THE_WAY: Duration = Duration::from_millis(100);
/// Extra time per row for writes of more rows than this.
const A_FEW_ROWS: usize = 100;
const FOR_EACH_ROW: Duration = Duration::from_millis(1);
/// Maximum connections.
pub(super) const PLACES: usize = 8;
/// An abandoned connection attempt that took this long counts as a failure.
const IN_VAIN: Duration = Duration::from_millis(400);

/// A parameter of a statement.
pub(super) type SqlParam<'v> = &'v (dyn ToSql + Sync);

pub(super) struct PgPool {
    pool: managed::Pool<PgManager>,
}

/// Opens connections.
pub(super) struct PgManager {
    config: Config,
    tls: PgTls,
    runtime: Handle,
    circuit: Mutex<ConnectBreaker>,
    /// The schema of extension types.
    extensions: OnceLock<String>,
}

pub(super) struct PgConnection {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    /// A statement is in flight, or a transaction is open.
    midway: AtomicBool,
}

/// A leased connection with its deadline.
pub(super) struct PgLease {
    /// Returned to the pool on drop only.
    connection: Option<Object<PgManager>>,
    runtime: Handle,
    term: PgDeadline,
    writes: bool,
}

/// A deadline.
#[derive(Debug, Clone, Copy)]
pub(super) struct PgDeadline {
    pub(super) until: Instant,
    /// Its total duration.
    pub(super) whole: Duration,
}

impl PgDeadline {
    /// For a read, or a write of so many rows, from that time on.
    pub(super) fn for_rows(rows: usize, from: Instant) -> Self {
        let long = u32::try_from(rows.saturating_sub(A_FEW_ROWS)).unwrap_or(u32::MAX);
        let whole = ANSWER + FOR_EACH_ROW * long;
        Self { until: from + whole, whole }
    }
}

impl PgPool {
    pub(super) fn new(config: Config, tls: PgTls, runtime: Handle) -> Self {
        let circuit = Mutex::new(ConnectBreaker::new(PLACES));
        let manager = PgManager { config, tls, runtime, circuit, extensions: OnceLock::new() };
        let pool = managed::Pool::builder(manager).max_size(PLACES).queue_mode(QueueMode::Lifo);
        Self { pool: pool.build().expect("a pool without timeouts of its own needs no runtime") }
    }

    pub(super) fn manager(&self) -> &PgManager {
        self.pool.manager()
    }

    /// Leases a connection for reading.
    pub(super) async fn lease(&self, term: PgDeadline) -> Result<PgLease, MemoryError> {
        match timeout_at(term.until.into(), self.pool.get()).await {
            Ok(Ok(connection)) => {
                let runtime = self.manager().runtime.clone();
                Ok(PgLease { connection: Some(connection), runtime, term, writes: false })
            }
            Ok(Err(PoolError::Backend(trouble))) => Err(trouble),
            Ok(Err(other)) => Err(MemoryError::Away(other.to_string())),
            Err(_) => match self.manager().circuit.lock().why() {
                Some(why) => Err(MemoryError::Away(why)),
                None => Err(MemoryError::Slow(term.whole)),
            },
        }
    }

    /// Begins a transaction; [`PgLease::finish`] commits it or rolls it back.
    pub(super) async fn begin(&self, term: PgDeadline) -> Result<PgLease, MemoryError> {
        let mut lease = self.lease(term).await?;
        lease.writes = true;
        let milliseconds = (term.whole - FOR_THE_WAY).as_millis();
        let begin = format!("BEGIN; SET LOCAL statement_timeout = {milliseconds}");
        lease.say(&begin, ConnectionState::Midway).await?;
        Ok(lease)
    }
}

impl PgManager {
    /// A connection outside of the pool.
    pub(super) async fn connect(&self) -> Result<PgConnection, MemoryError> {
        loop {
            let leave = self.circuit.lock().ask(now());
            match leave {
                ConnectDecision::Connect => break,
                ConnectDecision::Wait(pause) => sleep(pause).await,
                ConnectDecision::Refused(why) => return Err(MemoryError::Away(why)),
            }
        }
        let mut attempt = ConnectAttempt { circuit: &self.circuit, since: now(), ended: None };
        let ended = match timeout(CONNECT, self.open()).await {
            Ok(ended) => ended,
            Err(_) => Err(MemoryError::Away(format!("it did not answer within {CONNECT:?}"))),
        };
        attempt.ended = Some(match &ended {
            Ok(_) => ConnectEnd::Connected,
            Err(error) => ConnectEnd::Failed(error.to_string()),
        });
        ended
    }

    async fn open(&self) -> Result<PgConnection, MemoryError> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        // Ends with its client; its error is reported by the client.
        self.runtime.spawn(async move { drop(connection.await) });
        let settings = settings(self.extensions.get().map_or("", String::as_str));
        client.batch_execute(&settings).await?;
        let statements = Mutex::new(HashMap::new());
        Ok(PgConnection { client, statements, midway: AtomicBool::new(false) })
    }

    /// Sets the schema of extension types, for all connections from now on.
    pub(super) fn look_into(&self, schema: &str) {
        // Set once: the schema of an extension does not change.
        let _ = self.extensions.set(schema.to_owned());
    }
}

/// Session settings, independent of the server's defaults.
fn settings(extensions: &str) -> String {
    let path = if extensions.is_empty() { String::new() } else { format!(", {extensions}") };
    format!(
        "SET search_path = tollgate{path};
         SET statement_timeout = {ends};
         SET lock_timeout = {answer};
         SET idle_in_transaction_session_timeout = 5000;
         -- Plans do not depend on what tables were like when they were last looked at.
         SET jit = off;
         SET enable_seqscan = off;
         SET plan_cache_mode = force_generic_plan;
         SET hnsw.ef_search = 200;
         SET hnsw.iterative_scan = relaxed_order;
         -- What is acknowledged is on the disk.
         SELECT set_config('synchronous_commit', 'on', false)
         WHERE current_setting('synchronous_commit') = 'off'",
        answer = ANSWER.as_millis(),
        ends = (ANSWER - FOR_THE_WAY).as_millis(),
    )
}

/// What the circuit breaker learns of an attempt.
enum ConnectEnd {
    Connected,
    Failed(String),
}

/// Reports the result to the circuit breaker, also if the attempt is abandoned.
struct ConnectAttempt<'c> {
    circuit: &'c Mutex<ConnectBreaker>,
    since: Instant,
    ended: Option<ConnectEnd>,
}

impl Drop for ConnectAttempt<'_> {
    fn drop(&mut self) {
        let mut circuit = self.circuit.lock();
        let now = now();
        match self.ended.take() {
            Some(ConnectEnd::Connected) => circuit.record_success(),
            Some(ConnectEnd::Failed(why)) => circuit.record_failure(now, why),
            None if now.duration_since(self.since) >= IN_VAIN => {
                circuit.record_failure(now, format!("it did not answer within {IN_VAIN:?}"));
            }
            None => circuit.record_abandoned(now),
        }
    }
}

impl managed::Manager for PgManager {
    type Type = PgConnection;
    type Error = MemoryError;

    async fn create(&self) -> Result<PgConnection, MemoryError> {
        self.connect().await
    }

    async fn recycle(
        &self,
        connection: &mut PgConnection,
        _: &Metrics,
    ) -> RecycleResult<MemoryError> {
        if connection.client.is_closed() || connection.midway.load(Ordering::Acquire) {
            return Err(RecycleError::message("the connection is broken"));
        }
        Ok(())
    }
}

impl PgConnection {
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    async fn prepare_cached(&self, statement: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(known) = self.statements.lock().get(statement) {
            return Ok(known.clone());
        }
        let prepared = self.client.prepare(statement).await?;
        self.statements.lock().insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

/// State of a connection after a statement.
#[derive(Debug, Clone, Copy)]
enum ConnectionState {
    Midway,
    Done,
}

impl PgLease {
    pub(super) async fn rows(
        &self,
        statement: &str,
        values: &[SqlParam<'_>],
    ) -> Result<Vec<Row>, MemoryError> {
        let connection = self.connection();
        connection.midway.store(true, Ordering::Release);
        let query = async {
            let statement = connection.prepare_cached(statement).await?;
            connection.client.query(&statement, values).await
        };
        let Ok(answer) = timeout_at(self.term.until.into(), query).await else {
            return Err(MemoryError::Slow(self.term.whole));
        };
        connection.midway.store(self.writes, Ordering::Release);
        Ok(answer?)
    }

    pub(super) async fn row(
        &self,
        statement: &str,
        values: &[SqlParam<'_>],
    ) -> Result<Option<Row>, MemoryError> {
        Ok(self.rows(statement, values).await?.into_iter().next())
    }

    /// Ends the transaction of [`PgPool::begin`]: commits or rolls back.
    pub(super) async fn finish<T>(self, done: Result<T, MemoryError>) -> Result<T, MemoryError> {
        match done {
            Ok(value) => match self.say("COMMIT", ConnectionState::Done).await {
                Ok(()) => Ok(value),
                Err(MemoryError::Slow(_) | MemoryError::Away(_)) => Err(in_doubt()),
                Err(trouble) => Err(trouble),
            },
            Err(trouble) => {
                // If this fails too, the connection is dropped, which also rolls back.
                let _ = self.say("ROLLBACK", ConnectionState::Done).await;
                Err(trouble)
            }
        }
    }

    fn connection(&self) -> &PgConnection {
        self.connection.as_deref().expect("only the end takes it")
    }

    async fn say(&self, words: &str, after: ConnectionState) -> Result<(), MemoryError> {
        let connection = self.connection();
        connection.midway.store(true, Ordering::Release);
        let batch = connection.client.batch_execute(words);
        let Ok(answer) = timeout_at(self.term.until.into(), batch).await else {
            return Err(MemoryError::Slow(self.term.whole));
        };
        connection.midway.store(matches!(after, ConnectionState::Midway), Ordering::Release);
        Ok(answer?)
    }
}

impl Drop for PgLease {
    /// An abandoned statement does not cost a connection: it ends by itself, and until then the
    /// connection is not leased.
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if !connection.midway.load(Ordering::Acquire) {
            return;
        }
        let words = if self.writes { "ROLLBACK" } else { "" };
        let ended = async move {
            if let Ok(Ok(())) = timeout(ANSWER, connection.client.batch_execute(words)).await {
                connection.midway.store(false, Ordering::Release);
            }
        };
        self.runtime.spawn(ended);
    }
}

fn in_doubt() -> MemoryError {
    let text = "the connection to the database was lost during the write; check whether it was \
                stored before you repeat it";
    MemoryError::Failed(Error::Failed(text.to_owned()))
}

#[expect(clippy::disallowed_methods, reason = "the only clock of this database's connections")]
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
