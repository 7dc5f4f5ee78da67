//! Puts a gate together. The only place that knows its inner parts; whoever starts one brings what
//! is different from gate to gate.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tollgate_core::id::ServerId;

use super::code::{self, LearnedTypes};
use super::tier_choice::TierChoiceCounts;
use super::turn_links::SessionTaints;
use super::{Gate, Held, late_results};
use crate::approvals::ApprovalQueue;
use crate::audit::AuditLedger;
use crate::backend::Backend;
use crate::builtin::file_links::FileLinks;
use crate::calls::CallTracker;
use crate::clock::Clock;
use crate::conversations::Conversations;
use crate::dialogue::parking::CallParking;
use crate::executor::Executor;
use crate::limits::RateLimiter;
use crate::memory::MemoryService;
use crate::meters::ToolMeters;
use crate::model_usage::ModelUsageMeter;
use crate::notices::Notices;
use crate::probe_limiter::ProbeLimiter;
use crate::random::RandomSource;
use crate::record::Observer;
use crate::recorder::Recorder;
use crate::registry::CatalogRegistry;
use crate::resource_watches::ResourceWatches;
use crate::results::ResultStore;
use crate::reuse::CallReuse;
use crate::revocations::Revocations;
use crate::seal::Seal;
use crate::servers::ServerDirectory;
use crate::settings::CodeModeSettings;
use crate::spans::Tracer;
use crate::upstream::TrialRunner;

/// What a gate is made of.
pub(crate) struct GateParts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) registry: Arc<CatalogRegistry>,
    pub(crate) meters: Arc<ToolMeters>,
    /// The same that the meters tell moves to.
    pub(crate) notices: Notices,
    pub(crate) backends: HashMap<ServerId, Arc<dyn Backend>>,
    pub(crate) servers: ServerDirectory,
    pub(crate) trials: TrialRunner,
    pub(crate) watches: ResourceWatches,
    pub(crate) observers: Vec<Box<dyn Observer>>,
    pub(crate) ledger: Arc<AuditLedger>,
    pub(crate) environment: String,
    pub(crate) code: CodeModeSettings,
    pub(crate) memory_service: Option<Arc<MemoryService>>,
    pub(crate) model_usage: Arc<ModelUsageMeter>,
    pub(crate) links: Arc<FileLinks>,
    pub(crate) tracer: Tracer,
}

impl Gate {
    pub(crate) fn of(made: GateParts) -> Arc<Self> {
        let GateParts { clock, random, meters, .. } = made;
        let executor = Arc::new(Executor {
            backends: ArcSwap::from_pointee(made.backends),
            clock: Arc::clone(&clock),
            random: Arc::clone(&random),
            seal: Seal::new(),
            parking: CallParking::new(Arc::clone(&made.ledger)),
            meters: Arc::clone(&meters),
            tracer: made.tracer.clone(),
        });
        Arc::new(Self {
            registry: made.registry,
            limits: Arc::new(RateLimiter::new(Arc::clone(&clock))),
            revocations: Revocations::default(),
            approvals: ApprovalQueue::new(
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
                random: Arc::clone(&random),
                observers: made.observers,
                ledger: made.ledger,
                calls: CallTracker::new(Arc::clone(&clock)),
                tracer: made.tracer.clone(),
            },
            tracer: made.tracer,
            notices: made.notices,
            environment: made.environment,
            sandbox: ArcSwap::from_pointee(code::sandbox(&made.code)),
            learned_types: LearnedTypes::default(),
            memory_service: made.memory_service,
            model_usage: made.model_usage,
            links: made.links,
            conversations: Conversations::default(),
            choices: TierChoiceCounts::default(),
            taints: SessionTaints::default(),
            meters,
            probing: ProbeLimiter::default(),
            results: ResultStore::new(Arc::clone(&clock), Arc::clone(&random)),
            reuse: CallReuse::new(Arc::clone(&executor)),
            late: late_results::waiting(),
            executor,
            clock,
            random,
        })
    }
}
