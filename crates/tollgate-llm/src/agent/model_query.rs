//! One question to the models of an agent: who answers, then the steps of the answer, whether it
//! came whole or as a stream.

use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use parking_lot::Mutex;
use tollgate_engine::clock::Clock;
use tollgate_engine::spans::TraceScope;
use tollgate_mcp::offload::{LARGE, offload_if_large};

use super::offer::ToolOffer;
use super::{CompletionEvent, CompletionSink};
use crate::conversation::{ChatRequest, MessagePart, ResponseDelivery};
use crate::delta::{ResponseDelta, steps};
use crate::error::LlmError;
use crate::gateway_report::StreamNote;
use crate::mode::{self, ToolModeDecoder};
use crate::provider::{DeltaStream, FallbackChain, ModelHandle};
use crate::turn::OfferedTools;

/// A question.
pub(super) struct ModelQuery {
    pub(super) clock: Arc<dyn Clock>,
    /// In order of preference.
    pub(super) models: Vec<Arc<ModelHandle>>,
    pub(super) offer: ToolOffer,
    pub(super) request: ChatRequest,
    pub(super) until: Instant,
    /// What it is part of.
    pub(super) follow: TraceScope,
    pub(super) voice: Option<CompletionSink>,
}

#[derive(Debug)]
pub(super) enum ModelEvent {
    Reached(RespondingModel),
    Delta(ResponseDelta),
}

/// Who answers.
pub(super) struct RespondingModel {
    pub(super) model: Arc<ModelHandle>,
    /// What can be called in the answer.
    pub(super) offered: OfferedTools,
    /// What the provider had no words for.
    pub(super) lost: Vec<String>,
}

impl std::fmt::Debug for RespondingModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reached").field("model", &self.model.settings.name).finish_non_exhaustive()
    }
}

pub(super) type ModelEventStream = BoxStream<'static, Result<ModelEvent, LlmError>>;

/// Dropping the stream gives the question up.
pub(super) fn ask(asking: ModelQuery) -> ModelEventStream {
    stream::once(Box::pin(reach(asking))).try_flatten().boxed()
}

async fn reach(asking: ModelQuery) -> Result<ModelEventStream, LlmError> {
    let ModelQuery { clock, models, offer, request, until, follow, voice } =
        precount_tokens(asking).await;
    let on_fallback = |note: StreamNote| {
        if let Some(voice) = &voice {
            voice.try_say(CompletionEvent::Note(note));
        }
    };
    let chain = FallbackChain {
        models: &models,
        clock: &*clock,
        until: Some(until),
        follow: &follow,
        on_fallback: &on_fallback,
    };
    // Of the model that was asked last, which is the one that answers.
    let asked = Mutex::new((OfferedTools::default(), ToolModeDecoder::default()));
    let write = |model: &ModelHandle| {
        let round = offer.round(&request, model)?;
        let (request, reading) = mode::prepare(round.request, model.settings.tool_mode);
        *asked.lock() = (round.offered, reading);
        Ok(request)
    };
    let (reached, deltas) = match request.delivery {
        ResponseDelivery::Whole => {
            let reached = chain.ask(write).await?;
            let (offered, reading) = asked.into_inner();
            let steps = steps(&reading.whole(reached.answer)).into_iter();
            let steps = stream::iter(steps.map(|delta| Ok(ModelEvent::Delta(delta)))).boxed();
            (RespondingModel { model: reached.model, offered, lost: reached.lost }, steps)
        }
        ResponseDelivery::Streamed => {
            let reached = chain.stream(write).await?;
            let (offered, reading) = asked.into_inner();
            let steps = read(reached.answer, reading);
            (RespondingModel { model: reached.model, offered, lost: reached.lost }, steps)
        }
    };
    Ok(stream::iter([Ok(ModelEvent::Reached(reached))]).chain(deltas).boxed())
}

/// What is large is counted where nobody waits for it. Counts are remembered, so that it is done.
async fn precount_tokens(asking: ModelQuery) -> ModelQuery {
    let parts = asking.request.messages.iter().flat_map(|message| &message.parts);
    let size = parts.map(MessagePart::bytes).sum();
    if size <= LARGE {
        return asking;
    }
    offload_if_large(size, move || {
        if let Some(model) = asking.models.first() {
            // Whether it fits is asked again, for every model.
            let _ = asking.offer.round(&asking.request, model);
        }
        asking
    })
    .await
}

fn read(answer: DeltaStream, reading: ToolModeDecoder) -> ModelEventStream {
    let next = |(mut answer, mut reading): (DeltaStream, ToolModeDecoder)| async move {
        let deltas = match answer.next().await? {
            Ok(delta) => {
                reading.read(delta).into_iter().map(|it| Ok(ModelEvent::Delta(it))).collect()
            }
            Err(failure) => vec![Err(failure)],
        };
        Some((stream::iter(deltas), (answer, reading)))
    };
    stream::unfold((answer, reading), next).flatten().boxed()
}
