//! Why each tool is in a view or out of it.

use super::{Level, Sieve, Stop, Subject};
use crate::budget::Tier;
use crate::catalog::{Away, Catalog, Cause, Withheld};
use crate::id::{ExposedName, ToolId};
use crate::tool::{Reach, Tool};

/// One tool that some server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub tool: ToolId,
    pub exposed: ExposedName,
    /// `None`: it is in the view.
    pub stopped: Option<(Level, String)>,
    /// Whether it is called in code, if it is in the view.
    pub in_code: bool,
}

/// Every tool that the catalogue knows of, by exposed name: those of the view, those that a level
/// stopped, and those that never made it into the catalogue.
pub fn explain(catalog: &Catalog, sieve: &Sieve<'_>) -> Vec<Explained> {
    let tools = || catalog.tools.iter().zip(&catalog.tiers);
    let code = Code::of(catalog, sieve);
    let is_used = code.is_used(catalog, sieve);
    let judged = tools().map(|(tool, needs)| code.judged((tool, *needs), sieve, || is_used));
    let withheld = catalog.withheld.iter().map(withheld);
    let away = catalog.away.iter().map(away);
    let mut all: Vec<Explained> = judged.chain(withheld).chain(away).collect();
    all.sort_by(|a, b| (&a.exposed, &a.tool).cmp(&(&b.exposed, &b.tool)));
    all
}

/// The same of one tool; `None` if the catalogue does not know of it.
pub fn explain_one(catalog: &Catalog, sieve: &Sieve<'_>, wanted: &ToolId) -> Option<Explained> {
    let mut tools = catalog.tools.iter().zip(&catalog.tiers);
    if let Some((tool, needs)) = tools.find(|(tool, _)| tool.id == *wanted) {
        let code = Code::of(catalog, sieve);
        return Some(code.judged((tool, *needs), sieve, || code.is_used(catalog, sieve)));
    }
    let kept_out = catalog.withheld.iter().find(|it| it.tool == *wanted).map(withheld);
    kept_out.or_else(|| catalog.away.iter().find(|it| it.tool == *wanted).map(away))
}

/// Whether models run programs in such a turn.
#[derive(Clone, Copy)]
struct Code {
    runs: bool,
}

impl Code {
    fn of(catalog: &Catalog, sieve: &Sieve<'_>) -> Self {
        Self { runs: sieve.runs_programs(catalog) }
    }

    fn has(self, tool: &Tool, sieve: &Sieve<'_>) -> bool {
        self.runs && sieve.is_for_programs(tool)
    }

    /// Whether there is anything for programs to call.
    fn is_used(self, catalog: &Catalog, sieve: &Sieve<'_>) -> bool {
        let mut tools = catalog.tools.iter().zip(&catalog.tiers);
        tools.any(|(it, needs)| self.has(it, sieve) && sieve.passes(Subject::tool(it, *needs)))
    }

    fn judged(
        self,
        (tool, needs): (&Tool, Tier),
        sieve: &Sieve<'_>,
        is_used: impl FnOnce() -> bool,
    ) -> Explained {
        let is_idle = tool.terms.reach == Reach::Means && !is_used();
        let idle = is_idle.then_some((Level::Code, Stop::NothingInCode));
        let stopped = sieve.judge(Subject::tool(tool, needs)).err().or(idle);
        Explained {
            tool: tool.id.clone(),
            exposed: tool.exposed.clone(),
            stopped: stopped.map(|(level, stop)| (level, stop.to_string())),
            in_code: self.has(tool, sieve),
        }
    }
}

fn withheld(it: &Withheld) -> Explained {
    let level = match it.cause {
        Cause::NotOffered => Level::Server,
        Cause::Unusable => Level::Catalog,
        Cause::Untrusted => Level::Trust,
    };
    let (tool, exposed) = (it.tool.clone(), it.exposed.clone());
    Explained { tool, exposed, stopped: Some((level, it.why.clone())), in_code: false }
}

fn away(it: &Away) -> Explained {
    let (tool, exposed) = (it.tool.clone(), it.exposed.clone());
    let why = format!("its server `{}` is not there", it.tool.server);
    Explained { tool, exposed, stopped: Some((Level::Away, why)), in_code: false }
}
