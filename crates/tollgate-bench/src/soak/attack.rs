//! The gateway under attack, in a control group of 512 MiB as in a container: a client that behaves
//! well sees nothing of it. The same attack is made for seconds by a test of the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tollgate_testkit::attack::{Attack, AttackAnswerCounts, PacedClient, PacedReport};
use tollgate_testkit::cgroup::MemoryCgroup;

use crate::clock;
use crate::config::{GatewayConfig, key_of};
use crate::error::BenchError;
use crate::process::MeasuredProcess;
use crate::scenario::BenchContext;
use crate::table::{FigureLimit, FigureRow};

const LIMIT_BYTES: u64 = 512 << 20;
/// Before and after the attack the client calls for so long.
const CALM_SPAN: Duration = Duration::from_secs(3);
/// How long memory may take to come back.
const RECOVERY: Duration = Duration::from_secs(10);
const MEBIBYTE: f64 = (1 << 20) as f64;

/// A gateway in a group of its own, with keys for one who attacks and one who does not.
pub(super) struct MemoryLimitedGateway {
    pub(super) gateway: MeasuredProcess,
    pub(super) group: MemoryCgroup,
}

impl MemoryLimitedGateway {
    pub(super) async fn start(bench: &BenchContext, name: &str) -> Result<Self, BenchError> {
        let keys = ["greedy".to_owned(), "modest".to_owned()];
        let config = GatewayConfig::with_keys(&bench.scratch, name, &keys, "timeout_ms: 60000")?;
        let group = MemoryCgroup::new("tollgate-soak", LIMIT_BYTES)?;
        let command = group.command(&bench.gateway);
        let gateway = MeasuredProcess::gateway_by(command, &config.write()?).await?;
        Ok(Self { gateway, group })
    }

    fn resident_mebibytes(&self) -> Result<f64, BenchError> {
        Ok(self.gateway.usage()?.resident_bytes as f64 / MEBIBYTE)
    }

    fn modest_client(&self) -> PacedClient {
        PacedClient {
            address: self.gateway.address,
            key: key_of("modest"),
            calls_per_second: 100,
            connections: 10,
        }
    }
}

/// On a thread of its own, until it is told to stop.
struct BackgroundThread<T> {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<T>,
}

impl<T: Send + 'static> BackgroundThread<T> {
    fn start(work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        Self { stop, thread: thread::spawn(move || work(&told)) }
    }

    /// Waits without keeping the runtime from its work.
    async fn finish(self) -> Result<T, BenchError> {
        self.stop.store(true, Ordering::Relaxed);
        let joined = tokio::task::spawn_blocking(move || self.thread.join());
        let joined = joined.await.map_err(|error| BenchError::Process(error.to_string()))?;
        joined.map_err(|_| BenchError::Process("a client of the soak panicked".to_owned()))
    }
}

fn client(limited: &MemoryLimitedGateway) -> BackgroundThread<PacedReport> {
    let client = limited.modest_client();
    BackgroundThread::start(move |stop| client.run(stop))
}

pub(super) async fn measure(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    let limited = MemoryLimitedGateway::start(bench, "attack").await?;
    let warm = client(&limited);
    tokio::time::sleep(CALM_SPAN).await;
    warm.finish().await?;
    let before = limited.resident_mebibytes()?;

    let attack = Attack::full(limited.gateway.address, &key_of("greedy"));
    let attacking = BackgroundThread::start(move |stop| attack.run(stop));
    let calling = client(&limited);
    tokio::time::sleep(span).await;
    let seen = calling.finish().await?;
    let answers = attacking.finish().await?;

    let over = clock::now();
    let mut after = limited.resident_mebibytes()?;
    while after >= 1.5 * before && clock::now() - over < RECOVERY {
        tokio::time::sleep(Duration::from_millis(100)).await;
        after = limited.resident_mebibytes()?;
    }
    let took = (clock::now() - over).as_secs_f64();
    let peak = limited.gateway.usage()?.peak_bytes as f64 / MEBIBYTE;
    let killed = limited.group.killed_processes()?;
    limited.gateway.stop().await?;

    let what = format!("{:.0} s of attack beside 100 calls/s", span.as_secs_f64());
    let render = |answers: &AttackAnswerCounts| {
        let each = answers.iter().map(|(status, count)| format!("{count}×{status}"));
        each.collect::<Vec<_>>().join(" ")
    };
    let p99 = seen.quantile(0.99).as_secs_f64() * 1e3;
    let p50 = seen.quantile(0.5).as_secs_f64() * 1e3;
    Ok(vec![
        FigureRow::check(
            "attack",
            format!("{what}: failures of the client"),
            format!("{} of {} {}", seen.failures, seen.calls, seen.reasons.join("; ")),
            "0",
            seen.failures == 0 && seen.calls > 0,
        ),
        FigureRow::at_most(
            "attack",
            format!("{what}: p99 of the client"),
            p99,
            FigureLimit { most: 100.0, unit: "ms", digits: 1 },
        )
        .with_note(&format!("p50 {p50:.1}")),
        FigureRow::check(
            "attack",
            "the gateway lives in 512 MiB".to_owned(),
            format!("{killed} killed, peak {peak:.0} MiB, attackers got {}", render(&answers)),
            "0 killed",
            killed == 0,
        ),
        FigureRow::at_most(
            "attack",
            "memory 10 s after, of what it was".to_owned(),
            after / before,
            FigureLimit { most: 1.5, unit: "×", digits: 2 },
        )
        .with_note(&format!("{before:.0} → {after:.0} MiB after {took:.1} s")),
    ])
}

/// What each kind of slow client sends before it goes on byte by byte.
const KINDS: [(&str, &str); 4] = [
    ("headers", "POST /v1/tools/execute HTTP/1.1\r\nhost: localhost\r\nx-a: "),
    (
        "body",
        "POST /v1/tools/execute HTTP/1.1\r\nhost: localhost\r\nx-api-key: KEY\r\n\
         content-type: application/json\r\ncontent-length: 100000\r\n\r\n{",
    ),
    (
        "WebSocket handshake",
        "GET /v1/realtime?model=offline HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n\
         connection: upgrade\r\nx-a: ",
    ),
    ("reading", "GET /v1/tools HTTP/1.1\r\nhost: localhost\r\nx-api-key: KEY\r\n\r\n"),
];
const OF_EACH: usize = 2_000;

/// two thousand of each kind, and an honest client beside them.
pub(super) async fn slow_clients(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    let limited = MemoryLimitedGateway::start(bench, "slow-clients").await?;
    let calling = client(&limited);
    let mut slow = Vec::new();
    let mut refused = 0;
    for (kind, text) in KINDS {
        let text = text.replace("KEY", &key_of("greedy"));
        // Those who only read ask for a lot.
        let text = if kind == "reading" { text.repeat(20) } else { text };
        for _ in 0..OF_EACH {
            let Ok(mut stream) = TcpStream::connect(limited.gateway.address).await else {
                refused += 1;
                continue;
            };
            match stream.write_all(text.as_bytes()).await {
                Ok(()) => slow.push((kind == "reading", stream)),
                Err(_) => refused += 1,
            }
        }
    }
    let until = clock::now() + span;
    while clock::now() < until {
        for (reads, stream) in &mut slow {
            let mut byte = [0];
            // Some were closed by now: that is the gateway's answer to them.
            if *reads {
                let read = stream.read(&mut byte);
                let _ = tokio::time::timeout(Duration::from_micros(50), read).await;
            } else {
                let _ = stream.try_write(b"x");
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let seen = calling.finish().await?;
    let killed = limited.group.killed_processes()?;
    drop(slow);
    limited.gateway.stop().await?;
    let kinds = KINDS.map(|(kind, _)| kind).join(", ");
    Ok(vec![
        FigureRow::check(
            "R-12",
            format!("{OF_EACH} slow sockets of each kind ({kinds}): failures of an honest client"),
            format!("{} of {} {}", seen.failures, seen.calls, seen.reasons.join("; ")),
            "0",
            seen.failures == 0 && seen.calls > 0 && killed == 0,
        )
        .with_note(&format!("{refused} slow ones were refused, {killed} killed")),
        FigureRow::at_most(
            "R-12",
            "the same: p99".to_owned(),
            seen.quantile(0.99).as_secs_f64() * 1e3,
            FigureLimit { most: 100.0, unit: "ms", digits: 1 },
        ),
    ])
}
