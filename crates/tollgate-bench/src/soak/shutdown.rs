//! R-33: SIGTERM under load: seen before it is felt, nobody who was let in is left without an answer.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::client::{self, OpenLoopLoad, SoakConnection};
use super::overload::wait_for_tool;
use super::upstream::WaitingUpstream;
use crate::clock;
use crate::config::GatewayConfig;
use crate::error::BenchError;
use crate::scenario::{BenchContext, http_server};
use crate::table::FigureRow;
use crate::wire::Era;

const GRACE: Duration = Duration::from_secs(2);
const DRAIN: Duration = Duration::from_secs(10);
/// Of the calls that are under way.
const CALL_MS: u64 = 1_500;

pub(super) async fn measure(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    let upstream = WaitingUpstream::start()?;
    let servers = [http_server("up", upstream.address, Era::Modern)];
    let keys = ["k0".to_owned(), "k1".to_owned()];
    let config =
        GatewayConfig::with_keys(&bench.scratch, "soak-shutdown", &keys, "timeout_ms: 60000")?
            .servers(&servers)
            .with("shutdown: { grace_s: 2, drain_s: 10 }\n");
    let mut gateway = bench.start_gateway_on(&config.write()?).await?;
    wait_for_tool(&gateway).await?;
    let address = gateway.address;
    let arguments = format!("{{\"text\":\"x\",\"ms\":{CALL_MS}}}");
    let long: client::MakeRequest =
        Arc::new(move |id| client::execute("k0", "up_wait", id, &arguments));
    let short: client::MakeRequest =
        Arc::new(|id| client::execute("k1", "roll", id, r#"{"expression":"2d6"}"#));
    // Both go on into the grace, and no further: whoever comes after the end is told nothing.
    let span = span.min(Duration::from_secs(10));
    let load = |make, rate, connections| OpenLoopLoad { address, rate, connections, span, make };
    let long = load(long, 20.0, 60);
    let short = load(short, 200.0, 16);
    let ending = async {
        tokio::time::sleep(span - GRACE / 2).await;
        let began = clock::now();
        gateway.terminate();
        let mut duration = None;
        while duration.is_none() && clock::now() - began < GRACE {
            let mut connection = SoakConnection::open(address).await?;
            let reply = connection.get("/readyz", HeaderMap::new()).await?;
            let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            let stops =
                reply.status == StatusCode::SERVICE_UNAVAILABLE && body["state"] == "stopping";
            duration = stops.then(|| clock::now() - began);
        }
        let status = gateway.wait_for_exit(GRACE + DRAIN + Duration::from_secs(5)).await?;
        Ok::<_, BenchError>((duration, status, clock::now() - began))
    };
    let (long, short, ended) = tokio::join!(long.run(), short.run(), ending);
    let (duration, status, took) = ended?;
    let wrong = long.wrong + short.wrong;
    let reasons = [long.reasons.join("; "), short.reasons.join("; ")].concat();
    Ok(vec![
        FigureRow::check(
            "R-33",
            "SIGTERM under load: readiness says `stopping`",
            duration.map_or("never".to_owned(), |it| format!("after {} ms", it.as_millis())),
            "within 500 ms",
            duration.is_some_and(|it| it < Duration::from_millis(500)),
        ),
        FigureRow::check(
            "R-33",
            "calls that were let in and got no answer",
            format!(
                "{wrong} of {} (of those that took {CALL_MS} ms {} served) {reasons}",
                long.total() + short.total(),
                long.served.len()
            ),
            "0",
            wrong == 0 && !long.served.is_empty(),
        ),
        FigureRow::check(
            "R-33",
            "the end",
            format!("{status} after {:.1} s", took.as_secs_f64()),
            "exit 0 within grace and drain",
            status.success(),
        ),
    ])
}
