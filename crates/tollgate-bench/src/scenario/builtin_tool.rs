//! P5: a built-in tool through the gate, in this process, beside its handler called directly.

use std::hint::black_box;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};
use tollgate_engine::Parts;
use tollgate_engine::builtin::dice::{self, tables::RandomTables};
use tollgate_engine::builtin::{BuiltinTool, BuiltinToolContext};

use super::BenchContext;
use super::in_process_gate::InProcessGate;
use crate::clock;
use crate::error::BenchError;
use crate::table::{FigureLimit, FigureRow};

/// Calls between two looks at the clock.
const BATCH: u32 = 500;

const CALL: &str = r#"{"name":"roll","arguments":{"expression":"2d6+3"}}"#;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let door = InProcessGate::open(&bench.scratch, Parts::default(), 4).await?;
    let tools = dice::tools(RandomTables::builtin(), &dice::thread_random());
    let Some(handler) = tools.into_iter().find(|tool| tool.definition()["name"] == "roll") else {
        return Err(BenchError::Process("there is no built-in tool `roll`".to_owned()));
    };
    let arguments = arguments();
    let asker = BuiltinToolContext::local();

    let mut best = [f64::INFINITY; 2];
    // Whatever disturbs a batch makes it slower, never faster: the best one is the truth.
    for _ in 0..bench.pace.rounds * 20 {
        let began = clock::now();
        for _ in 0..BATCH {
            directly(&*handler, &arguments, &asker).await?;
        }
        best[0] = best[0].min(each(clock::now() - began));
        let began = clock::now();
        for _ in 0..BATCH {
            door.call(CALL, "total").await?;
        }
        best[1] = best[1].min(each(clock::now() - began));
    }
    let allocations = [
        allocations(|| directly(&*handler, &arguments, &asker).now_or_never()),
        allocations(|| door.call(CALL, "total").now_or_never()),
    ];
    let added = allocations[1].saturating_sub(allocations[0]);
    let time = FigureLimit { most: 5.0, unit: "µs", digits: 2 };
    let count = FigureLimit { most: 15.0, unit: "allocations", digits: 0 };
    let what = |what: &str| format!("built-in tool through the gate: {what} added");
    let added = added as f64;
    Ok(vec![
        FigureRow::at_most("P5", what("time"), best[1] - best[0], time)
            .with_note(&format!("{:.2} − {:.2} for the handler", best[1], best[0]))
            .with(json!({ "micros": { "handler": best[0], "gate": best[1] }, "limit": time.most })),
        FigureRow::at_most("P5", what("allocations"), added, count)
            .with_note(&format!("{} − {} for the handler", allocations[1], allocations[0]))
            .with(json!({
                "allocations": { "handler": allocations[0], "gate": allocations[1] },
                "limit": count.most,
            })),
    ])
}

async fn directly(
    handler: &dyn BuiltinTool,
    arguments: &Map<String, Value>,
    asker: &BuiltinToolContext,
) -> Result<(), BenchError> {
    let reply = handler.call(black_box(arguments), asker).await;
    let reply = reply.map_err(|failure| BenchError::Process(failure.message))?;
    match black_box(reply).structured {
        Some(data) if data.get("total").is_some() => Ok(()),
        _ => Err(BenchError::wrong("the handler", "no total", b"")),
    }
}

fn arguments() -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("expression".to_owned(), json!("2d6+3"));
    arguments
}

/// The usual number of allocations: the least of a few tries.
fn allocations(mut run: impl FnMut() -> Option<Result<(), BenchError>>) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..20 {
        let mut answered = None;
        let info = allocation_counter::measure(|| answered = run());
        if let Some(Ok(())) = answered {
            least = least.min(info.count_total);
        }
    }
    least
}

fn each(batch: Duration) -> f64 {
    clock::micros(batch) / f64::from(BATCH)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tollgate_engine::Parts;

    use super::{CALL, InProcessGate, allocations};
    use crate::config::ScratchDirectory;

    /// Of a call with its handler, in a build without optimisation.
    const MAX_ALLOCATIONS: u64 = 49;

    #[tokio::test]
    async fn p_5_a_call_through_the_gate_allocates_little() {
        let scratch = ScratchDirectory::with_prefix("tollgate-bench-allocations").unwrap();
        let gate = InProcessGate::open(&scratch, Parts::default(), 4).await.unwrap();
        let count = allocations(|| gate.call(CALL, "total").now_or_never());
        assert!(count <= MAX_ALLOCATIONS, "{count} allocations");
    }
}
