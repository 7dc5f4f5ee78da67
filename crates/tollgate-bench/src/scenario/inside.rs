//! P5: a built-in tool through the gate, in this process, beside its handler called directly.

use std::hint::black_box;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};
use tollgate_engine::Parts;
use tollgate_engine::builtin::dice::{self, tables::Tables};
use tollgate_engine::builtin::{Asker, Tool};

use super::Bench;
use super::door::Door;
use crate::clock;
use crate::table::{Limit, Row};
use crate::trouble::Trouble;

/// Calls between two looks at the clock.
const BATCH: u32 = 500;

const CALL: &str = r#"{"name":"roll","arguments":{"expression":"2d6+3"}}"#;

pub(super) async fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let door = Door::open(&bench.scratch, Parts::default(), 4).await?;
    let tools = dice::tools(Tables::shipped(), &dice::thread_random());
    let Some(handler) = tools.into_iter().find(|tool| tool.definition()["name"] == "roll") else {
        return Err(Trouble::Process("there is no built-in tool `roll`".to_owned()));
    };
    let (arguments, asker) = (arguments(), Asker::local());

    let mut best = [f64::INFINITY; 2];
    // Whatever disturbs a batch makes it slower, never faster: the best one is the truth.
    for _ in 0..bench.pace.rounds * 20 {
        let began = clock::now();
        for _ in 0..BATCH {
            directly(&*handler, (&arguments, &asker)).await?;
        }
        best[0] = best[0].min(each(clock::now() - began));
        let began = clock::now();
        for _ in 0..BATCH {
            door.call(CALL, "total").await?;
        }
        best[1] = best[1].min(each(clock::now() - began));
    }
    let allocations = [
        allocations(|| directly(&*handler, (&arguments, &asker)).now_or_never()),
        allocations(|| door.call(CALL, "total").now_or_never()),
    ];
    let added = allocations[1].saturating_sub(allocations[0]);
    let time = Limit { most: 5.0, unit: "µs", digits: 2 };
    let count = Limit { most: 15.0, unit: "allocations", digits: 0 };
    let what = |what: &str| format!("built-in tool through the gate: {what} added");
    let added = added as f64;
    Ok(vec![
        Row::limited("P5", what("time"), best[1] - best[0], time)
            .explained(&format!("{:.2} − {:.2} for the handler", best[1], best[0]))
            .with(json!({ "micros": { "handler": best[0], "gate": best[1] }, "limit": time.most })),
        Row::limited("P5", what("allocations"), added, count)
            .explained(&format!("{} − {} for the handler", allocations[1], allocations[0]))
            .with(json!({
                "allocations": { "handler": allocations[0], "gate": allocations[1] },
                "limit": count.most,
            })),
    ])
}

async fn directly(
    handler: &dyn Tool,
    (arguments, asker): (&Map<String, Value>, &Asker),
) -> Result<(), Trouble> {
    let reply = handler.call(black_box(arguments), asker).await;
    let reply = reply.map_err(|failure| Trouble::Process(failure.message))?;
    match black_box(reply).structured {
        Some(data) if data.get("total").is_some() => Ok(()),
        _ => Err(Trouble::wrong("the handler", "no total", b"")),
    }
}

fn arguments() -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("expression".to_owned(), json!("2d6+3"));
    arguments
}

/// The usual number of allocations: the least of a few tries.
fn allocations(mut run: impl FnMut() -> Option<Result<(), Trouble>>) -> u64 {
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
