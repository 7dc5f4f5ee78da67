//! Puts a gate together. The only place that knows its inner parts; whoever starts one brings what
//! is different from gate to gate.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_core::agent::Agent;
use tollgate_core::budget::Limits;
use tollgate_core::id::{AgentId, ServerId};

use super::{Choosing, Gate, Labels, late};
use crate::backend::Backend;
use crate::clock::Clock;
use crate::dialogue::parking::Parking;
use crate::executor::Executor;
use crate::meters::Meters;
use crate::notices::Notices;
use crate::probing::Probing;
use crate::record::{Observer, Recorder};
use crate::registry::{self, Registry};
use crate::results::Results;
use crate::reuse::Reuse;
use crate::seal::Seal;
use crate::servers::Servers;
use crate::settings::Budget;
use crate::watches::Watches;

/// What a gate is made of.
pub(crate) struct Made {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) meters: Arc<Meters>,
    /// The same that the meters tell moves to.
    pub(crate) notices: Notices,
    pub(crate) backends: HashMap<ServerId, Arc<dyn Backend>>,
    pub(crate) servers: Servers,
    pub(crate) watches: Watches,
    pub(crate) observers: Vec<Box<dyn Observer>>,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    pub(crate) labels: Labels,
    /// At least one.
    pub(crate) agents: Vec<Agent>,
    /// `None`: the first.
    pub(crate) default_agent: Option<AgentId>,
}

impl Gate {
    pub(crate) fn of(made: Made) -> Arc<Self> {
        let Made { clock, meters, agents, budget, .. } = made;
        let executor = Arc::new(Executor {
            backends: made.backends,
            clock: Arc::clone(&clock),
            seal: Seal::new(),
            parking: Parking::default(),
            meters: Arc::clone(&meters),
        });
        Arc::new(Self {
            registry: made.registry,
            servers: made.servers,
            watches: Arc::new(made.watches),
            recorder: Recorder { clock: Arc::clone(&clock), observers: made.observers },
            notices: made.notices,
            limits: made.limits,
            ceilings: budget.standing.ceilings,
            choosing: Choosing::new(&budget, &agents),
            labels: made.labels,
            meters,
            probing: Probing::default(),
            results: Results::new(Arc::clone(&clock)),
            default_agent: registry::default_agent(&agents, made.default_agent.as_ref()),
            agents,
            reuse: Reuse::new(Arc::clone(&executor)),
            late: late::waiting(),
            executor,
            clock,
        })
    }
}
