//! Selects the tools offered to a model in a round: the client's tools unchanged, and those of the
//! view that fit into the model's context window, written in its dialect.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use quick_cache::sync::Cache;
use tollgate_core::agent::{Agent, ToolSearch};
use tollgate_core::approval;
use tollgate_core::call::{CallStatus, Outcome};
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::shaping;
use tollgate_core::tool::ToolReach;
use tollgate_core::view::View;

use crate::conversation::{self, ChatRequest, Function, FunctionCall};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::provider::ModelHandle;
use crate::tools;
use crate::turn::{OfferedTools, ToolRunMode, UnofferedToolPolicy};
use crate::window::{
    self, DisclosedTools, OfferCandidate, ToolPool, WindowFit, WindowRequest, search,
};

/// Views whose tools are cached.
const MAX_CACHED_VIEWS: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct ToolOffer {
    own: Option<GatewayTools>,
    standing: ToolOfferState,
}

/// Whether the offered tools can still be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolOfferState {
    Open,
    /// The tools are still declared, because the conversation mentions them.
    Withdrawn,
}

/// The gateway's tools in one turn.
#[derive(Debug, Clone)]
struct GatewayTools {
    agent: AgentId,
    view: Arc<View>,
    view_tools: Arc<ViewTools>,
    max_tools: usize,
    search: ToolSearch,
    disclosed: DisclosedTools,
}

/// The tools of a view, prepared for selection, under their names in the view.
#[derive(Debug)]
struct ViewTools {
    pool: ToolPool,
    pinned: Vec<Glob>,
}

/// The request of one round, and the tools that can be called in its answer.
#[derive(Debug, Clone)]
pub(super) struct RoundRequest {
    pub(super) request: ChatRequest,
    pub(super) offered: OfferedTools,
    pub(super) pruned: Vec<String>,
}

impl ToolOffer {
    /// Only the client's tools.
    pub(super) fn theirs() -> Self {
        Self { own: None, standing: ToolOfferState::Open }
    }

    /// The client's tools and those of the view.
    pub(super) fn of_view(agent: &Agent, view: &Arc<View>) -> Self {
        let own = GatewayTools {
            agent: agent.id.clone(),
            view: Arc::clone(view),
            view_tools: cached_view_tools(agent, view),
            max_tools: agent.persona.max_tools as usize,
            search: agent.persona.tool_search,
            disclosed: DisclosedTools::default(),
        };
        Self { own: Some(own), standing: ToolOfferState::Open }
    }

    /// From now on no tool can be called.
    pub(super) fn withdraw(&mut self) {
        self.standing = ToolOfferState::Withdrawn;
    }

    /// Filters the models whose window has room for the request. If none has, the error contains
    /// the numbers.
    pub(super) fn with_room(
        &self,
        request: &ChatRequest,
        models: Vec<Arc<ModelHandle>>,
    ) -> Result<Vec<Arc<ModelHandle>>, LlmError> {
        let Some(own) = &self.own else { return Ok(models) };
        let window_request = own.window_request(request);
        let rooms: Vec<window::ModelWindow<'_>> = models.iter().map(|model| room(model)).collect();
        let fits = |room: &window::ModelWindow<'_>| window::fit(&window_request, &[*room]).is_ok();
        let fit: Vec<Arc<ModelHandle>> = models
            .iter()
            .zip(&rooms)
            .filter(|(_, room)| fits(room))
            .map(|(model, _)| Arc::clone(model))
            .collect();
        if fit.is_empty() {
            // Check all of them together: the error then has the numbers of each.
            window::fit(&window_request, &rooms)?;
        }
        Ok(fit)
    }

    /// The request of this round for one model.
    pub(super) fn round(
        &self,
        request: &ChatRequest,
        model: &ModelHandle,
    ) -> Result<RoundRequest, LlmError> {
        let mut written = request.clone();
        written.model.clone_from(&model.settings.id);
        // The gateway keeps a conversation that a client wants to continue.
        written.options.store = Some(model.settings.store && request.options.store != Some(false));
        let theirs = request.client_tools().map(str::to_owned).collect();
        let others = if self.own.is_some() {
            UnofferedToolPolicy::Refused
        } else {
            UnofferedToolPolicy::Theirs
        };
        let mut offered = OfferedTools { own: BTreeMap::new(), theirs, others };
        let mut pruned = Vec::new();
        if let Some(own) = &self.own {
            written.options.cached_for = Some(own.agent.as_str().to_owned());
            let fit = window::fit(&own.window_request(request), &[room(model)])?;
            for (function, leave) in own.functions(&fit, dialect(model)) {
                // If the name in the dialect equals that of a client tool, the client's tool wins.
                if offered.theirs.contains(&function.name) {
                    continue;
                }
                offered.own.insert(function.name.clone(), leave);
                written.tools.push(conversation::ChatTool::Function(function));
            }
            pruned = fit.pruned;
        }
        if self.standing == ToolOfferState::Withdrawn {
            offered = OfferedTools::default();
        }
        Ok(RoundRequest { request: written, offered, pruned })
    }

    /// Answers a tool search; the tools it finds are offered from now on.
    pub(super) fn search(&mut self, request: &ChatRequest, call: &FunctionCall) -> Outcome {
        let found = match &self.own {
            Some(own) => search::search(&own.window_request(request), &call.arguments),
            None => Err(search::ToolSearchError::Unavailable),
        };
        match found {
            Ok(found) => {
                if let Some(own) = &mut self.own {
                    own.disclosed.add(&found);
                }
                shaping::gateway_answer(&found.text)
            }
            Err(why) => {
                shaping::failure(CallStatus::InvalidArguments, &why.to_string(), Duration::ZERO)
            }
        }
    }
}

impl GatewayTools {
    fn window_request<'a>(&'a self, request: &'a ChatRequest) -> WindowRequest<'a> {
        let Self { view_tools, max_tools, search, disclosed, .. } = self;
        let pool = &view_tools.pool;
        let max_tools = *max_tools;
        let search = *search;
        WindowRequest { request, pool, max_tools, search, disclosed }
    }

    /// The selected tools, under names that the dialect accepts.
    fn functions(&self, fit: &WindowFit, dialect: Dialect) -> Vec<(Function, ToolRunMode)> {
        let pool = &self.view_tools.pool;
        let kept = fit.included.iter().filter_map(|place| self.view.tool(pool.name(*place)));
        let kept = kept.map(|tool| {
            let leave = if approval::runs_by_itself(&self.view, tool) {
                ToolRunMode::Auto(tool.exposed.clone())
            } else {
                ToolRunMode::Manual
            };
            (tools::format_for_dialect(tool, dialect).function.clone(), leave)
        });
        kept.chain(fit.search.clone().map(|search| (search, ToolRunMode::Search))).collect()
    }
}

/// Computed once per view: views are shared by turns, and replaced on every change.
fn cached_view_tools(agent: &Agent, view: &Arc<View>) -> Arc<ViewTools> {
    /// Holds the view, so that no other view gets the same address.
    type CachedViewTools = (Arc<View>, Arc<ViewTools>);
    /// Key: address of the view.
    static VIEW_TOOLS_CACHE: LazyLock<Cache<usize, CachedViewTools>> =
        LazyLock::new(|| Cache::new(MAX_CACHED_VIEWS));
    let key = Arc::as_ptr(view).addr();
    let pinned = &agent.persona.pinned_tools;
    if let Some((_, view_tools)) = VIEW_TOOLS_CACHE.get(&key)
        && view_tools.pinned == *pinned
    {
        return view_tools;
    }
    let candidates = view.tools().iter().map(|tool| OfferCandidate {
        function: Function {
            name: tool.exposed.as_str().to_owned(),
            ..tools::format_for_dialect(tool, Dialect::OpenAiChat).function.clone()
        },
        title: tool.definition.title.clone(),
    });
    // Without the meta tools of code mode, tools that are called from code would be unreachable.
    let means = view.tools().iter().filter(|tool| tool.terms.reach == ToolReach::Means);
    let means = means.map(|tool| Glob::new(tool.exposed.as_str()));
    let stays: Vec<Glob> = pinned.iter().cloned().chain(means).collect();
    let pool = ToolPool::new(candidates, &stays);
    let view_tools = Arc::new(ViewTools { pool, pinned: pinned.clone() });
    VIEW_TOOLS_CACHE.insert(key, (Arc::clone(view), Arc::clone(&view_tools)));
    view_tools
}

fn room(model: &ModelHandle) -> window::ModelWindow<'_> {
    window::ModelWindow {
        name: &model.settings.name,
        window: u64::from(model.settings.context_window),
        max_output: u64::from(model.settings.max_output),
        dialect: dialect(model),
    }
}

/// The dialect of the model. An in-process model is offered tools in the simplest form.
pub(super) fn dialect(model: &ModelHandle) -> Dialect {
    model.dialect().unwrap_or(Dialect::OpenAiChat)
}
