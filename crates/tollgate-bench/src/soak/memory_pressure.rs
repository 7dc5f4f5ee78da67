//! R-11: load shedding when memory really runs out in a control group, step by step, and recovery.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::attack::MemoryLimitedGateway;
use super::client::{self, SoakConnection};
use crate::clock;
use crate::config::key_of;
use crate::error::BenchError;
use crate::scenario::BenchContext;
use crate::table::FigureRow;

const MEMORY_LIMIT_BYTES: u64 = 512 << 20;
/// For the gateway to notice, which looks four times in a second.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(10);

/// What is answered at one step: a request, a new stream, a probe. 0: no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ServedStatuses {
    call: u16,
    stream: u16,
    probe: u16,
}

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let limited = MemoryLimitedGateway::start(bench, "ladder").await?;
    let refused = StatusCode::SERVICE_UNAVAILABLE.as_u16();
    let steps = [
        (0, ServedStatuses { call: 200, stream: 200, probe: 200 }),
        (85, ServedStatuses { call: 200, stream: refused, probe: 200 }),
        (92, ServedStatuses { call: refused, stream: refused, probe: 200 }),
    ];
    let mut rows = Vec::new();
    for (percent, expected) in steps {
        let used = limited.group.used_bytes()?;
        let requested = MEMORY_LIMIT_BYTES * percent / 100;
        let ballast = limited.group.hold(requested.saturating_sub(used))?;
        let (seen, took) = wait_for(&limited, expected).await;
        drop(ballast);
        rows.push(FigureRow::check(
            "R-11",
            format!("{percent} % of 512 MiB in use: a call, a new stream, a probe"),
            format!("{} {} {} after {took:.1} s", seen.call, seen.stream, seen.probe),
            &format!("{} {} {}", expected.call, expected.stream, expected.probe),
            seen == expected,
        ));
    }
    let calm = steps[0].1;
    let (seen, took) = wait_for(&limited, calm).await;
    let killed = limited.group.killed_processes()?;
    rows.push(FigureRow::check(
        "R-11",
        "the memory is free again: all are served",
        format!("after {took:.1} s, {killed} killed"),
        "within 10 s",
        seen == calm && killed == 0,
    ));
    limited.gateway.stop().await?;
    Ok(rows)
}

async fn wait_for(
    limited: &MemoryLimitedGateway,
    expected: ServedStatuses,
) -> (ServedStatuses, f64) {
    let began = clock::now();
    loop {
        let seen = look(limited).await;
        let took = clock::now() - began;
        if seen == expected || took > NOTICE_TIMEOUT {
            return (seen, took.as_secs_f64());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn look(limited: &MemoryLimitedGateway) -> ServedStatuses {
    let address = limited.gateway.address;
    let call = async {
        let mut connection = SoakConnection::open(address).await?;
        let sent = client::call("modest", "roll", 1, r#"{"expression":"2d6"}"#);
        Ok::<_, BenchError>(connection.call(&sent).await?.status.as_u16())
    };
    let stream = async {
        let mut connection = SoakConnection::open(address).await?;
        let mut headers = HeaderMap::new();
        let key = HeaderValue::from_str(&key_of("modest")).expect("plain ASCII");
        headers.insert("x-api-key", key);
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert("sec-websocket-version", HeaderValue::from_static("13"));
        let nonce = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        headers.insert("sec-websocket-key", nonce);
        let reply = connection.get("/v1/realtime?model=offline", headers).await?;
        // Whatever else is wrong with it is found out only where there is room for one.
        let is_refused = reply.status == StatusCode::SERVICE_UNAVAILABLE;
        Ok::<_, BenchError>(if is_refused { 503 } else { 200 })
    };
    let probe = async {
        let mut connection = SoakConnection::open(address).await?;
        Ok::<_, BenchError>(connection.get("/healthz", HeaderMap::new()).await?.status.as_u16())
    };
    ServedStatuses {
        call: call.await.unwrap_or(0),
        stream: stream.await.unwrap_or(0),
        probe: probe.await.unwrap_or(0),
    }
}
