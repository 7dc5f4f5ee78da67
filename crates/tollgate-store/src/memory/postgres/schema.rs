//! The steps from an empty database to the tables of this version, in a schema of their own.
//!
//! Several gateways may begin at once: one takes the steps, the others wait for it. A step that was
//! released never changes; a new one is a new file and a new line here.

use tokio_postgres::Client;

use super::pool::PgConnection;
use crate::Error;
use crate::memory::MemoryError;

const STEPS: &[&str] = &[include_str!("0001_memory.sql")];

/// Of all locks that programs take in this database, ours: "Tollgate" in ASCII.
const LOCK: i64 = i64::from_be_bytes(*b"Tollgate");

/// The oldest that has all we use.
const OLDEST: i32 = 13;

/// What this database can do beside what all can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VectorSupport {
    /// It has pgvector.
    Indexed,
    /// Near ones are found by their sketches.
    Sketched,
}

/// Makes the tables that are missing, and says what the database can do and where its vectors are.
pub(super) async fn prepare(
    on: &PgConnection,
) -> Result<(VectorSupport, Option<String>), MemoryError> {
    let client = on.client();
    fits(client).await?;
    // Whoever takes a long step must not be interrupted, and others wait for him.
    client.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0").await?;
    let taken = steps(client).await;
    if taken.is_err() {
        let _ = client.batch_execute("ROLLBACK").await;
    }
    taken?;
    let place = extension(client).await?;
    let vectors = if place.is_some() { VectorSupport::Indexed } else { VectorSupport::Sketched };
    Ok((vectors, place))
}

async fn fits(client: &Client) -> Result<(), MemoryError> {
    let select = "SELECT current_setting('server_version_num')::integer / 10000,
                         current_setting('server_encoding')";
    let row = client.query_one(select, &[]).await?;
    let (version, encoding): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
    let wrong = match encoding.as_str() {
        _ if version < OLDEST => {
            format!("PostgreSQL {version} is too old; the minimum is {OLDEST}")
        }
        "UTF8" => return Ok(()),
        _ => format!("its encoding is {encoding}; create the database with `ENCODING 'UTF8'`"),
    };
    Err(MemoryError::Failed(Error::Failed(wrong)))
}

async fn steps(client: &Client) -> Result<(), MemoryError> {
    client.batch_execute("BEGIN").await?;
    client.query("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let is_there = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'tollgate'),
                           to_regclass('tollgate.steps') IS NOT NULL";
    let row = client.query_one(is_there, &[]).await?;
    let (schema, table): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    // Where somebody else made it for us, we may have no right to make one.
    if !schema {
        client.batch_execute("CREATE SCHEMA tollgate").await?;
    }
    if !table {
        let make = "CREATE TABLE tollgate.steps (
                        number integer PRIMARY KEY, taken timestamptz NOT NULL DEFAULT now()
                    )";
        client.batch_execute(make).await?;
    }
    let row = client.query_one("SELECT coalesce(max(number), 0) FROM tollgate.steps", &[]).await?;
    let behind: i32 = row.try_get(0)?;
    let known = i32::try_from(STEPS.len()).unwrap_or(i32::MAX);
    if behind > known {
        let newer = format!(
            "it was written by a newer version of Tollgate (its format is {behind}, this version \
             knows up to {known}); run that version, or use another database"
        );
        return Err(MemoryError::Failed(Error::Failed(newer)));
    }
    for (step, number) in STEPS.iter().zip(1_i32..).filter(|(_, number)| *number > behind) {
        client.batch_execute(step).await?;
        client.execute("INSERT INTO tollgate.steps (number) VALUES ($1)", &[&number]).await?;
    }
    client.batch_execute("COMMIT").await?;
    Ok(())
}

/// The schema of pgvector, which is made if we may.
async fn extension(client: &Client) -> Result<Option<String>, MemoryError> {
    let available = "SELECT FROM pg_available_extensions WHERE name = 'vector'";
    let find = "SELECT quote_ident(nspname) FROM pg_extension
                JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'";
    if client.query_opt(find, &[]).await?.is_none()
        && client.query_opt(available, &[]).await?.is_some()
    {
        // Many may not; then it is as if it were not there.
        let _ = client.batch_execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA tollgate").await;
    }
    let found = client.query_opt(find, &[]).await?;
    Ok(found.map(|row| row.try_get(0)).transpose()?)
}
