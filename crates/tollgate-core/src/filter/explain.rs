//! Why each tool is in a view or out of it.

use super::{Level, Sieve, Stop, Subject};
use crate::budget::Tier;
use crate::catalog::{Catalog, Cause};
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
    let passes = |tool: &Tool, needs: Tier| sieve.passes(Subject::tool(tool, needs));
    let runs_programs = sieve.runs_programs(catalog);
    let is_in_code = |tool: &Tool| runs_programs && sieve.is_for_programs(tool);
    let is_code_used = tools().any(|(it, needs)| is_in_code(it) && passes(it, *needs));
    let judged = tools().map(|(tool, needs)| {
        let is_idle = tool.terms.reach == Reach::Means && !is_code_used;
        let idle = is_idle.then_some((Level::Code, Stop::NothingInCode));
        let stopped = sieve.judge(Subject::tool(tool, *needs)).err().or(idle);
        Explained {
            tool: tool.id.clone(),
            exposed: tool.exposed.clone(),
            stopped: stopped.map(|(level, stop)| (level, stop.to_string())),
            in_code: is_in_code(tool),
        }
    });
    let withheld = catalog.withheld.iter().map(|it| {
        let level = match it.cause {
            Cause::NotOffered => Level::Server,
            Cause::Unusable => Level::Catalog,
            Cause::Untrusted => Level::Trust,
        };
        let (tool, exposed) = (it.tool.clone(), it.exposed.clone());
        Explained { tool, exposed, stopped: Some((level, it.why.clone())), in_code: false }
    });
    let away = catalog.away.iter().map(|it| {
        let (tool, exposed) = (it.tool.clone(), it.exposed.clone());
        let why = format!("its server `{}` is not there", it.tool.server);
        Explained { tool, exposed, stopped: Some((Level::Away, why)), in_code: false }
    });
    let mut all: Vec<Explained> = judged.chain(withheld).chain(away).collect();
    all.sort_by(|a, b| (&a.exposed, &a.tool).cmp(&(&b.exposed, &b.tool)));
    all
}
