//! R-36 and S-13: many clients whose requests all have the same id, a server that dawdles and fails,
//! clients that go away: each gets its own answer, once, and the audit trail has one row for each call.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use tokio::task::JoinSet;

use super::client::{self, SoakConnection};
use super::overload::wait_for_tool;
use super::upstream::WaitingUpstream;
use crate::clock;
use crate::config::GatewayConfig;
use crate::error::{BenchError, within};
use crate::process::MeasuredProcess;
use crate::scenario::{BenchContext, http_server};
use crate::table::FigureRow;
use crate::wire::{self, Era};

const CLIENTS: u64 = 200;
/// From then on a million calls have to be made.
const LONG_RUN: Duration = Duration::from_secs(1_400);
/// For rows that are still being written.
const AUDIT_FLUSH_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
struct CallCounters {
    sent: AtomicU64,
    answered: AtomicU64,
    /// With the token of another call, or none.
    mismatched: AtomicU64,
    /// By the client.
    cancelled: AtomicU64,
    /// The gateway broke off.
    lost: AtomicU64,
}

pub(super) async fn measure(
    bench: &BenchContext,
    span: Duration,
) -> Result<Vec<FigureRow>, BenchError> {
    let upstream = WaitingUpstream::start()?;
    let servers = [http_server("up", upstream.address, Era::Modern)];
    let keys: Vec<String> = (0..CLIENTS).map(|at| format!("k{at}")).collect();
    let config = GatewayConfig::with_keys(&bench.scratch, "ledger", &keys, "timeout_ms: 60000")?
        .servers(&servers);
    let token = config.data().join("admin.token");
    let gateway = bench.start_gateway_on(&config.write()?).await?;
    wait_for_tool(&gateway).await?;
    let admin = std::fs::read_to_string(token)?.trim().to_owned();
    let before = rows_of_calls(&gateway, &admin, 0).await?;
    let first = before.last;

    let ledger = Arc::new(CallCounters::default());
    let until = clock::now() + span;
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = SameIdClient { number, address: gateway.address, ledger: Arc::clone(&ledger) };
        clients.spawn(client.run(until));
    }
    while clients.join_next().await.is_some() {}
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let sent = count(&ledger.sent);
    let answered = count(&ledger.answered);
    let cancelled = count(&ledger.cancelled);
    let lost = count(&ledger.lost);
    let mismatched = count(&ledger.mismatched);

    let rows = within(AUDIT_FLUSH_TIMEOUT, "the audit rows", async {
        loop {
            let rows = rows_of_calls(&gateway, &admin, first).await?;
            if rows.count >= answered {
                return Ok(rows);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await?;
    gateway.stop().await?;
    let is_long = span >= LONG_RUN;
    Ok(vec![
        FigureRow::check(
            "S-13",
            format!("{CLIENTS} clients, every id 0: answers of another call"),
            format!("{mismatched} of {answered}"),
            "0",
            mismatched == 0 && answered > 0,
        ),
        FigureRow::check(
            "R-36",
            "calls without exactly one answer, faults and cancels beside them",
            format!("{lost} of {sent} ({cancelled} cancelled by the client)"),
            "0",
            lost == 0 && answered + cancelled == sent,
        ),
        FigureRow::check(
            "R-36",
            "calls made",
            format!("{sent} in {} s", span.as_secs()),
            if is_long { "≥ 1000000" } else { "> 0 (≥ 1000000 in runs of 8 h)" },
            sent >= if is_long { 1_000_000 } else { 1 },
        ),
        FigureRow::check(
            "R-36",
            "audit rows of these calls",
            format!("{}, {} of them twice", rows.count, rows.doubled),
            "one for each answer, at most one for each call",
            rows.doubled == 0 && (answered..=sent).contains(&rows.count),
        ),
    ])
}

struct SameIdClient {
    number: u64,
    address: SocketAddr,
    ledger: Arc<CallCounters>,
}

impl SameIdClient {
    async fn run(self, until: Instant) {
        // Each client has its own sequence, the same in every run.
        let mut random = self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let key = format!("k{}", self.number);
        let mut connection = None;
        let mut count = 0_u64;
        while clock::now() < until {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            count += 1;
            let token = format!("token-{}-{count}", self.number);
            let fails = random.is_multiple_of(40);
            let arguments =
                format!("{{\"text\":\"{token}\",\"ms\":{},\"fails\":{fails}}}", random % 30);
            let sent = client::call(&key, "up_wait", 0, &arguments);
            let mut open = match connection.take() {
                Some(open) => open,
                None => match SoakConnection::open(self.address).await {
                    Ok(open) => open,
                    Err(_) => continue,
                },
            };
            add(&self.ledger.sent);
            if random.is_multiple_of(25) {
                let patience = Duration::from_millis(random % 20);
                // Dropping the connection is how an HTTP client cancels.
                match tokio::time::timeout(patience, open.call(&sent)).await {
                    Err(_) => add(&self.ledger.cancelled),
                    Ok(reply) => self.judge(reply, &token, fails, None),
                }
                continue;
            }
            let reply = open.call(&sent).await;
            self.judge(reply, &token, fails, Some((&mut connection, open)));
        }
    }

    fn judge(
        &self,
        reply: Result<client::SoakReply, BenchError>,
        token: &str,
        fails: bool,
        keep: Option<(&mut Option<SoakConnection>, SoakConnection)>,
    ) {
        let Ok(reply) = reply else { return add(&self.ledger.lost) };
        add(&self.ledger.answered);
        if let Some((connection, open)) = keep {
            *connection = Some(open);
        }
        let text = wire::result_text(0, &reply.body);
        // A call that failed, or was refused, carries nobody's token.
        let is_right = match text {
            Some(text) => text.contains(token) && !fails,
            None => !String::from_utf8_lossy(&reply.body).contains("token-"),
        };
        if !is_right {
            add(&self.ledger.mismatched);
        }
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

struct CountedAuditRows {
    count: u64,
    doubled: u64,
    last: u64,
}

/// Rows of calls of the server's tool after the one of this number.
async fn rows_of_calls(
    gateway: &MeasuredProcess,
    admin: &str,
    after: u64,
) -> Result<CountedAuditRows, BenchError> {
    let mut headers = HeaderMap::new();
    let bearer = format!("Bearer {admin}");
    let bearer = HeaderValue::from_str(&bearer).map_err(std::io::Error::other)?;
    headers.insert(http::header::AUTHORIZATION, bearer);
    let mut count = 0;
    let mut doubled = 0;
    let mut last = after;
    let mut seen = HashSet::new();
    loop {
        let path = format!("/api/audit?kind=call&server=up&order=oldest&limit=1000&after={last}");
        let mut connection = SoakConnection::open(gateway.address).await?;
        let reply = connection.get(&path, headers.clone()).await?;
        let page: Value = serde_json::from_slice(&reply.body)
            .map_err(|_| BenchError::wrong("the gateway", "no page of audit rows", &reply.body))?;
        let Some(rows) = page["rows"].as_array() else {
            return Err(BenchError::wrong("the gateway", "no page of audit rows", &reply.body));
        };
        for row in rows {
            count += 1;
            let id = row["call"].as_str().unwrap_or_default().to_owned();
            doubled += u64::from(!id.is_empty() && !seen.insert(id));
        }
        match page["next"].as_u64() {
            Some(next) => last = next,
            None => {
                let newest = rows.last().and_then(|row| row["sequence"].as_u64());
                return Ok(CountedAuditRows { count, doubled, last: newest.unwrap_or(last) });
            }
        }
    }
}
