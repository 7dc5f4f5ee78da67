//! R-08 and R-10: load shedding at ten times of what a server can do, and fairness when one key
//! wants it all.

use std::sync::Arc;
use std::time::Duration;

use super::client::{self, AnswerTally, MakeRequest, OpenLoopLoad, closed_loop};
use super::upstream::WaitingUpstream;
use crate::clock;
use crate::config::GatewayConfig;
use crate::error::BenchError;
use crate::process::MeasuredProcess;
use crate::scenario::{BenchContext, http_server};
use crate::serve::ServerThread;
use crate::table::{FigureLimit, FigureRow};
use crate::wire::Era;

const KEYS: u64 = 16;
/// Of one call at the server; so many are made there at the same time.
const CALL_MS: u64 = 500;
const AT_ONCE: usize = 64;
const MEBIBYTE: f64 = (1 << 20) as f64;
/// When everything has to be as before.
const NORMAL_WITHIN: Duration = Duration::from_secs(5);

async fn start(
    bench: &BenchContext,
    name: &str,
    keys: u64,
) -> Result<(MeasuredProcess, ServerThread), BenchError> {
    let upstream = WaitingUpstream::start()?;
    let servers = [http_server("up", upstream.address, Era::Modern)];
    let names: Vec<String> = (0..keys).map(|at| format!("k{at}")).collect();
    let config = GatewayConfig::with_keys(&bench.scratch, name, &names, "timeout_ms: 60000")?;
    let gateway = bench.start_gateway_on(&config.servers(&servers).write()?).await?;
    wait_for_tool(&gateway).await?;
    Ok((gateway, upstream))
}

/// Until the server's tool can be called.
pub(super) async fn wait_for_tool(gateway: &MeasuredProcess) -> Result<(), BenchError> {
    crate::error::within(Duration::from_secs(20), "the server", async {
        loop {
            let mut connection = client::SoakConnection::open(gateway.address).await?;
            let sent = client::call("k0", "up_wait", 1, r#"{"text":"ready"}"#);
            let reply = connection.call(&sent).await?;
            if crate::wire::result_text(1, &reply.body).is_some_and(|it| it.contains("ready")) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
}

fn wait_requests(keys: u64) -> MakeRequest {
    let arguments = format!("{{\"text\":\"x\",\"ms\":{CALL_MS}}}");
    Arc::new(move |id| client::execute(&format!("k{}", id % keys), "up_wait", id, &arguments))
}

fn rolling(key: &'static str) -> MakeRequest {
    Arc::new(move |id| client::execute(key, "roll", id, r#"{"expression":"2d6"}"#))
}

pub(super) async fn measure(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    let (gateway, _upstream) = start(bench, "overload", KEYS).await?;
    let quiet = OpenLoopLoad {
        address: gateway.address,
        rate: 100.0,
        connections: 4,
        span: Duration::from_secs(3),
        make: rolling("k0"),
    };
    let normal = quiet.run().await.served_quantile(0.99);
    let peak_span = Duration::from_secs(5);
    let peak = closed_loop(gateway.address, AT_ONCE, peak_span, wait_requests(KEYS)).await;
    let peak_rate = peak.served.len() as f64 / peak_span.as_secs_f64();
    let base = gateway.usage()?.resident_bytes as f64 / MEBIBYTE;

    let storm = OpenLoopLoad {
        address: gateway.address,
        rate: peak_rate * 10.0,
        connections: 900,
        span,
        make: wait_requests(KEYS),
    };
    let tally = storm.run().await;
    let over = clock::now();
    let mut recovered = f64::MAX;
    while recovered > (normal * 2.0).max(normal + 5.0) && clock::now() - over < NORMAL_WITHIN {
        let again = OpenLoopLoad { span: Duration::from_millis(500), make: rolling("k0"), ..quiet };
        recovered = again.run().await.served_quantile(0.99);
    }
    let usage = gateway.usage()?;
    gateway.stop().await?;

    let storm = OverloadReport {
        rate: storm.rate,
        span,
        peak_rate,
        more_mebibytes: usage.peak_bytes as f64 / MEBIBYTE - base,
        normal,
        recovered,
    };
    Ok(storm.rows(&tally))
}

/// What an overload came to, beside how its requests were answered. Latencies in milliseconds.
struct OverloadReport {
    rate: f64,
    span: Duration,
    peak_rate: f64,
    more_mebibytes: f64,
    normal: f64,
    recovered: f64,
}

impl OverloadReport {
    fn rows(&self, tally: &AnswerTally) -> Vec<FigureRow> {
        let Self { rate, span, peak_rate, more_mebibytes, normal, recovered } = *self;
        let goodput = tally.served.len() as f64 / span.as_secs_f64();
        let what = format!("10 × capacity ({:.0}/s) for {:.0} s", rate, span.as_secs_f64());
        vec![
            FigureRow::check(
                "R-08",
                format!("{what}: answers other than 2xx, 429 or 503 with retry-after"),
                format!(
                    "{} of {} ({} served, {} shed) {}",
                    tally.wrong,
                    tally.total(),
                    tally.served.len(),
                    tally.shed.len(),
                    tally.reasons.join("; ")
                ),
                "0, and some shed",
                tally.wrong == 0 && !tally.shed.is_empty(),
            ),
            FigureRow::at_most(
                "R-08",
                "the same: p99 of refusals".to_owned(),
                tally.shed_quantile(0.99),
                FigureLimit { most: 100.0, unit: "ms", digits: 1 },
            )
            .with_note(&format!("p50 {:.1}", tally.shed_quantile(0.5))),
            FigureRow::check(
                "R-08",
                "the same: served, of the peak without overload",
                format!("{goodput:.0}/s of {peak_rate:.0}/s"),
                "≥ 0.8 ×",
                goodput >= 0.8 * peak_rate,
            ),
            FigureRow::at_most(
                "R-08",
                "the same: memory beyond what it was".to_owned(),
                more_mebibytes,
                FigureLimit { most: 256.0, unit: "MiB", digits: 0 },
            ),
            FigureRow::check(
                "R-08",
                "p99 of small calls within 5 s after",
                format!("{recovered:.1} ms, before {normal:.1} ms"),
                "≤ 2 × before",
                recovered <= (normal * 2.0).max(normal + 5.0),
            ),
        ]
    }
}

/// R-10: key 0 has two hundred calls under way all the time, key 1 makes ten in a second.
pub(super) async fn fairness(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    const GREEDY: usize = 200;
    let (gateway, _upstream) = start(bench, "fairness", 2).await?;
    let modest = |make: MakeRequest, span| OpenLoopLoad {
        address: gateway.address,
        rate: 10.0,
        connections: 4,
        span,
        make,
    };
    let same_server: MakeRequest =
        Arc::new(|id| client::execute("k1", "up_wait", id, r#"{"text":"x","ms":50}"#));
    let alone = modest(Arc::clone(&same_server), span / 4).run().await;
    let greedy: MakeRequest =
        Arc::new(|id| client::execute("k0", "up_wait", id, r#"{"text":"x","ms":50}"#));
    let beside = modest(same_server, span);
    let (flood, seen) =
        tokio::join!(closed_loop(gateway.address, GREEDY, span, greedy), beside.run());
    gateway.stop().await?;
    let share = seen.served.len() as f64 / seen.total().max(1) as f64;
    let before = alone.served_quantile(0.99);
    let beside = seen.served_quantile(0.99);
    Ok(vec![
        FigureRow::check(
            "R-10",
            format!("a key at 10/s beside one with {GREEDY} calls at a time: served"),
            format!(
                "{:.2} % of {}, the other {} served and {} refused {}",
                share * 100.0,
                seen.total(),
                flood.served.len(),
                flood.shed.len(),
                seen.reasons.join("; ")
            ),
            "≥ 99.9 %",
            share >= 0.999,
        ),
        FigureRow::at_most(
            "R-10",
            "the same: p99 on the same server".to_owned(),
            beside,
            FigureLimit { most: before * 2.0, unit: "ms", digits: 1 },
        )
        .with_note(&format!("{before:.1} alone")),
    ])
}
