//! P9: what deciding costs: the tier of a turn, its view, a search for tools, and a sample of its
//! calls.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::agent::Agent;
use tollgate_core::budget::Tier;
use tollgate_core::filter::{GlobalRules, ToolFilter};
use tollgate_core::latency::{LatencyWindow, Sample, SampleEnding};
use tollgate_core::relevance::{RelevanceDocument, RelevanceIndex, RelevanceQuery};
use tollgate_core::tier_selector::{
    SelectorRules, TierKeywords, TierSelector, TranscriptStage, TurnHistory, Utterance,
};
use tollgate_core::view::View;
use tollgate_engine::Parts;
use tollgate_engine::builtin::{
    BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError, Server,
};

use super::BenchContext;
use super::catalog_scaling::SizedGate;
use super::in_process_gate::InProcessGate;
use crate::clock;
use crate::error::BenchError;
use crate::table::{FigureLimit, FigureRow};

const KEYWORDS: usize = 200;
const CHARACTERS: usize = 500;
const TOOLS: usize = 1_000;

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let stand = SizedGate::with_tools(bench, TOOLS).await?;
    let catalog = stand.door.catalog();
    let agent = Agent::implicit();
    let global = GlobalRules::default();
    let sieve = ToolFilter::of(&global, &agent, Tier::Deep);
    let build = best(bench, 10, || View::build(&catalog, &sieve).tools().len());
    let turn = best(bench, 10_000, || stand.door.turn().is_ok());
    Ok(vec![
        select(bench)?,
        row(
            "view of a turn, from the cache",
            turn,
            FigureLimit { most: 1.0, unit: "µs", digits: 3 },
        ),
        row(
            &format!("view of {TOOLS} tools, built"),
            build,
            FigureLimit { most: 1_000.0, unit: "µs", digits: 0 },
        ),
        sample(bench),
        search_tools(bench)?,
        measure_cached_call(bench).await?,
    ])
}

/// A search as `searchTools` does it, in words that no tool has.
fn search_tools(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let verbs = [
        "approve", "create", "delete", "export", "get", "list", "search", "share", "update",
        "watch",
    ];
    let records = [
        "campaign",
        "contract",
        "customer",
        "document",
        "employee",
        "invoice",
        "meeting",
        "payment",
        "photo",
        "playlist",
        "product",
        "project",
        "recipe",
        "report",
        "reservation",
        "shipment",
        "subscription",
        "task",
        "ticket",
        "vehicle",
    ];
    let tools = verbs.iter().flat_map(|verb| records.iter().map(move |it| format!("{verb}_{it}")));
    let names: Vec<String> = tools.collect();
    let index = RelevanceIndex::new(names.iter().map(|name| RelevanceDocument {
        name,
        title: None,
        description: Some("Works on one record of this kind, by its id or by text."),
        parameters: None,
    }));
    let request = "remove the old bill";
    let search = || index.best(&RelevanceQuery::new(black_box(request)).by_meaning(), 5);
    if !search().iter().any(|at| names[*at] == "delete_invoice") {
        return Err(BenchError::Process(
            "the search does not find the tool that is meant".to_owned(),
        ));
    }
    let what = format!("search by meaning, {} tools", names.len());
    Ok(row(&what, best(bench, 100, search), FigureLimit { most: 2_000.0, unit: "µs", digits: 1 }))
}

/// Budget, validation, cache and shaping together: a call whose answer is there already.
async fn measure_cached_call(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let server = Server { name: "kept", tools: vec![Box::new(CacheableTool)] };
    let parts = Parts { tools: vec![server], ..Parts::default() };
    let door = InProcessGate::open(&bench.scratch, parts, 5).await?;
    let call = r#"{"name":"kept","arguments":{"text":"x"}}"#;
    door.call(call, "said once").await?;
    let mut best = f64::INFINITY;
    for _ in 0..bench.pace.rounds * 10 {
        let began = clock::now();
        for _ in 0..BATCH {
            // The tool says so the first time only: whatever comes now was kept.
            door.call(call, "\"hit\":true").await?;
        }
        best = best.min(clock::micros(clock::now() - began) / f64::from(BATCH));
    }
    let limit = FigureLimit { most: 10.0, unit: "µs", digits: 2 };
    Ok(row("call answered from the cache, in process", best, limit))
}

const BATCH: u32 = 500;

struct CacheableTool;

#[async_trait]
impl BuiltinTool for CacheableTool {
    fn definition(&self) -> Value {
        json!({
            "name": "kept",
            "description": "Says something worth keeping",
            "inputSchema": {
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
            },
            "annotations": { "readOnlyHint": true },
            "_meta": { "dev.tollgate/cache": { "cacheableSeconds": 3600 } },
        })
    }

    async fn call(
        &self,
        _: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        Ok(BuiltinReply { text: "said once".to_owned(), structured: None })
    }
}

/// Nothing in the text is a keyword, so that all of it is read; the words that were added are
/// like those that are built in.
fn select(bench: &BenchContext) -> Result<FigureRow, BenchError> {
    let word = |at: usize| format!("ask number {at} of many");
    let keywords = TierKeywords {
        deep: (0..KEYWORDS / 2).map(word).collect(),
        standard: (KEYWORDS / 2..KEYWORDS).map(word).collect(),
        ..TierKeywords::default()
    };
    let selector = TierSelector::new(&[&keywords]);
    let text = "Könntest du mir bitte sagen, ob the old mill by the river still grinds its corn? "
        .repeat(CHARACTERS / 60);
    let text: String = text.chars().take(CHARACTERS).collect();
    let utterance =
        Utterance { text: &text, form: TranscriptStage::Final, queue_depth: 0, forced: None };
    let rules = SelectorRules::default();
    let choose = || selector.choose(black_box(&utterance), TurnHistory::Unknown, &rules);
    if choose().tier != Tier::Fast {
        return Err(BenchError::Process(
            "the text of the benchmark has a keyword in it".to_owned(),
        ));
    }
    let what =
        format!("tier of {CHARACTERS} characters, {KEYWORDS} keywords and the built-in ones");
    Ok(row(&what, best(bench, 1_000, choose), FigureLimit { most: 20.0, unit: "µs", digits: 2 }))
}

fn sample(bench: &BenchContext) -> FigureRow {
    let window = Arc::new(LatencyWindow::default());
    let sample = Sample { span: Duration::from_micros(1_234), ending: SampleEnding::Answered };
    let micros = best(bench, 10_000, || window.record(black_box(sample)));
    row("sample recorded", micros * 1e3, FigureLimit { most: 200.0, unit: "ns", digits: 1 })
}

/// Microseconds for one run, at best: whatever disturbs a batch makes it slower, never faster.
fn best<T>(bench: &BenchContext, batch: u32, mut run: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..bench.pace.rounds * 10 {
        let began = clock::now();
        for _ in 0..batch {
            black_box(run());
        }
        best = best.min(clock::micros(clock::now() - began) / f64::from(batch));
    }
    best
}

fn row(what: &str, value: f64, limit: FigureLimit) -> FigureRow {
    FigureRow::at_most("P9", what.to_owned(), value, limit)
        .with(json!({ "value": value, "unit": limit.unit, "limit": limit.most }))
}
