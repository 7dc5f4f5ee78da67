//! One query to the models of an agent: the responding model, then the deltas of its answer,
//! whether it was streamed or not.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use parking_lot::Mutex;
use tollgate_engine::clock::Clock;
use tollgate_engine::model_usage::ModelReservation;
use tollgate_engine::spans::TraceScope;
use tollgate_mcp::offload::{LARGE, offload_if_large};

use super::offer::{RoundRequest, ToolOffer};
use super::{CompletionEvent, CompletionSink};
use crate::conversation::{ChatMessage, ChatRequest, ChatRole, MessagePart, ResponseDelivery};
use crate::delta::{ResponseDelta, steps};
use crate::error::{LlmError, LlmErrorKind};
use crate::gateway_report::StreamNote;
use crate::mode::{self, ToolModeDecoder};
use crate::model_capabilities::Feature;
use crate::provider::{DeltaStream, FallbackChain, ModelHandle};
use crate::turn::OfferedTools;
use crate::usage::{ModelUsageContext, StreamReservation, settle_response};

/// A query to a chain of models.
pub(super) struct ModelQuery {
    pub(super) clock: Arc<dyn Clock>,
    /// In order of preference.
    pub(super) models: Vec<Arc<ModelHandle>>,
    pub(super) offer: ToolOffer,
    pub(super) request: ChatRequest,
    /// Instruction at the end that is not part of the conversation.
    pub(super) aside: Option<String>,
    pub(super) until: Instant,
    /// Trace context of the query.
    pub(super) follow: TraceScope,
    pub(super) usage: ModelUsageContext,
    pub(super) voice: Option<CompletionSink>,
}

#[derive(Debug)]
pub(super) enum ModelEvent {
    Reached(RespondingModel),
    Delta(ResponseDelta),
}

/// The model that answers.
pub(super) struct RespondingModel {
    pub(super) model: Arc<ModelHandle>,
    /// Tools that can be called in the answer.
    pub(super) offered: OfferedTools,
    /// Parts of the request that the provider's dialect cannot express.
    pub(super) lost: Vec<String>,
}

impl std::fmt::Debug for RespondingModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reached").field("model", &self.model.settings.name).finish_non_exhaustive()
    }
}

pub(super) type ModelEventStream = BoxStream<'static, Result<ModelEvent, LlmError>>;

/// Dropping the stream cancels the query.
pub(super) fn ask(asking: ModelQuery) -> ModelEventStream {
    stream::once(Box::pin(reach(asking))).try_flatten().boxed()
}

/// Counting the tokens of a text takes about as long as parsing this many times as much JSON.
const COUNTING: usize = 16;

async fn reach(asking: ModelQuery) -> Result<ModelEventStream, LlmError> {
    let (asking, counted) = count_large(asking).await;
    let ModelQuery { clock, models, offer, request, aside, until, follow, usage, voice } = asking;
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
    // Belongs to the model that was queried last, which is the one that answers.
    let asked = Mutex::new((OfferedTools::default(), ToolModeDecoder::default()));
    let counted = Mutex::new(counted);
    let reserved = Mutex::new(None);
    let write = |model: &ModelHandle| {
        // The model before has failed.
        fail(reserved.lock().take());
        let is_first = models.first().is_some_and(|first| std::ptr::eq(&**first, model));
        let counted = counted.lock().take().filter(|_| is_first);
        let round = counted.unwrap_or_else(|| {
            offer.round(&with_aside(&request, aside.as_deref(), model), model)
        })?;
        let (request, reading) = mode::prepare(round.request, model.settings.tool_mode);
        *reserved.lock() = Some(usage.reserve(model, &request)?);
        *asked.lock() = (round.offered, reading);
        Ok(request)
    };
    let (reached, deltas) = match request.delivery {
        ResponseDelivery::Whole => {
            let reached = or_fail(chain.ask(write).await, &reserved)?;
            if let Some(reserved) = reserved.into_inner() {
                settle_response(reserved, &reached.answer);
            }
            let (offered, reading) = asked.into_inner();
            let steps = steps(&reading.whole(reached.answer)).into_iter();
            let steps = stream::iter(steps.map(|delta| Ok(ModelEvent::Delta(delta)))).boxed();
            (RespondingModel { model: reached.model, offered, lost: reached.lost }, steps)
        }
        ResponseDelivery::Streamed => {
            let reached = or_fail(chain.stream(write).await, &reserved)?;
            let (offered, reading) = asked.into_inner();
            let reserved = StreamReservation::new(reserved.into_inner());
            let steps = read(reached.answer, reading, reserved);
            (RespondingModel { model: reached.model, offered, lost: reached.lost }, steps)
        }
    };
    Ok(stream::iter([Ok(ModelEvent::Reached(reached))]).chain(deltas).boxed())
}

/// Counts large requests on the threads for large work: for the first model as a whole; for the
/// others the counts are cached.
async fn count_large(asking: ModelQuery) -> (ModelQuery, Option<Result<RoundRequest, LlmError>>) {
    let parts = asking.request.messages.iter().flat_map(|message| &message.parts);
    let size = parts.map(MessagePart::bytes).sum::<usize>().saturating_mul(COUNTING);
    if size <= LARGE {
        return (asking, None);
    }
    offload_if_large(size, move || {
        let first = asking.models.first();
        let round = first.map(|model| {
            let request = with_aside(&asking.request, asking.aside.as_deref(), model);
            asking.offer.round(&request, model)
        });
        (asking, round)
    })
    .await
}

/// Appends the instruction as a system message, or as marked text of the user where the model takes
/// no system message at the end.
fn with_aside<'r>(
    request: &'r ChatRequest,
    aside: Option<&str>,
    model: &ModelHandle,
) -> Cow<'r, ChatRequest> {
    let Some(aside) = aside else { return Cow::Borrowed(request) };
    let message = if model.takes(Feature::LateSystemMessage) {
        ChatMessage::text(ChatRole::System, aside)
    } else {
        ChatMessage::text(ChatRole::User, format!("<system>\n{aside}\n</system>"))
    };
    let mut request = request.clone();
    request.messages.push(message);
    request.options.ends_in_aside = true;
    Cow::Owned(request)
}

/// A request that was refused, or reached nobody, costs nothing. One that was given up costs its
/// question: the provider may have answered.
fn or_fail<T>(
    answer: Result<T, LlmError>,
    reserved: &Mutex<Option<ModelReservation>>,
) -> Result<T, LlmError> {
    if answer.as_ref().is_err_and(|failure| failure.kind != LlmErrorKind::Timeout) {
        fail(reserved.lock().take());
    }
    answer
}

fn fail(reserved: Option<ModelReservation>) {
    if let Some(reserved) = reserved {
        reserved.fail();
    }
}

/// A streamed answer as it is read.
struct AnswerReader {
    answer: DeltaStream,
    decoder: ToolModeDecoder,
    reserved: StreamReservation,
}

fn read(
    answer: DeltaStream,
    decoder: ToolModeDecoder,
    reserved: StreamReservation,
) -> ModelEventStream {
    let next = |mut reader: AnswerReader| async move {
        let deltas = match reader.answer.next().await? {
            Ok(delta) => {
                reader.reserved.note(&delta);
                reader.decoder.read(delta).into_iter().map(|it| Ok(ModelEvent::Delta(it))).collect()
            }
            Err(failure) => vec![Err(failure)],
        };
        Some((stream::iter(deltas), reader))
    };
    stream::unfold(AnswerReader { answer, decoder, reserved }, next).flatten().boxed()
}
