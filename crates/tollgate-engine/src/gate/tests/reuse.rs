//! Calls that may be made twice, or not at all: kept, shared, repeated, late.

use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::call::ResultSource;
use tollgate_core::id::ToolName;
use tollgate_core::tool::ToolOverride;

use super::*;
use crate::caller::{CacheFreshness, CallPurpose, LateResultPolicy, OverflowPolicy};

mod cached_answers;
mod crash;
mod hedging;
mod late;
mod measuring;
mod retries;
mod single_flight;

/// A gate whose tool `a` is idempotent and whose answers are good for a minute; `b` is only
/// idempotent. Counts the calls that reach the server.
struct Reusing {
    test: TestGate,
    calls: Arc<AtomicUsize>,
}

impl std::ops::Deref for Reusing {
    type Target = TestGate;

    fn deref(&self) -> &TestGate {
        &self.test
    }
}

/// What the server does with the so-manieth call.
type Reaction = fn(usize, Seen) -> BoxFuture<'static, Result<Answer, BackendError>>;

async fn reusing(era: Era, react: Reaction) -> Reusing {
    reusing_of(era, |_, _| {}, react).await
}

async fn reusing_of(
    era: Era,
    change: impl FnOnce(&mut ServerRules, &mut Vec<Value>),
    react: Reaction,
) -> Reusing {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let script = move |seen| react(count.fetch_add(1, Ordering::Relaxed) + 1, seen);
    reusing_by(era, change, calls, script).await
}

/// The same, with a script that counts for itself.
async fn reusing_by<F>(
    era: Era,
    change: impl FnOnce(&mut ServerRules, &mut Vec<Value>),
    calls: Arc<AtomicUsize>,
    script: F,
) -> Reusing
where
    F: Fn(Seen) -> BoxFuture<'static, Result<Answer, BackendError>> + Send + Sync + 'static,
{
    let terms = |rules: &mut ServerRules, tools: &mut Vec<Value>| {
        let idempotent = ToolOverride { idempotent: Some(true), ..ToolOverride::default() };
        let cacheable = Some(Duration::from_secs(60));
        let overrides = ToolOverride { cacheable, ..idempotent.clone() };
        rules.tools = [(ToolName::new("a"), overrides), (ToolName::new("b"), idempotent)].into();
        change(rules, tools);
    };
    Reusing { test: gate_of(era, terms, script).await, calls }
}

/// Answers with the number of the call, after so many milliseconds as it says.
fn numbered(number: usize, seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
    Box::pin(async move {
        let wait = seen.params["arguments"]["n"].as_u64().unwrap_or_default();
        tokio::time::sleep(Duration::from_millis(wait)).await;
        Ok(text(&number.to_string()))
    })
}

impl Reusing {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// The turn of `ada`, which ends after so many milliseconds.
    fn short(&self, milliseconds: u64) -> Turn {
        let wall = Deadline::after(SystemClock.now(), Duration::from_millis(milliseconds));
        Turn { deadline: Some(wall), ..self.turn() }
    }

    async fn ask(&self, turn: &Turn, params: &str) -> String {
        describe_reply(&self.gate.call(turn, request(params), Caller::silent(&nobody())).await)
    }

    /// Calls and shows what it says, and what of the cache.
    async fn show(&self, params: &str, caller: Caller<'_>) -> String {
        describe(&self.call(params, caller).await)
    }

    /// Lets tasks that were told to end do so.
    async fn settle(&self) {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
}

/// `ok 1, hit at 250 of 60000 ms`.
fn describe(reply: &Result<Reply, CallError>) -> String {
    let text = describe_reply(reply);
    let Ok(Reply::Tool(outcome)) = reply else { return text };
    let result: Value = serde_json::from_str(outcome.result.get()).unwrap();
    let mark = &result["_meta"]["dev.tollgate/cache"];
    let ttl = &mark["ttlMs"];
    match (mark["hit"].as_bool(), outcome.source) {
        (None, ResultSource::Fresh) => text,
        (Some(false), ResultSource::Fresh) => format!("{text}, good for {ttl} ms"),
        (Some(true), ResultSource::Cached) => {
            format!("{text}, hit at {} of {ttl} ms", mark["ageMs"])
        }
        other => panic!("{other:?}"),
    }
}

fn fresh(client: &ClientFacts) -> Caller<'_> {
    Caller { freshness: CacheFreshness::Fresh, ..Caller::silent(client) }
}

async fn pass(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}
