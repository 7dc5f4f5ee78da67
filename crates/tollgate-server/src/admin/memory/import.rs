//! `POST /api/memory/import`: imports the output of an export, or anything of the same format, line
//! by line as it arrives. Entries that exist already are skipped, so an interrupted import can be
//! repeated.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tollgate_core::memory::{Audience, AuthorTrust, Namespace};
use tollgate_store::memory::{MemoryCounts, MemoryImport, MemoryRecord, RecordContent};

use super::json_lines::{self, ImportPrecedence, MemoryImportDefaults};
use super::{MemoryAdminRequest, api_response, counts_json, in_words, run_to_completion, sum};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::body::json_lines::JsonLinesBody;
use crate::fields::bad;

/// Records written in one batch.
const BATCH: usize = 1_000;
/// The record of earlier entries, used to skip duplicates, is cleared after this many lines. This
/// bounds its memory.
const DEDUP_WINDOW_RECORDS: usize = 100_000;
/// Limit on the namespaces of one import.
const MAX_NAMESPACES: usize = 1_000;

pub(crate) async fn import(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["dry_run"])?;
        admin.check_agent()?;
        let mode = if admin.query.flag("dry_run")? {
            MemoryImportMode::Try
        } else {
            MemoryImportMode::Keep
        };
        let mut lines = JsonLinesBody::of(&sent.headers, body, &front.limits)?;
        let intake = MemoryImportRun::new(admin, mode)?;
        let written = run_to_completion(async move { intake.import_all(&mut lines).await });
        Ok(Json(written.await?).into_response())
    };
    api_response(answered.await)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MemoryImportMode {
    Keep,
    /// Dry run: only reads the lines and reports errors.
    Try,
}

struct MemoryImportRun {
    admin: MemoryAdminRequest,
    mode: MemoryImportMode,
    usual: MemoryImportDefaults,
    imports: BTreeMap<Namespace, MemoryImport>,
    /// Records of one namespace, in order.
    waiting: Vec<MemoryRecord>,
    into: Namespace,
    seen: usize,
    /// Records read, and those of them that are new.
    read: MemoryCounts,
    stored: MemoryCounts,
}

impl MemoryImportRun {
    fn new(admin: MemoryAdminRequest, mode: MemoryImportMode) -> Result<Self, ApiError> {
        let rule = |is_said: bool| {
            if is_said { ImportPrecedence::Everything } else { ImportPrecedence::LineFirst }
        };
        let usual = MemoryImportDefaults {
            namespace: admin.namespace.clone(),
            audience: admin.agent.clone().map_or(Audience::Shared, Audience::Only),
            namespaces: rule(admin.query.text("namespace")?.is_some()),
            audiences: rule(admin.agent.is_some()),
            author: admin.author("import", AuthorTrust::Operator),
            now: admin.memory.now(),
        };
        let into = admin.namespace.clone();
        let read = MemoryCounts::default();
        let stored = MemoryCounts::default();
        let imports = BTreeMap::new();
        let waiting = Vec::new();
        Ok(Self { admin, mode, usual, imports, waiting, into, seen: 0, read, stored })
    }

    async fn import_all(mut self, lines: &mut JsonLinesBody) -> Result<Value, ApiError> {
        let taken = self.take(lines).await;
        // Good lines are kept, even if a later one is bad.
        let flushed = self.flush().await;
        if self.stored != MemoryCounts::default() {
            self.admin.memory.wake();
            self.admin.note("imported", "lines", &in_words(&self.stored)).await;
        }
        match taken.and(flushed.map_err(|why| (lines.number(), why))) {
            Ok(()) => Ok(json!({
                "lines": lines.number(),
                "read": counts_json(&self.read),
                "kept": counts_json(&self.stored),
                "dry_run": self.mode == MemoryImportMode::Try,
            })),
            Err((line, why)) => Err(at_line(line, &why, &self.stored)),
        }
    }

    async fn take(&mut self, lines: &mut JsonLinesBody) -> Result<(), (u64, ApiError)> {
        loop {
            let line = lines.next().await.map_err(|why| (lines.number() + 1, why))?;
            let Some(line) = line else { return Ok(()) };
            let number = lines.number();
            let (namespace, record) = match json_lines::read(&line, &self.usual) {
                Ok(read) => read,
                Err(why) => return Err((number, why)),
            };
            self.read = sum(self.read, count_record(&record.content));
            if self.mode == MemoryImportMode::Try {
                continue;
            }
            if namespace != self.into || self.waiting.len() >= BATCH {
                self.flush().await.map_err(|why| (number, why))?;
                self.into = namespace;
            }
            self.waiting.push(record);
        }
    }

    async fn flush(&mut self) -> Result<(), ApiError> {
        let records = std::mem::take(&mut self.waiting);
        if records.is_empty() {
            return Ok(());
        }
        self.seen += records.len();
        if self.seen > DEDUP_WINDOW_RECORDS {
            (self.seen, self.imports) = (0, BTreeMap::new());
        }
        if self.imports.len() >= MAX_NAMESPACES && !self.imports.contains_key(&self.into) {
            return Err(bad(format!("an import has at most {MAX_NAMESPACES} namespaces")));
        }
        let store = self.admin.memory.store();
        let import = self.imports.entry(self.into.clone());
        let import = import.or_insert_with(|| MemoryImport::new(store, self.into.clone()));
        self.stored = sum(self.stored, import.take(records).await?);
        Ok(())
    }
}

fn count_record(content: &RecordContent) -> MemoryCounts {
    let none = MemoryCounts::default();
    match content {
        RecordContent::Utterance(_) => MemoryCounts { entries: 1, ..none },
        RecordContent::Summary { .. } => MemoryCounts { sessions: 1, ..none },
        RecordContent::Fact(_) => MemoryCounts { facts: 1, ..none },
        RecordContent::Entity(_) => MemoryCounts { entities: 1, ..none },
        RecordContent::Relation(_) => MemoryCounts { relations: 1, ..none },
    }
}

/// Adds the line number and the counts of what was kept before.
fn at_line(line: u64, why: &ApiError, counts: &MemoryCounts) -> ApiError {
    let detail = format!("line {line}: {}", why.detail);
    let more = Map::from_iter([
        ("line".to_owned(), json!(line)),
        ("kept".to_owned(), counts_json(counts)),
    ]);
    let error = ApiError::with_detail(why.status, why.code, detail).with(more);
    match why.retry_after {
        Some(pause) => error.later(pause),
        None => error,
    }
}
