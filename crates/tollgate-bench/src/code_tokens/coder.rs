//! How a competent model works in code mode: looks for the tools, writes a program that does all that
//! can be done without reading, reads what it printed, writes another one if that is needed.
//!
//! It uses no tool whose signature it was not shown, and no field of an answer that it has not seen;
//! where that is not known it prints a piece of the answer first. In hard queries its first program
//! has a mistake that people make out of habit.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::direct;
use super::grade::GAVE_UP;
use super::ground_truth::GroundTruth;
use super::inventory::{self, ToolRef};
use super::plan::{PlanStepKind, PlannedQuery, QueryClass};
use super::scripted_model::{ModelScript, ScriptMove, ScriptedCall};
use super::starlark::{ProgramWriter, WrittenProgram};
use super::text::TextSeed;
use super::tool_visibility;
use super::visible_context::VisibleContext;

/// The words with which a model looks for each tool: those of the queries, not of the catalogue.
static SEARCH_WORDS: LazyLock<HashMap<ToolRef, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("wants.tsv").lines();
    let pairs = lines.filter_map(|line| line.split_once('\t'));
    pairs.map(|(tool, words)| (inventory::tool(tool), words)).collect()
});

/// Characters of a text that are printed to be read; more if that was not enough.
const EXCERPTS: [usize; 3] = [1_500, 6_000, 30_000];
/// Searches, lists and parts of files.
const MAX_LOOKUPS: usize = 12;
/// More programs than this no query needs.
const MAX_PROGRAMS: usize = 8;

/// How it looks for tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolDiscovery {
    /// By searches, all at once.
    Search,
    /// In the list of files, and then in the files.
    Files,
}

pub(super) struct CodeModeScript {
    query: Arc<PlannedQuery>,
    truth: Arc<GroundTruth>,
    looking: ToolDiscovery,
    looked: usize,
    done: Vec<bool>,
    /// Of each text that is read, how often it was printed in vain.
    printed: Vec<usize>,
    programs: usize,
    running: Option<RunningProgram>,
}

/// A program that was sent.
struct RunningProgram {
    program: WrittenProgram,
    /// It was written with a mistake.
    is_wrong: bool,
}

impl CodeModeScript {
    pub(super) fn new(
        query: Arc<PlannedQuery>,
        truth: Arc<GroundTruth>,
        looking: ToolDiscovery,
    ) -> Self {
        let steps = query.steps.len();
        let done = vec![false; steps];
        let printed = vec![0; steps];
        Self { query, truth, looking, looked: 0, done, printed, programs: 0, running: None }
    }

    /// The next look for tools that were not shown yet; `None` if there is nothing left to try.
    fn look(&mut self, missing: &[&ToolRef], seen: &VisibleContext) -> Option<ScriptMove> {
        self.looked += 1;
        let first = usize::from(self.looking == ToolDiscovery::Files) * 2;
        let calls: Vec<ScriptedCall> = match self.looked + first {
            1 => {
                let words =
                    missing.iter().map(|tool| SEARCH_WORDS.get(*tool).copied().unwrap_or_default());
                words.map(|words| call(seen, "searchTools", json!({ "query": words }))).collect()
            }
            2 => {
                let words = missing
                    .iter()
                    .map(|tool| format!("{} {}", tool.server, tool.name.replace('_', " ")));
                words
                    .map(|words| call(seen, "searchTools", json!({ "query": words, "limit": 10 })))
                    .collect()
            }
            3 => vec![call(seen, "listToolFiles", json!({}))],
            4 => {
                let mut servers: Vec<&str> = missing.iter().map(|tool| tool.server).collect();
                servers.dedup();
                servers.iter().map(|server| read(seen, server, 1)).collect()
            }
            // Long files come in parts.
            looked if looked < MAX_LOOKUPS => {
                let next = seen.last().lines().next().and_then(|it| it.split_once("startLine="));
                let next = next.and_then(|(_, line)| line.parse().ok());
                next.map(|line| read(seen, missing[0].server, line)).into_iter().collect()
            }
            _ => Vec::new(),
        };
        (!calls.is_empty()).then_some(ScriptMove::Call(calls))
    }

    /// What the last program did.
    fn judge(
        &mut self,
        running: &RunningProgram,
        seen: &VisibleContext,
    ) -> Result<(), ProgramFailedError> {
        if is_failure(seen.last()) {
            return if running.is_wrong {
                Ok(())
            } else {
                Err(ProgramFailedError(seen.last().to_owned()))
            };
        }
        for at in &running.program.ran {
            let is_known = self.truth.0[*at].facts().all(|fact| seen.has(fact));
            match self.query.steps[*at].kind {
                PlanStepKind::Read if !is_known => self.printed[*at] += 1,
                _ => self.done[*at] = true,
            }
        }
        for at in &running.program.looked_at {
            self.done[*at] = self.truth.0[*at].facts().all(|fact| seen.has(fact));
        }
        Ok(())
    }

    fn program(&mut self, seen: &VisibleContext) -> ScriptMove {
        let excerpt: Vec<usize> =
            self.printed.iter().map(|it| EXCERPTS[(*it).min(EXCERPTS.len() - 1)]).collect();
        let author = ProgramWriter {
            query: &self.query,
            truth: &self.truth,
            seen,
            done: &self.done,
            excerpt: &excerpt,
        };
        let program = author.write();
        let is_wrong = self.query.class == QueryClass::Hard && self.programs == 0;
        let mut source = program.source.clone();
        if is_wrong {
            source.insert_str(
                0,
                PYTHON_MISTAKES[TextSeed::of(&self.query.id).below(PYTHON_MISTAKES.len())],
            );
        }
        self.programs += 1;
        self.running = Some(RunningProgram { program, is_wrong });
        ScriptMove::Call(vec![call(seen, "executeToolCode", json!({ "code": source }))])
    }
}

/// What a program that should work said instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ProgramFailedError(String);

impl ModelScript for CodeModeScript {
    fn next(&mut self, seen: &VisibleContext) -> ScriptMove {
        let query = Arc::clone(&self.query);
        let is_hidden = |tool: &&ToolRef| tool_visibility::spelling(tool, seen).is_none();
        let missing: Vec<&ToolRef> = query.tools().into_iter().filter(is_hidden).collect();
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter().map(|tool| tool.name.as_str()).collect();
            let lost = || ScriptMove::Say(format!("{GAVE_UP}{} not found", names.join(", ")));
            return self.look(&missing, seen).unwrap_or_else(lost);
        }
        if let Some(running) = self.running.take()
            && let Err(failure) = self.judge(&running, seen)
        {
            return ScriptMove::Say(format!("{GAVE_UP}{failure}"));
        }
        if self.done.iter().all(|done| *done) || self.programs == MAX_PROGRAMS {
            ScriptMove::Say(direct::answer(&self.query, &self.truth, seen))
        } else {
            self.program(seen)
        }
    }
}

/// What people write who think of Python.
const PYTHON_MISTAKES: [&str; 3] = [
    "import json\n",
    "try:\n    print(\"start\")\nexcept Exception as error:\n    print(error)\n",
    "class Found:\n    pass\n",
];

fn read(seen: &VisibleContext, server: &str, line: u32) -> ScriptedCall {
    let mut arguments = json!({ "fileName": format!("servers/{server}.pyi") });
    if line > 1 {
        arguments["startLine"] = json!(line);
    }
    call(seen, "readToolFile", arguments)
}

fn call(seen: &VisibleContext, means: &str, arguments: serde_json::Value) -> ScriptedCall {
    let tool = seen.offered.iter().find(|name| name.ends_with(means));
    ScriptedCall { tool: tool.map_or_else(|| means.to_owned(), Clone::clone), arguments }
}

fn is_failure(text: &str) -> bool {
    let begin: String = text.chars().take(60).collect();
    begin.contains("the program ") || begin.contains("a tool failed")
}
