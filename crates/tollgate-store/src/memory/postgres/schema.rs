//! Schema migrations in PostgreSQL, in a schema of their own.
//!
//! Several gateways may start at once: one migrates, the others wait. A released step never
//! changes; a new step is a new file and a new line here.

use tokio_postgres::Client;

use super::pool::PgConnection;
use crate::Error;
use crate::memory::MemoryError;

const STEPS: &[&str] = &[include_str!("0001_memory.sql"), include_str!("0002_facts_about.sql")];

/// Key of our advisory lock: "Tollgate" in ASCII.
const LOCK: i64 = i64::from_be_bytes(*b"Tollgate");

/// Oldest supported major version.
const OLDEST: i32 = 13;

/// Vector search support of this database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VectorSupport {
    /// With pgvector.
    Indexed,
    /// By SimHash in memory.
    Sketched,
}

/// Runs the missing migrations, and returns the vector support and the schema of its types.
pub(super) async fn prepare(
    on: &PgConnection,
) -> Result<(VectorSupport, Option<String>), MemoryError> {
    let client = on.client();
    fits(client).await?;
    // A long migration must not time out, nor the gateways that wait for it.
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
    let version: i32 = row.try_get(0)?;
    let encoding: String = row.try_get(1)?;
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
    let schema: bool = row.try_get(0)?;
    let table: bool = row.try_get(1)?;
    // If the schema was created for us, we may lack the right to create one.
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

/// The schema of pgvector, which is installed if permitted.
async fn extension(client: &Client) -> Result<Option<String>, MemoryError> {
    let available = "SELECT FROM pg_available_extensions WHERE name = 'vector'";
    let find = "SELECT quote_ident(nspname) FROM pg_extension
                JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'";
    if client.query_opt(find, &[]).await?.is_none()
        && client.query_opt(available, &[]).await?.is_some()
    {
        // Often not permitted; then it counts as absent.
        let _ = client.batch_execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA tollgate").await;
    }
    let found = client.query_opt(find, &[]).await?;
    Ok(found.map(|row| row.try_get(0)).transpose()?)
}
