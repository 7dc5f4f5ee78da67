//! Puts a gate together. The only place that knows its inner parts; whoever starts one brings what
//! is different from gate to gate.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tollgate_core::id::ServerId;

use super::choose::Choices;
use super::code::{self, Lessons};
use super::origin::Taints;
use super::{Gate, Held, late};
use crate::approvals::Approvals;
use crate::audit::Ledger;
use crate::backend::Backend;
use crate::calls::Calls;
use crate::clock::Clock;
use crate::conversations::Conversations;
use crate::dialogue::parking::Parking;
use crate::executor::Executor;
use crate::limits::Limits;
use crate::memory::Mind;
use crate::meters::Meters;
use crate::notices::Notices;
use crate::probing::Probing;
use crate::record::Observer;
use crate::recorder::Recorder;
use crate::registry::Registry;
use crate::results::Results;
use crate::reuse::Reuse;
use crate::revocations::Revocations;
use crate::seal::Seal;
use crate::servers::Servers;
use crate::settings::Code;
use crate::spans::Tracer;
use crate::upstream::Trials;
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
    pub(crate) trials: Trials,
    pub(crate) watches: Watches,
    pub(crate) observers: Vec<Box<dyn Observer>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) environment: String,
    pub(crate) code: Code,
    pub(crate) mind: Option<Arc<Mind>>,
    pub(crate) tracer: Tracer,
}

impl Gate {
    pub(crate) fn of(made: Made) -> Arc<Self> {
        let Made { clock, meters, .. } = made;
        let executor = Arc::new(Executor {
            backends: ArcSwap::from_pointee(made.backends),
            clock: Arc::clone(&clock),
            seal: Seal::new(),
            parking: Parking::new(Arc::clone(&made.ledger)),
            meters: Arc::clone(&meters),
            tracer: made.tracer.clone(),
        });
        Arc::new(Self {
            registry: made.registry,
            limits: Arc::new(Limits::new(Arc::clone(&clock))),
            revocations: Revocations::default(),
            approvals: Approvals::new(
                Arc::clone(&clock),
                made.notices.clone(),
                Arc::clone(&made.ledger),
            ),
            held: Held::default(),
            servers: made.servers,
            trials: made.trials,
            watches: Arc::new(made.watches),
            recorder: Recorder {
                clock: Arc::clone(&clock),
                observers: made.observers,
                ledger: made.ledger,
                calls: Calls::new(Arc::clone(&clock)),
                tracer: made.tracer.clone(),
            },
            tracer: made.tracer,
            notices: made.notices,
            environment: made.environment,
            sandbox: ArcSwap::from_pointee(code::sandbox(&made.code)),
            lessons: Lessons::default(),
            mind: made.mind,
            conversations: Conversations::default(),
            choices: Choices::default(),
            taints: Taints::default(),
            meters,
            probing: Probing::default(),
            results: Results::new(Arc::clone(&clock)),
            reuse: Reuse::new(Arc::clone(&executor)),
            late: late::waiting(),
            executor,
            clock,
        })
    }
}
