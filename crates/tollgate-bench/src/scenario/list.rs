//! P4: the list of a thousand tools, beside a server that has the same bytes ready.

use bytes::Bytes;
use serde_json::json;

use super::{BenchContext, cpu_per_call, http_server};
use crate::error::BenchError;
use crate::load::{HttpLoadConnection, LoadRequest, LoadTarget};
use crate::samples::median;
use crate::serve::ServerThread;
use crate::table::{FigureRow, TargetVerdict};
use crate::upstream::EchoUpstream;
use crate::wire::Era;

const TOOLS: usize = 1_000;
const CONNECTIONS: usize = 16;
const MIN_THROUGHPUT_RATIO: f64 = 0.80;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let upstream = ServerThread::start("upstream", EchoUpstream::new(TOOLS))?;
    let servers = [http_server("up", upstream.address, Era::Modern)];
    let gateway = bench.start_gateway("list", &servers).await?;
    let mut rows = Vec::new();
    for era in Era::BOTH {
        let mut listing = LoadTarget { era, ..super::listing(&gateway) };
        let page = first_page(&listing).await?;
        let fixed = bench.start_fixed(&page).await?;
        let same = LoadTarget {
            name: "static",
            address: fixed.address,
            ask: LoadRequest::Same(page.clone()),
            process: Some(fixed.pid),
            ..listing.clone()
        };
        let bytes = page.len();
        listing.ask = LoadRequest::List(page);
        let rounds = bench.rounds(&[same, listing], CONNECTIONS).await?;
        fixed.stop().await?;
        let ratio = median(rounds.iter().map(|[same, list]| list.rate() / same.rate()));
        let rate = |at: usize| median(rounds.iter().map(|round| round[at].rate()));
        let cpu = |at: usize| cpu_per_call(rounds.iter().map(|round| &round[at]));
        rows.push(FigureRow {
            id: "P4",
            what: format!("tools/list of 1,000 tools ({} KiB), {}", bytes / 1024, era.name()),
            measured: format!(
                "{:.0}/s, static {:.0}/s; CPU {:.1} µs, static {:.1} µs",
                rate(1),
                rate(0),
                cpu(1),
                cpu(0)
            ),
            target: format!("≥ {MIN_THROUGHPUT_RATIO} × static"),
            ratio: Some(ratio),
            verdict: TargetVerdict::at_least(ratio, MIN_THROUGHPUT_RATIO),
            figures: json!({
                "bytes": bytes,
                "perSecond": { "static": rate(0), "gateway": rate(1) },
                "cpuMicrosPerCall": { "static": cpu(0), "gateway": cpu(1) },
            }),
        });
    }
    gateway.stop().await?;
    Ok(rows)
}

/// The answer that all others must equal; it has all the tools.
async fn first_page(target: &LoadTarget) -> Result<Bytes, BenchError> {
    let mut connection = HttpLoadConnection::open(target).await?;
    let (names, page) = connection.list().await?;
    connection.close().await?;
    let listed = names.iter().filter(|name| name.starts_with("up_")).count();
    if listed != TOOLS {
        return Err(BenchError::wrong(target.name, "not all tools are listed", &page));
    }
    Ok(page)
}
