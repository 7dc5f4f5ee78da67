//! P3: calls at a fixed rate, and how much later the slowest come through the gateway.

use serde_json::json;

use super::{BenchContext, http_server, three};
use crate::clock::micros;
use crate::error::BenchError;
use crate::load::{LoadSlice, open_loop};
use crate::samples::median;
use crate::serve::ServerThread;
use crate::table::{FigureLimit, FigureRow};
use crate::upstream::EchoUpstream;
use crate::wire::Era;

const RATE: u32 = 1_000;
const CONNECTIONS: usize = 32;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let era = Era::Modern;
    let upstream = ServerThread::start("upstream", EchoUpstream::new(2))?;
    let bare = bench.start_bare(upstream.address).await?;
    let servers = [http_server("up", upstream.address, era)];
    let gateway = bench.start_gateway("rate", &servers).await?;
    let targets = three(upstream.address, &bare, &gateway, "up_echo", era);
    let load = open_loop::FixedRate { rate: RATE, span: bench.pace.long_slice };
    let mut rounds = Vec::new();
    for round in 0..bench.pace.long_rounds {
        let mut slices: [Option<LoadSlice>; 3] = [None, None, None];
        for turn in 0..targets.len() {
            let at = (round + turn) % targets.len();
            let slice =
                open_loop::run(std::slice::from_ref(&targets[at]), CONNECTIONS, load).await?;
            slices[at] = Some(slice);
        }
        rounds.push(slices.map(|slice| slice.expect("every target had its turn")));
    }
    gateway.stop().await?;
    bare.stop().await?;
    Ok(vec![row(&rounds, 0.99, 0.5), row(&rounds, 0.999, 5.0)])
}

/// Milliseconds over the direct calls of the same round, the median of all rounds.
fn row(rounds: &[[LoadSlice; 3]], quantile: f64, most: f64) -> FigureRow {
    let at =
        |round: &[LoadSlice; 3], who: usize| micros(round[who].latencies.quantile(quantile)) / 1e3;
    let added = |who: usize| median(rounds.iter().map(|round| at(round, who) - at(round, 0)));
    let whole = |who: usize| median(rounds.iter().map(|round| at(round, who)));
    let limit = FigureLimit { most, unit: "ms", digits: 2 };
    let what = format!("tools/call at {RATE}/s: p{} added", quantile * 100.0);
    FigureRow::at_most("P3", what, added(2), limit)
        .with_note(&format!("bare {:.2}, over direct {:.2}", added(1), whole(0)))
        .with(json!({
            "milliseconds": { "direct": whole(0), "bare": whole(1), "gateway": whole(2) },
            "addedMilliseconds": { "bare": added(1), "gateway": added(2) },
            "limit": most,
        }))
}
