//! Explains for each tool why it is in a view or not.

use super::{FilterLevel, FilterReason, FilterSubject, ToolFilter};
use crate::budget::Tier;
use crate::catalog::{Catalog, UnavailableTool, WithheldCause, WithheldTool};
use crate::id::{ExposedName, ToolId};
use crate::tool::{Tool, ToolReach};

/// The explanation for one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolExplanation {
    pub tool: ToolId,
    pub exposed: ExposedName,
    /// `None`: it is in the view.
    pub stopped: Option<(FilterLevel, String)>,
    /// Whether it is called from programs, if it is in the view.
    pub in_code: bool,
}

/// Every tool that the catalogue knows, by exposed name: tools of the view, tools stopped by a
/// level, and tools that are not in the catalogue.
pub fn explain(catalog: &Catalog, sieve: &ToolFilter<'_>) -> Vec<ToolExplanation> {
    let tools = || catalog.tools.iter().zip(&catalog.tiers);
    let code = CodeModeUse::of(catalog, sieve);
    let is_used = code.is_used(catalog, sieve);
    let judged = tools().map(|(tool, needs)| code.explain_tool(tool, *needs, sieve, || is_used));
    let withheld = catalog.withheld.iter().map(withheld);
    let away = catalog.away.iter().map(away);
    let mut all: Vec<ToolExplanation> = judged.chain(withheld).chain(away).collect();
    all.sort_by(|a, b| (&a.exposed, &a.tool).cmp(&(&b.exposed, &b.tool)));
    all
}

/// The explanation for one tool; `None` if the catalogue does not know it.
pub fn explain_one(
    catalog: &Catalog,
    sieve: &ToolFilter<'_>,
    id: &ToolId,
) -> Option<ToolExplanation> {
    let mut tools = catalog.tools.iter().zip(&catalog.tiers);
    if let Some((tool, needs)) = tools.find(|(tool, _)| tool.id == *id) {
        let code = CodeModeUse::of(catalog, sieve);
        return Some(code.explain_tool(tool, *needs, sieve, || code.is_used(catalog, sieve)));
    }
    let kept_out = catalog.withheld.iter().find(|it| it.tool == *id).map(withheld);
    kept_out.or_else(|| catalog.away.iter().find(|it| it.tool == *id).map(away))
}

/// Whether models run programs in such a turn.
#[derive(Clone, Copy)]
struct CodeModeUse {
    runs: bool,
}

impl CodeModeUse {
    fn of(catalog: &Catalog, sieve: &ToolFilter<'_>) -> Self {
        Self { runs: sieve.runs_programs(catalog) }
    }

    fn has(self, tool: &Tool, sieve: &ToolFilter<'_>) -> bool {
        self.runs && sieve.is_for_programs(tool)
    }

    /// Whether there is any tool for programs to call.
    fn is_used(self, catalog: &Catalog, sieve: &ToolFilter<'_>) -> bool {
        let mut tools = catalog.tools.iter().zip(&catalog.tiers);
        tools
            .any(|(it, needs)| self.has(it, sieve) && sieve.passes(FilterSubject::tool(it, *needs)))
    }

    fn explain_tool(
        self,
        tool: &Tool,
        needs: Tier,
        sieve: &ToolFilter<'_>,
        is_used: impl FnOnce() -> bool,
    ) -> ToolExplanation {
        let is_idle = tool.terms.reach == ToolReach::Means && !is_used();
        let idle = is_idle.then_some((FilterLevel::Code, FilterReason::NothingInCode));
        let stopped = sieve.judge(FilterSubject::tool(tool, needs)).err().or(idle);
        ToolExplanation {
            tool: tool.id.clone(),
            exposed: tool.exposed.clone(),
            stopped: stopped.map(|(level, stop)| (level, stop.to_string())),
            in_code: self.has(tool, sieve),
        }
    }
}

fn withheld(it: &WithheldTool) -> ToolExplanation {
    let level = match it.cause {
        WithheldCause::NotOffered => FilterLevel::Server,
        WithheldCause::Unusable => FilterLevel::Catalog,
        WithheldCause::Untrusted => FilterLevel::Trust,
    };
    let tool = it.tool.clone();
    let exposed = it.exposed.clone();
    ToolExplanation { tool, exposed, stopped: Some((level, it.why.clone())), in_code: false }
}

fn away(it: &UnavailableTool) -> ToolExplanation {
    let tool = it.tool.clone();
    let exposed = it.exposed.clone();
    let why = format!("its server `{}` is unavailable", it.tool.server);
    ToolExplanation { tool, exposed, stopped: Some((FilterLevel::Away, why)), in_code: false }
}
