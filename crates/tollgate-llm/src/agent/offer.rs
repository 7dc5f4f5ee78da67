//! What a model is offered in a round: the client's tools as they came, and those of the gateway
//! that are in the view and fit into the model's window, written in its dialect.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use quick_cache::sync::Cache;
use tollgate_core::agent::{Agent, ToolSearch};
use tollgate_core::approval;
use tollgate_core::call::{Outcome, Status};
use tollgate_core::glob::Glob;
use tollgate_core::shaping;
use tollgate_core::tool::Reach;
use tollgate_core::view::View;

use crate::conversation::{self, Call, Function, Request};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::provider::Model;
use crate::tools;
use crate::turn::{Leave, Offered, Others};
use crate::window::{self, Asked, Candidate, Disclosed, Fit, Stock, search};

/// Views whose tools are kept ready.
const VIEWS: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Offer {
    own: Option<Own>,
    standing: Standing,
}

/// Whether what is shown can still be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    /// The tools are still declared, since the conversation speaks of them.
    Withdrawn,
}

/// The gateway's tools, for one turn.
#[derive(Debug, Clone)]
struct Own {
    view: Arc<View>,
    shelf: Arc<Shelf>,
    max_tools: usize,
    search: ToolSearch,
    disclosed: Disclosed,
}

/// The tools of a view, ready to be chosen from, under the view's own names for them.
#[derive(Debug)]
struct Shelf {
    stock: Stock,
    pinned: Vec<Glob>,
}

/// One round's request, and what can be called in the answer to it.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) request: Request,
    pub(super) offered: Offered,
    pub(super) pruned: Vec<String>,
}

impl Offer {
    /// The client's tools and nothing else.
    pub(super) fn theirs() -> Self {
        Self { own: None, standing: Standing::Open }
    }

    /// Those of the view, too.
    pub(super) fn of_view(agent: &Agent, view: &Arc<View>) -> Self {
        let own = Own {
            view: Arc::clone(view),
            shelf: shelf(agent, view),
            max_tools: agent.persona.max_tools as usize,
            search: agent.persona.tool_search,
            disclosed: Disclosed::default(),
        };
        Self { own: Some(own), standing: Standing::Open }
    }

    /// Nothing can be called any more.
    pub(super) fn withdraw(&mut self) {
        self.standing = Standing::Withdrawn;
    }

    /// Those of the models that have room for the request; if none has, the numbers are in the
    /// failure.
    pub(super) fn with_room(
        &self,
        request: &Request,
        models: Vec<Arc<Model>>,
    ) -> Result<Vec<Arc<Model>>, Failure> {
        let Some(own) = &self.own else { return Ok(models) };
        let asked = own.asked(request);
        let rooms: Vec<window::Room<'_>> = models.iter().map(|model| room(model)).collect();
        let fits = |room: &window::Room<'_>| window::fit(&asked, &[*room]).is_ok();
        let fit: Vec<Arc<Model>> = models
            .iter()
            .zip(&rooms)
            .filter(|(_, room)| fits(room))
            .map(|(model, _)| Arc::clone(model))
            .collect();
        if fit.is_empty() {
            // All of them together: the refusal has the numbers of each.
            window::fit(&asked, &rooms)?;
        }
        Ok(fit)
    }

    /// The request for one model.
    pub(super) fn round(&self, request: &Request, model: &Model) -> Result<Round, Failure> {
        let mut written = request.clone();
        written.model.clone_from(&model.settings.id);
        let theirs = request.client_tools().map(str::to_owned).collect();
        let others = if self.own.is_some() { Others::Refused } else { Others::Theirs };
        let mut offered = Offered { own: BTreeMap::new(), theirs, others };
        let mut pruned = Vec::new();
        if let Some(own) = &self.own {
            let fit = window::fit(&own.asked(request), &[room(model)])?;
            for (function, leave) in own.functions(&fit, dialect(model)) {
                // One that the dialect would call like a tool of the client is the client's.
                if offered.theirs.contains(&function.name) {
                    continue;
                }
                offered.own.insert(function.name.clone(), leave);
                written.tools.push(conversation::Tool::Function(function));
            }
            pruned = fit.pruned;
        }
        if self.standing == Standing::Withdrawn {
            offered = Offered::default();
        }
        Ok(Round { request: written, offered, pruned })
    }

    /// Answers a search for tools; what it finds is offered from now on.
    pub(super) fn search(&mut self, request: &Request, call: &Call) -> Outcome {
        let found = match &self.own {
            Some(own) => search::search(&own.asked(request), &call.arguments),
            None => Err("there is nothing to search".to_owned()),
        };
        match found {
            Ok(found) => {
                if let Some(own) = &mut self.own {
                    own.disclosed.add(&found);
                }
                shaping::stated(&found.text)
            }
            Err(why) => shaping::failure(Status::InvalidArguments, &why, Duration::ZERO),
        }
    }
}

impl Own {
    fn asked<'a>(&'a self, request: &'a Request) -> Asked<'a> {
        let Self { shelf, max_tools, search, disclosed, .. } = self;
        let (stock, max_tools, search) = (&shelf.stock, *max_tools, *search);
        Asked { request, stock, max_tools, search, disclosed }
    }

    /// Under names that the dialect takes.
    fn functions(&self, fit: &Fit, dialect: Dialect) -> Vec<(Function, Leave)> {
        let stock = &self.shelf.stock;
        let kept = fit.kept.iter().filter_map(|place| self.view.tool(stock.name(*place)));
        let kept = kept.map(|tool| {
            let leave = match approval::runs_by_itself(&self.view, tool) {
                true => Leave::Auto(tool.exposed.clone()),
                false => Leave::Manual,
            };
            (tools::function(tool, dialect).function.clone(), leave)
        });
        kept.chain(fit.search.clone().map(|search| (search, Leave::Search))).collect()
    }
}

/// Made once for a view: views are shared by turns, and replaced when anything changes.
fn shelf(agent: &Agent, view: &Arc<View>) -> Arc<Shelf> {
    /// The view is kept alive, so that no other gets its place.
    type Kept = (Arc<View>, Arc<Shelf>);
    /// By where the view is.
    static KEPT: LazyLock<Cache<usize, Kept>> = LazyLock::new(|| Cache::new(VIEWS));
    let key = Arc::as_ptr(view).addr();
    let pinned = &agent.persona.pinned_tools;
    if let Some((_, shelf)) = KEPT.get(&key)
        && shelf.pinned == *pinned
    {
        return shelf;
    }
    let candidates = view.tools().iter().map(|tool| Candidate {
        function: Function {
            name: tool.exposed.as_str().to_owned(),
            ..tools::function(tool, Dialect::OpenAiChat).function.clone()
        },
        title: tool.definition.title.clone(),
    });
    // Without the means of code mode, nothing could be reached that is called in code.
    let means = view.tools().iter().filter(|tool| tool.terms.reach == Reach::Means);
    let means = means.map(|tool| Glob::new(tool.exposed.as_str()));
    let stays: Vec<Glob> = pinned.iter().cloned().chain(means).collect();
    let stock = Stock::new(candidates, &stays);
    let shelf = Arc::new(Shelf { stock, pinned: pinned.clone() });
    KEPT.insert(key, (Arc::clone(view), Arc::clone(&shelf)));
    shelf
}

fn room(model: &Model) -> window::Room<'_> {
    window::Room {
        name: &model.settings.name,
        window: u64::from(model.settings.context_window),
        max_output: u64::from(model.settings.max_output),
        dialect: dialect(model),
    }
}

/// A model in process is offered tools in the plainest form.
pub(super) fn dialect(model: &Model) -> Dialect {
    model.dialect().unwrap_or(Dialect::OpenAiChat)
}
