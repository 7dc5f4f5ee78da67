//! One model that can be asked, in process or at a provider.

use std::sync::Arc;

use http::{Response as HttpResponse, Uri};
use tollgate_core::trace::Trace;
use tollgate_engine::clock::Clock;

use super::answering::Answering;
use super::ask_error::AskError;
use super::endpoint::Endpoint;
use super::pass::{Passed, PassedBody};
use super::question;
use super::remote::Remote;
use crate::conversation::{Request, Response};
use crate::dialect::Dialect;
use crate::failure::{Failure, Kind};
use crate::offline;
use crate::settings::{self, ProviderKind};

pub struct Model {
    pub settings: settings::Model,
    place: Place,
    clock: Arc<dyn Clock>,
}

enum Place {
    InProcess,
    Remote(Box<Endpoint>),
    /// For live sessions only.
    Live(Arc<Remote>),
}

/// What came of one attempt, and what the provider's dialect had no words for.
pub(super) struct Answered<T> {
    pub(super) answer: T,
    pub(super) lost: Vec<String>,
}

impl Model {
    pub(super) fn in_process(settings: settings::Model, clock: Arc<dyn Clock>) -> Self {
        Self { settings, place: Place::InProcess, clock }
    }

    pub(super) fn remote(
        settings: settings::Model,
        remote: Arc<Remote>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let place = match settings.is_live_at(remote.settings.kind) {
            true => Place::Live(remote),
            false => Place::Remote(Box::new(Endpoint::new(&settings, remote)?)),
        };
        Ok(Self { settings, place, clock })
    }

    /// The provider that serves it. `None`: it is in process.
    pub(super) fn provider(&self) -> Option<&Remote> {
        match &self.place {
            Place::InProcess => None,
            Place::Remote(endpoint) => Some(endpoint.remote()),
            Place::Live(remote) => Some(remote),
        }
    }

    /// Where its provider is.
    pub(super) fn origin(&self) -> Option<&Uri> {
        self.provider().map(|remote| remote.base.origin())
    }

    /// Of which kind its provider is. `None`: it is in process.
    pub fn provider_kind(&self) -> Option<ProviderKind> {
        self.provider().map(|remote| remote.settings.kind)
    }

    /// Whether it can be asked nothing but live sessions.
    pub fn is_live(&self) -> bool {
        matches!(self.place, Place::Live(_))
    }

    /// In which it is chatted with. `None`: it is in process, or for live sessions.
    pub fn dialect(&self) -> Option<Dialect> {
        match &self.place {
            Place::InProcess | Place::Live(_) => None,
            Place::Remote(endpoint) => Some(endpoint.dialect()),
        }
    }

    /// One attempt. Dropping the future gives it up.
    pub async fn ask(&self, request: &Request) -> Result<Response, AskError> {
        Ok(self.answer(request, None).await?.answer)
    }

    /// One attempt. Returns once something of the answer has come: from then on there is no other
    /// attempt, and a failure is the stream's last item.
    pub async fn stream(&self, request: &Request) -> Result<Answering, AskError> {
        Ok(self.answer_in_steps(request, None).await?.answer)
    }

    /// Hands a client's request on as it is, with this model's name in it, and the answer back as
    /// it is. The client must speak this model's dialect. Attempts are repeated like those of a
    /// chain; what fails in the end fails in the provider's own words, where a client may read them.
    pub async fn pass(&self, mut passed: Passed) -> Result<HttpResponse<PassedBody>, AskError> {
        match &self.place {
            Place::Remote(endpoint) => {
                let mut span = question::begin(&passed.follow, self, passed.delivery);
                passed.follow = passed.follow.within(&span);
                let answer = endpoint.pass(passed, &*self.clock).await;
                match &answer {
                    Ok(response) if response.status().is_success() => span.done(),
                    Ok(response) => {
                        span.failed(response.status().as_str().to_owned(), String::new);
                    }
                    Err(error) => question::failed(&mut span, &error.failure),
                }
                answer.map(|answer| answer.map(|body| body.told_by(span)))
            }
            Place::InProcess => {
                let message = format!("model `{}` is in process", self.settings.name);
                Err(AskError::never(Failure::new(Kind::Internal, message)))
            }
            Place::Live(_) => Err(self.only_live()),
        }
    }

    /// Further attempts after one that failed.
    pub(super) fn retries(&self) -> u32 {
        match &self.place {
            Place::InProcess | Place::Live(_) => 0,
            Place::Remote(endpoint) => endpoint.retries(),
        }
    }

    pub(super) async fn answer(
        &self,
        request: &Request,
        trace: Option<&Trace>,
    ) -> Result<Answered<Response>, AskError> {
        match &self.place {
            Place::InProcess => {
                let answer = offline::answer(request, self.clock.wall());
                Ok(Answered { answer, lost: Vec::new() })
            }
            Place::Remote(endpoint) => endpoint.ask(request, (trace, self.clock.wall())).await,
            Place::Live(_) => Err(self.only_live()),
        }
    }

    pub(super) async fn answer_in_steps(
        &self,
        request: &Request,
        trace: Option<&Trace>,
    ) -> Result<Answered<Answering>, AskError> {
        match &self.place {
            Place::InProcess => {
                let response = offline::answer(request, self.clock.wall());
                let answer = Answering::spoken(offline::steps(&response));
                Ok(Answered { answer, lost: Vec::new() })
            }
            Place::Remote(endpoint) => endpoint.stream(request, (trace, self.clock.wall())).await,
            Place::Live(_) => Err(self.only_live()),
        }
    }

    fn only_live(&self) -> AskError {
        let message = format!(
            "model `{}` is for live sessions (`GET /v1/realtime`); chats need another",
            self.settings.name
        );
        AskError::never(Failure::invalid("model", message))
    }
}
