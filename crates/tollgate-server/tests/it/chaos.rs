//! Thousands of turns of live sessions with random faults: interruptions; calls that are slow,
//! repeated, unknown or cut off; racing responses; changes of tools and tiers; unannounced ends;
//! clients that send wrong messages, flood, vanish and reconnect. At the end every call has exactly
//! one answer or was cancelled, and no task or permit is left.
//!
//! `TOLLGATE_SEED` repeats a run, except for the order of network events.
#![expect(clippy::print_stdout, reason = "the seed of a run that failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tollgate_core::budget::Tier;
use tollgate_core::glob::Glob;
use tollgate_engine::builtin::{
    self, BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError,
};
use tollgate_mcp::offload;
use tollgate_testkit::realtime::{
    ChaosOdds, RealtimeTestTools, SeededRng, TestCallLedger, gemini, openai,
};

use crate::framing::still_works;
use crate::live_gateway::{Living, Speaks};
use crate::stage::Setup;

const TOOLS: RealtimeTestTools = RealtimeTestTools {
    reads: &["look", "peer"],
    writes: &["keep", "send"],
    own: "clients_own_tool",
};
const TURNS: u64 = 1_250;
const SESSIONS: usize = 24;
const TURNS_OF_A_SESSION: u64 = 25;
/// Of the whole run, even on a machine that has much else to do; nextest waits a little longer.
const MAX_DURATION: Duration = Duration::from_secs(150);
/// For what is left over to go.
const SETTLES: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_sessions_in_which_everything_goes_wrong_lose_no_call() {
    run(Speaks::OpenAi, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_sessions_with_slow_tools_lose_no_call() {
    run(Speaks::OpenAi, 400).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gemini_sessions_in_which_everything_goes_wrong_lose_no_call() {
    run(Speaks::Gemini, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gemini_sessions_with_slow_tools_lose_no_call() {
    run(Speaks::Gemini, 400).await;
}

/// `slowest_ms`: of tools; the tiers' walls stand at half a second and above.
async fn run(speaks: Speaks, slowest_ms: u64) {
    let seed = seed();
    println!("TOLLGATE_SEED={seed}");
    let ledger = Arc::new(TestCallLedger::default());
    let tools = builtin::Server { name: "chaos", tools: tools(&ledger) };
    let setup = Setup { tools: vec![tools], ceiling: Some(Tier::Deep), ..Setup::default() };
    let living = Arc::new(Living::with(setup).await);
    // All threads of the server are there once it has answered.
    still_works(&living.stage).await;
    // Large messages start threads of their own, whose runtime keeps a socket for signals.
    offload::offload(async {}).await;
    let sockets = open_sockets();
    let mut chance = SeededRng::new(seed);
    let odds = move |chance: &mut SeededRng| ChaosOdds {
        seed: chance.bits(),
        turns: TURNS_OF_A_SESSION,
        calls: 500,
        barge_ins: 200,
        repeats: 50,
        breaks: 8,
        garbage: 20,
        unknown: 50,
        huge: 256 << 10,
        slowest_ms: slowest_ms.max(30),
        vanishes: 1,
    };
    let run = Run { living: Arc::clone(&living), ledger: Arc::clone(&ledger), speaks };
    let mut providers = JoinSet::new();
    let served = run.clone();
    let mut branch = chance.branch();
    providers.spawn(async move { served.provide(move || odds(&mut branch)).await });
    let mut callers = JoinSet::new();
    for _ in 0..SESSIONS {
        let run = run.clone();
        let mut branch = chance.branch();
        callers.spawn(async move { run.call(move || odds(&mut branch)).await });
    }
    let mut meddling = JoinSet::new();
    meddling.spawn(run.clone().meddle());
    if tokio::time::timeout(MAX_DURATION, callers.join_all()).await.is_err() {
        ledger.fault(format!("some sessions do not end: {:?}", ledger.sums()));
    }
    meddling.abort_all();
    // Each thread for sessions keeps a socket for signals.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Calls of a session whose client has gone are excused when its provider has noticed it.
    let left = settle(&living, sockets + threads).await;
    let faults = ledger.faults();
    let sums = ledger.sums();
    println!("{sums:?}");
    assert!(
        faults.is_empty(),
        "TOLLGATE_SEED={seed}: {} faults: {:#?}",
        faults.len(),
        &faults[..faults.len().min(10)]
    );
    assert!(left.is_empty(), "TOLLGATE_SEED={seed}: {left:?}");
    providers.abort_all();
    assert!(sums.turns >= TURNS && sums.ran > 0 && sums.answered > 0, "{sums:?}");
}

#[expect(clippy::disallowed_methods, reason = "how somebody who saw a fault repeats it")]
fn seed() -> u64 {
    let given = std::env::var("TOLLGATE_SEED").ok().and_then(|it| it.parse().ok());
    given.unwrap_or_else(rand::random)
}

#[derive(Clone)]
struct Run {
    living: Arc<Living>,
    ledger: Arc<TestCallLedger>,
    speaks: Speaks,
}

impl Run {
    /// Answers whoever the gateway sends.
    async fn provide(self, mut odds: impl FnMut() -> ChaosOdds + Send) {
        let mut sessions = JoinSet::new();
        for name in 1.. {
            let wire = self.living.accept().await;
            let ledger = Arc::clone(&self.ledger);
            let odds = odds();
            match self.speaks {
                Speaks::Gemini => {
                    let provider = gemini::GeminiTestProvider::new(wire, name, ledger, TOOLS, odds);
                    sessions.spawn(provider.run());
                }
                Speaks::OpenAi | Speaks::Deepgram => {
                    let name = name.to_string();
                    let provider = openai::OpenAiTestProvider::new(wire, name, ledger, TOOLS, odds);
                    sessions.spawn(provider.run());
                }
            }
            while sessions.try_join_next().is_some() {}
        }
    }

    /// Calls again and again, until there were enough turns.
    async fn call(self, mut odds: impl FnMut() -> ChaosOdds + Send) {
        while self.ledger.turns() < TURNS {
            let wire = match self.living.dial(self.speaks, &[]).await {
                Ok(wire) => wire,
                Err(refused) => {
                    self.ledger.fault(format!("a client was turned away: {refused:?}"));
                    return;
                }
            };
            let ledger = Arc::clone(&self.ledger);
            let odds = odds();
            match self.speaks {
                Speaks::Gemini => {
                    gemini::GeminiTestClient::new(wire, "live", ledger, TOOLS, odds).run().await
                }
                Speaks::OpenAi | Speaks::Deepgram => {
                    openai::OpenAiTestClient::new(wire, ledger, TOOLS, odds).run().await
                }
            };
        }
    }

    /// Takes tools away and gives them back.
    async fn meddle(self) {
        let stage = &self.living.stage;
        let mut settings = stage.settings.clone();
        loop {
            for patterns in [&["look", "keep"][..], &["*"]] {
                tokio::time::sleep(Duration::from_millis(700)).await;
                for agent in &mut settings.agents {
                    agent.tools = patterns.iter().map(|it| Glob::new(*it)).collect();
                }
                stage.running.reconfigure(&settings, || {}).await;
            }
        }
    }
}

/// Waits until no session and no socket is left. Returns what is.
async fn settle(living: &Living, sockets: usize) -> Vec<String> {
    let gone = async {
        while open_sockets() > sockets {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    if tokio::time::timeout(SETTLES, gone).await.is_err() {
        let open = format!("{} sockets instead of {sockets}", open_sockets());
        return std::iter::once(open).chain(left_over(living).await).collect();
    }
    // A socket is gone a moment before its session is.
    let mut left = Vec::new();
    for _ in 0..100 {
        left = left_over(living).await;
        if left.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    left
}

/// Figures that should be at rest and are not.
async fn left_over(living: &Living) -> Vec<String> {
    let metrics = living.stage.request("GET", "/metrics").by_admin().send().await.text;
    let lines = metrics.lines().filter(|it| it.contains("in_flight") || it.contains("sessions"));
    let lines = lines.filter(|line| !line.starts_with('#') && !line.contains("_total"));
    let is_busy = |line: &&str| {
        let own = if line.starts_with("tollgate_requests_in_flight") { "1" } else { "0" };
        line.rsplit(' ').next() != Some(own)
    };
    lines.filter(is_busy).map(str::to_owned).collect()
}

/// Of this process.
fn open_sockets() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let is_socket = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path()).is_ok_and(|it| it.to_string_lossy().starts_with("socket:"))
    };
    open.filter(is_socket).count()
}

fn tools(ledger: &Arc<TestCallLedger>) -> Vec<Box<dyn BuiltinTool>> {
    let tool = |name, hint| {
        Box::new(Chaotic { name, hint, ledger: Arc::clone(ledger), calls: AtomicU64::new(0) })
            as Box<dyn BuiltinTool>
    };
    let reads = TOOLS.reads.iter().map(|name| tool(*name, true));
    reads.chain(TOOLS.writes.iter().map(|name| tool(*name, false))).collect()
}

/// Takes its time, and says in the ledger that it ran.
struct Chaotic {
    name: &'static str,
    /// Whether it only reads.
    hint: bool,
    ledger: Arc<TestCallLedger>,
    calls: AtomicU64,
}

#[async_trait]
impl BuiltinTool for Chaotic {
    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "description": "A tool for tests",
            "inputSchema": {
                "type": "object",
                "properties": {"token": {"type": "string"}, "ms": {"type": "integer"}},
                "required": ["token"],
            },
            "annotations": {"readOnlyHint": self.hint, "destructiveHint": false},
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let token = arguments["token"].as_str().unwrap_or_default();
        // Who measures how fast it is has no token.
        if token.contains('_') {
            self.ledger.record_run(token);
        }
        let ms = arguments.get("ms").and_then(Value::as_u64).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        match self.calls.fetch_add(1, Ordering::Relaxed) % 50 {
            0 => panic!("a tool that panics"),
            at => Ok(BuiltinReply { text: format!("number {at}"), structured: None }),
        }
    }
}
