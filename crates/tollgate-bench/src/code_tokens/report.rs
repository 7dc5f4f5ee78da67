//! The figures of a round: what each way of working costs, by class, and where it costs more than
//! it should.

use std::fmt::Write as _;
use std::time::Duration;

use super::harness::{QueryRun, ToolStrategy};
use super::plan::QueryClass;

/// A query in every way, in their order.
#[derive(Debug)]
pub(crate) struct QueryRuns {
    pub(super) id: String,
    pub(super) class: QueryClass,
    pub(super) askings: Vec<QueryRun>,
}

#[derive(Debug)]
pub(crate) struct RoundReport {
    pub(super) number: usize,
    pub(crate) tools: usize,
    pub(super) servers: usize,
    pub(super) queries: Vec<QueryRuns>,
}

/// Input tokens with all tools inline, and in a way of code mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenChange {
    pub(crate) direct: u64,
    pub(crate) code: u64,
}

impl TokenChange {
    /// In per cent; below zero where code mode costs less.
    pub(crate) fn percent(self) -> f64 {
        (self.code as f64 / self.direct as f64 - 1.0) * 100.0
    }
}

impl QueryRuns {
    fn of(&self, way: ToolStrategy) -> &QueryRun {
        &self.askings[way as usize]
    }

    fn change(&self, way: ToolStrategy) -> TokenChange {
        let input = |way| self.of(way).tally.input;
        TokenChange { direct: input(ToolStrategy::Direct), code: input(way) }
    }
}

impl RoundReport {
    /// Of all queries, or of those of a class; `None` if there are none.
    pub(crate) fn change(
        &self,
        way: ToolStrategy,
        class: Option<QueryClass>,
    ) -> Option<TokenChange> {
        let ours = self.queries.iter().filter(|it| class.is_none_or(|class| it.class == class));
        let all = ours.map(|it| it.change(way));
        all.reduce(|one, two| TokenChange {
            direct: one.direct + two.direct,
            code: one.code + two.code,
        })
    }

    /// Queries that cost more in code mode than with all tools inline.
    pub(crate) fn above(&self, way: ToolStrategy) -> Vec<&str> {
        let dearer = self.queries.iter().filter(|it| it.change(way).percent() > 0.0);
        dearer.map(|it| it.id.as_str()).collect()
    }

    /// Queries that were not done right, with the first reason.
    pub(crate) fn wrong(&self, way: ToolStrategy) -> Vec<(&str, &str)> {
        let reason = |it| QueryRuns::of(it, way).missing.first().map(String::as_str);
        self.queries.iter().filter_map(|it| Some((it.id.as_str(), reason(it)?))).collect()
    }

    pub(crate) fn render(&self) -> String {
        let mut out = String::new();
        let Self { number, tools, servers, queries: requests } = self;
        let queries = requests.len();
        let put = |out: &mut String, line: String| {
            writeln!(out, "{}", line.trim_end()).expect("a string takes all");
        };
        put(
            &mut out,
            format!("round {number}: {tools} tools of {servers} servers, {queries} queries"),
        );
        put(
            &mut out,
            format!(
                "{:<8} {:>7} {:>12} {:>9} {:>9} {:>7} {:>9}",
                "way", "right", "input", "change", "output", "rounds", "ms each"
            ),
        );
        for way in ToolStrategy::ALL {
            put(&mut out, self.line(way));
        }
        for class in QueryClass::ALL {
            let count = requests.iter().filter(|it| it.class == class).count();
            let Some(search) = self.change(ToolStrategy::Search, Some(class)) else { continue };
            let files =
                self.change(ToolStrategy::Files, Some(class)).map_or(0.0, TokenChange::percent);
            put(
                &mut out,
                format!(
                    "{:<8} {count:>3} queries: {:>9} each direct, {:>7} by search ({:+.1} %), by files ({files:+.1} %)",
                    class.as_str(),
                    search.direct / count as u64,
                    search.code / count as u64,
                    search.percent(),
                ),
            );
        }
        for way in [ToolStrategy::Search, ToolStrategy::Files] {
            let above = self.above(way);
            let above = if above.is_empty() { "none".to_owned() } else { above.join(", ") };
            let worst = requests
                .iter()
                .max_by(|one, two| one.change(way).percent().total_cmp(&two.change(way).percent()));
            let worst = worst.map(|it| format!("{} {:+.1} %", it.id, it.change(way).percent()));
            put(
                &mut out,
                format!(
                    "above their baseline by {}: {above}; dearest: {}",
                    way.as_str(),
                    worst.unwrap_or_default()
                ),
            );
        }
        for way in ToolStrategy::ALL {
            for (id, reason) in self.wrong(way) {
                put(&mut out, format!("not right, {}: {id}: {reason}", way.as_str()));
            }
        }
        out
    }

    fn line(&self, way: ToolStrategy) -> String {
        let count = self.queries.len();
        let all = || self.queries.iter().map(|it| it.of(way));
        let right = all().filter(|it| it.missing.is_empty()).count();
        let output: u64 = all().map(|it| it.tally.output).sum();
        let rounds: u32 = all().map(|it| it.tally.rounds).sum();
        let took: Duration = all().map(|it| it.took).sum();
        let change = self.change(way, None).map_or(0.0, TokenChange::percent);
        let input: u64 = all().map(|it| it.tally.input).sum();
        format!(
            "{:<8} {:>7} {input:>12} {:>9} {output:>9} {:>7.1} {:>9.0}",
            way.as_str(),
            format!("{right}/{count}"),
            if way == ToolStrategy::Direct { String::new() } else { format!("{change:+.1} %") },
            f64::from(rounds) / count as f64,
            took.as_secs_f64() * 1e3 / count as f64,
        )
    }
}
