//! P15, `tollgate-bench code-tokens [query…]`: what code mode saves of a model's tokens, beside the
//! same tools inline, and whether the work is done as well.
//!
//! The workload is the public one of Bifrost's code mode benchmark (names, descriptions and queries:
//! `maximhq/bifrost-benchmarking`), rebuilt without a network: schemas and results are made up, the
//! model is a script. Everything between is real: the agent loop, its requests, the gate, servers,
//! programs in workers.

use std::path::Path;
use std::sync::Arc;

use crate::config::ScratchDirectory;
use crate::error::BenchError;

mod coder;
mod compose;
mod direct;
mod grade;
mod ground_truth;
mod harness;
mod inventory;
mod plan;
mod report;
mod schema;
mod scripted_model;
mod servers;
mod starlark;
mod step_outcome;
mod text;
mod tool_visibility;
mod visible_context;
mod world;

pub(crate) use harness::ToolStrategy;
pub(crate) use plan::QueryClass;
pub(crate) use report::{RoundReport, TokenChange};

use harness::CodeTokenHarness;
use plan::PlannedQuery;
use report::QueryRuns;
use schema::ParameterUsage;
use servers::ToolListings;

pub(crate) const ROUNDS: std::ops::RangeInclusive<usize> = 1..=3;

/// What of the workload is run.
#[derive(Debug, Clone)]
pub(crate) struct WorkloadSelection {
    /// Every so many queries.
    pub(crate) every: usize,
    /// If there are any: only these.
    pub(crate) ids: Vec<String>,
}

impl WorkloadSelection {
    pub(crate) const WHOLE: Self = Self { every: 1, ids: Vec::new() };

    fn queries(&self, round: usize) -> Vec<Arc<PlannedQuery>> {
        let all = plan::queries(round).into_iter().step_by(self.every);
        let is_wanted = |query: &PlannedQuery| self.ids.is_empty() || self.ids.contains(&query.id);
        all.filter(is_wanted).map(Arc::new).collect()
    }
}

/// One round, in all ways. Programs run in workers that are started from `worker`.
pub(crate) async fn round(
    scratch: &ScratchDirectory,
    worker: &Path,
    number: usize,
    part: &WorkloadSelection,
) -> Result<RoundReport, BenchError> {
    let queries = part.queries(number);
    let one = |query: &Arc<PlannedQuery>| QueryRuns {
        id: query.id.clone(),
        class: query.class,
        askings: Vec::new(),
    };
    let all: Vec<PlannedQuery> = ROUNDS.flat_map(plan::queries).collect();
    let lists = ToolListings::of(&inventory::tools(number), &ParameterUsage::of(all.iter()));
    let lists = Arc::new(lists);
    let tools = lists.tools();
    let servers = lists.servers().len();
    let mut round =
        RoundReport { number, tools, servers, queries: queries.iter().map(one).collect() };
    for way in ToolStrategy::ALL {
        // A gateway for each: none learns from what the others did.
        let stage = CodeTokenHarness::set(scratch, worker, &lists, way).await?;
        for (query, asked) in queries.iter().zip(&mut round.queries) {
            asked.askings.push(stage.ask(query).await?);
        }
    }
    Ok(round)
}

/// By command: all rounds, or some queries.
pub(crate) fn run(ids: &[&str]) -> Result<String, BenchError> {
    let worker = std::env::current_exe()?.with_file_name("tollgate-worker");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let part = WorkloadSelection {
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..WorkloadSelection::WHOLE
    };
    runtime.block_on(async {
        let scratch = ScratchDirectory::new()?;
        let mut out = String::new();
        for number in ROUNDS.filter(|number| !part.queries(*number).is_empty()) {
            let round = round(&scratch, &worker, number, &part).await?;
            out.push_str(&round.render());
            out.push('\n');
        }
        Ok(out)
    })
}

#[cfg(test)]
mod tests;
