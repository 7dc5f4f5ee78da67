//! Why each tool is in a view or out of it.

use super::{Level, Sieve, Subject};
use crate::catalog::{Catalog, Cause};
use crate::id::{ExposedName, ToolId};

/// One tool that some server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub tool: ToolId,
    pub exposed: ExposedName,
    /// `None`: it is in the view.
    pub stopped: Option<(Level, String)>,
}

/// Every tool that the catalogue knows of, by exposed name: those of the view, those that a level
/// stopped, and those that never made it into the catalogue.
pub fn explain(catalog: &Catalog, sieve: &Sieve<'_>) -> Vec<Explained> {
    let judged = catalog.tools.iter().zip(&catalog.tiers).map(|(tool, needs)| {
        let (own, needs) = (Some(&tool.id.tool), Some(*needs));
        let subject = Subject { server: &tool.id.server, own, exposed: &tool.exposed, needs };
        let stopped = sieve.judge(subject).err();
        Explained {
            tool: tool.id.clone(),
            exposed: tool.exposed.clone(),
            stopped: stopped.map(|(level, stop)| (level, stop.to_string())),
        }
    });
    let withheld = catalog.withheld.iter().map(|it| {
        let level = match it.cause {
            Cause::NotOffered => Level::Server,
            Cause::Unusable => Level::Catalog,
            Cause::Untrusted => Level::Trust,
        };
        let (tool, exposed) = (it.tool.clone(), it.exposed.clone());
        Explained { tool, exposed, stopped: Some((level, it.why.clone())) }
    });
    let away = catalog.away.iter().map(|it| {
        let (tool, exposed) = (it.tool.clone(), it.exposed.clone());
        let why = format!("its server `{}` is not there", it.tool.server);
        Explained { tool, exposed, stopped: Some((Level::Away, why)) }
    });
    let mut all: Vec<Explained> = judged.chain(withheld).chain(away).collect();
    all.sort_by(|a, b| (&a.exposed, &a.tool).cmp(&(&b.exposed, &b.tool)));
    all
}
