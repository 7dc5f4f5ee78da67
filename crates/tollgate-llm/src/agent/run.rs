//! Runs a prepared completion round by round, until the model is done or a limit of the turn is
//! reached.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::StreamExt;
use tollgate_core::agent::{Engine, MixedResponse};
use tollgate_core::turn::CallBudget;
use tollgate_engine::spans::{TraceScope, TraceSpan};

use super::agent_span::begin_agent_span;
use super::calls::{CallRound, HandledCall, with_tool_deadline};
use super::inline_results::inline_results;
use super::model_query::{self, ModelEvent, ModelQuery, RespondingModel};
use super::offer::ToolOffer;
use super::opener::{Opener, SpokenTextDetector};
use super::own_results::OwnResults;
use super::prepare::PreparedCompletion;
use super::response_stream::ResponseStream;
use super::{AgentTurn, ChatService, CompletionOutcome, CompletionSink, CompletionTimes};
use crate::conversation::{
    ChatMessage, ChatRequest, ChatResponse, ChatRole, MessageList, MessagePart, PartContent,
    StopReason, TokenUsage, ToolChoice,
};
use crate::delta::{PartOpening, ResponseAssembly, ResponseDelta};
use crate::error::{LlmError, LlmErrorKind, ResendSafety};
use crate::gateway_report::{ExecutedCall, GatewayReport, LoopEnd, StreamNote};
use crate::provider::{ModelHandle, record_usage};
use crate::turn::{
    self, AfterCalls, OfferedTools, SortedCalls, TurnCallIds, TurnSpending, TurnStep,
};
use crate::usage::ModelUsageContext;

/// Time limit of one completion, over all rounds.
const MAX_COMPLETION_TIME: Duration = Duration::from_secs(600);

/// Said in place of an answer for which the results of the tools leave no room.
const NO_ROOM_LEFT: &str =
    "(The tools ran, but their results leave the model no room for an answer.)";

/// A completion in progress.
pub(super) struct CompletionRun {
    chat: Arc<ChatService>,
    acting: Option<AgentTurn>,
    chain: Vec<Arc<ModelHandle>>,
    offer: ToolOffer,
    /// Tools that could be called in the last answer.
    offered: OfferedTools,
    /// The conversation so far, without the gateway's own tools.
    request: ChatRequest,
    /// Index of the message where the answer begins.
    answer_start: usize,
    /// The first sentence of a sentence cascade.
    opener: Opener,
    /// Results that can be shortened when they outgrow the window.
    own_results: OwnResults,
    spent: TurnSpending,
    bounds: turn::TurnBounds,
    /// Shared with the turn: calls made by the model's programs draw from it as well.
    calls: Arc<CallBudget>,
    /// Deadline of the completion, however slow the models are.
    until: Instant,
    response_stream: ResponseStream,
    usage: TokenUsage,
    ran: Vec<ExecutedCall>,
    rounds: u32,
    times: CompletionTimes,
    /// Parts of the request that the provider's dialect cannot express.
    lost: Vec<String>,
    /// Trace context: the span of the whole turn, if there is an agent.
    follow: TraceScope,
    span: TraceSpan,
    usage_context: ModelUsageContext,
}

impl CompletionRun {
    pub(super) fn new(prepared: PreparedCompletion, voice: Option<CompletionSink>) -> Self {
        let PreparedCompletion {
            chat,
            mut acting,
            chain,
            offer,
            request,
            bounds,
            trace,
            usage,
            ..
        } = prepared;
        let follow = TraceScope { tracer: chat.gate.tracer().clone(), trace };
        let span = begin_agent_span(&follow, acting.as_ref());
        let follow = follow.within(&span);
        let calls = Arc::new(CallBudget::new(bounds.calls));
        if let Some(acting) = &mut acting {
            acting.turn.trace.clone_from(&follow.trace);
            acting.turn.calls = Some(Arc::clone(&calls));
        }
        let until = chat.clock.now() + MAX_COMPLETION_TIME;
        let ids = TurnCallIds::behind(&request.messages);
        let mut response_stream = ResponseStream::new(ids, voice);
        if acting.is_some() && request.options.output.is_some() {
            response_stream.show_only_last_text();
        }
        Self {
            chat,
            acting,
            chain,
            offer,
            offered: OfferedTools::default(),
            answer_start: request.messages.len(),
            until,
            response_stream,
            request,
            opener: Opener::default(),
            own_results: OwnResults::default(),
            spent: TurnSpending::default(),
            bounds,
            calls,
            usage: TokenUsage::default(),
            ran: Vec::new(),
            rounds: 0,
            times: CompletionTimes::default(),
            lost: Vec::new(),
            follow,
            span,
            usage_context: usage,
        }
    }

    /// An error is returned only if no tool has run yet, or it states that some have.
    pub(super) async fn run_to_end(mut self) -> Result<CompletionOutcome, LlmError> {
        let last = self.last_response().await;
        self.end_span(last.as_ref().err());
        match last {
            Ok(last) => Box::pin(self.close(last)).await,
            Err(failure) if self.ran.is_empty() => Err(failure),
            Err(failure) => {
                let message = format!(
                    "{failure}; tools had been called before this and are in the audit trail"
                );
                Err(LlmError { repeat: ResendSafety::RunsToolsAgain, message, ..failure })
            }
        }
    }

    fn end_span(&mut self, failure: Option<&LlmError>) {
        let usage = &self.usage;
        let rounds = self.rounds;
        self.span.tell(|attributes| {
            record_usage(attributes, usage);
            attributes.set("tollgate.rounds", u64::from(rounds));
        });
        match failure {
            None => self.span.complete(),
            Some(failure) => self.span.fail_quoting(failure.kind.code(), || failure.to_string()),
        }
    }

    /// Everything after the first round is boxed: a stream without tool calls does not pay for its
    /// size.
    async fn last_response(&mut self) -> Result<CompletionEnd, LlmError> {
        let mut response = self.first_round().await?;
        loop {
            let step = turn::next(&response, &self.offered, &self.spent, &self.bounds);
            let (sorted, then) = match step {
                TurnStep::Finish(ended) => return Ok(self.finish(response, ended).await),
                TurnStep::Deal { sorted, then } => (sorted, then),
            };
            if then == AfterCalls::Return {
                // The answer ends with the calls that the client has seen.
                self.opener.give_way(&mut self.response_stream).await;
            }
            let stop = response.stop.clone();
            Box::pin(self.deal(response, &sorted)).await;
            match then {
                AfterCalls::Ask => {}
                AfterCalls::Return => return Ok(Box::pin(self.return_pending_calls(stop)).await),
                AfterCalls::Conclude(ended) => {
                    self.offer.withdraw();
                    self.request.tool_choice = ToolChoice::None;
                    return match self.round_within_window().await {
                        Ok(Some(response)) => Ok(self.finish(response, ended).await),
                        Ok(None) => Ok(self.end_without_room().await),
                        Err(failure) => self.end_at_limit(failure).await,
                    };
                }
            }
            response = match self.round_within_window().await {
                Ok(Some(response)) => response,
                Ok(None) => return Ok(self.end_without_room().await),
                Err(failure) => return self.end_at_limit(failure).await,
            };
        }
    }

    /// A limit on the use of models that is reached after tools ran ends the answer: they would run
    /// again if the client had to repeat its request.
    async fn end_at_limit(&mut self, failure: LlmError) -> Result<CompletionEnd, LlmError> {
        if failure.kind != LlmErrorKind::ModelLimit {
            return Err(failure);
        }
        let text = format!("[Stopped here: {failure}.]");
        self.request.messages.push(ChatMessage::text(ChatRole::Assistant, &text));
        self.response_stream.say(text).await;
        Ok(CompletionEnd { stop: StopReason::End, ended: LoopEnd::ModelLimit })
    }

    async fn first_round(&mut self) -> Result<ChatResponse, LlmError> {
        if let Some(fast) = self.opener_model() {
            Box::pin(self.begin_with_opener(&fast)).await;
        }
        self.round().await
    }

    /// The model that speaks the first sentence. None is needed if the answer is not streamed, and
    /// a sentence before it would spoil an answer in JSON.
    fn opener_model(&self) -> Option<Arc<ModelHandle>> {
        let engine = &self.acting.as_ref()?.agent.persona.engine;
        let Engine::SentenceCascade { opener } = engine else { return None };
        self.response_stream.voice()?;
        if self.request.options.output.is_some() {
            return None;
        }
        self.chat.models().find(opener)
    }

    /// The strong model waits a little, so that it can be told a quick opener.
    async fn begin_with_opener(&mut self, fast: &Arc<ModelHandle>) {
        let began = self.chat.clock.now();
        let strong = self.model();
        self.opener = Opener::ask(self.model_query(), fast, &strong.settings.id);
        let head_start = self.chat.answer_times.head_start(&strong.settings.name);
        self.opener.speak_for(&mut self.response_stream, head_start).await;
        self.times.models += self.chat.clock.now().saturating_duration_since(began);
    }

    /// Queries the model once and forwards the client's share of the answer.
    async fn round(&mut self) -> Result<ChatResponse, LlmError> {
        self.rounds += 1;
        self.response_stream.next_round().await;
        let began = self.chat.clock.now();
        let answer = model_query::ask(self.model_query());
        self.hear(answer, began).await
    }

    /// A round after tools ran. What their results take too much of the window is not the client's
    /// fault: the oldest of them are shortened. `None`: even that is not enough.
    async fn round_within_window(&mut self) -> Result<Option<ChatResponse>, LlmError> {
        let is_too_long = |failure: &LlmError| failure.kind == LlmErrorKind::TooLong;
        loop {
            match self.round().await {
                Err(failure) if is_too_long(&failure) && !self.ran.is_empty() => {
                    self.rounds -= 1;
                    // Half of the results at a time: each try counts all tokens once more, or asks the
                    // provider.
                    let half = self.own_results.len().div_ceil(2);
                    let shortened = (0..half).filter(|_| self.shorten_oldest_result()).count();
                    if shortened == 0 {
                        return Ok(None);
                    }
                }
                answered => return answered.map(Some),
            }
        }
    }

    fn shorten_oldest_result(&mut self) -> bool {
        let Some(acting) = &self.acting else { return false };
        let messages = &mut self.request.messages;
        self.own_results.shorten_oldest(&self.chat.gate, &acting.turn, messages)
    }

    /// Ends with what was said so far, because the model cannot be asked again.
    async fn end_without_room(&mut self) -> CompletionEnd {
        self.opener.give_way(&mut self.response_stream).await;
        self.request.messages.push(ChatMessage::text(ChatRole::Assistant, NO_ROOM_LEFT));
        self.response_stream.say(NO_ROOM_LEFT.to_owned()).await;
        CompletionEnd { stop: StopReason::Length, ended: LoopEnd::ContextWindow }
    }

    fn model_query(&self) -> ModelQuery {
        ModelQuery {
            clock: Arc::clone(&self.chat.clock),
            models: self.chain.clone(),
            offer: self.offer.clone(),
            request: self.request.clone(),
            aside: self.opener.note_to_strong(),
            until: self.until,
            follow: self.follow.clone(),
            usage: self.usage_context.clone(),
            voice: self.response_stream.voice().cloned(),
        }
    }

    async fn hear(
        &mut self,
        mut answer: model_query::ModelEventStream,
        began: Instant,
    ) -> Result<ChatResponse, LlmError> {
        let mut round = ResponseAssembly::default();
        let mut before_text = HeldDeltas::default();
        loop {
            let next = self.opener.speak_during(&mut self.response_stream, answer.next()).await;
            let Some(heard) = next else { break };
            match heard? {
                ModelEvent::Reached(reached) => self.adopt_model(reached).await,
                ModelEvent::Delta(delta) => {
                    if !self.opener.is_over() && before_text.texts.are_in(&delta) {
                        self.opener.give_way(&mut self.response_stream).await;
                    }
                    before_text.deltas.push(delta);
                    if self.opener.is_over() {
                        self.take(&mut before_text.deltas, &mut round).await;
                    }
                }
            }
        }
        if before_text.deltas.iter().any(|delta| self.is_shown(delta)) {
            self.opener.finish_sentence(&mut self.response_stream).await;
        }
        self.take(&mut before_text.deltas, &mut round).await;
        let took = self.chat.clock.now().saturating_duration_since(began);
        self.times.models += took;
        let broken =
            || LlmError::new(LlmErrorKind::Provider, "the model's response was interrupted");
        let response = round.finish().ok_or_else(broken)?;
        self.chat.answer_times.record(&self.model().settings.name, took);
        self.chat.figures.record_usage(&self.model().settings.name, &response.usage);
        self.usage = self.usage.and(&response.usage);
        Ok(response)
    }

    async fn take(&mut self, deltas: &mut Vec<ResponseDelta>, round: &mut ResponseAssembly) {
        for delta in deltas.drain(..) {
            self.response_stream.take(delta, &self.offered, round).await;
        }
    }

    /// Whether the client sees a part begin.
    fn is_shown(&self, delta: &ResponseDelta) -> bool {
        match delta {
            ResponseDelta::Open { opening: PartOpening::Call { name, .. }, .. } => {
                self.offered.is_shown(name)
            }
            ResponseDelta::Open { .. } => true,
            _ => false,
        }
    }

    /// The model that answered last, or the first of the chain.
    fn model(&self) -> Arc<ModelHandle> {
        Arc::clone(self.chain.first().expect("prepared for at least one model"))
    }

    /// The model that began a turn continues it, because only it can read its own thoughts.
    async fn adopt_model(&mut self, reached: RespondingModel) {
        let RespondingModel { model, offered, lost } = reached;
        if let Some(at) = self.chain.iter().position(|it| Arc::ptr_eq(it, &model)) {
            self.chain.drain(..at);
        }
        self.offered = offered;
        if !lost.is_empty() {
            self.response_stream.note(StreamNote::Lost(lost.clone())).await;
            self.lost = lost;
        }
    }

    /// Produces a result for every call that is not the client's, and adds calls and results to the
    /// history.
    async fn deal(&mut self, response: ChatResponse, sorted: &SortedCalls) {
        let Some(acting) = &self.acting else {
            self.add_answer(response);
            return;
        };
        let began = self.chat.clock.now();
        let left = self.bounds.tool_time.map(|all| all.saturating_sub(self.spent.tool_time));
        let turn = with_tool_deadline(&acting.turn, left, began);
        let gate = &*self.chat.gate;
        let voice = self.response_stream.voice().cloned();
        let model = self.model();
        let room = CallRound { gate, turn: &turn, model: &model, voice: voice.as_ref() };
        // Counted before they run; calls made by programs among them are added on top.
        let dealt_with = sorted.run.len() + sorted.search.len() + sorted.refused.len();
        self.calls.count(u32::try_from(dealt_with).unwrap_or(u32::MAX));
        let running = room.run(&sorted.run);
        let mut dealt = self.opener.speak_during(&mut self.response_stream, running).await;
        self.spent.tool_time += self.chat.clock.now().saturating_duration_since(began);
        self.spent.calls = self.calls.used_calls();
        self.spent.depth += 1;
        for call in &sorted.search {
            let outcome = self.offer.search(&self.request, call);
            dealt.push(room.finish_call(call, &outcome).await);
        }
        for (call, why) in &sorted.refused {
            dealt.push(room.refuse(call, *why, &self.offered).await);
        }
        // The model is told a whole sentence.
        self.opener.finish_sentence(&mut self.response_stream).await;
        self.keep(response, dealt);
        self.request.tool_choice = turn::relax_choice(&self.request.tool_choice);
    }

    /// Adds the answer to the history, then the results in the order of its calls.
    fn keep(&mut self, response: ChatResponse, mut dealt: Vec<HandledCall>) {
        let order: HashMap<String, usize> =
            response.calls().enumerate().map(|(at, call)| (call.id.clone(), at)).collect();
        self.add_answer(response);
        dealt.sort_by_key(|dealt| order.get(&dealt.ran.id).copied());
        let mut results = Vec::new();
        let place = self.request.messages.len();
        for HandledCall { ran, result, own } in dealt {
            self.ran.push(ran);
            if let Some(own) = own {
                self.own_results.add(place, own);
            }
            results.push(MessagePart::new(PartContent::Result(result)));
        }
        if !results.is_empty() {
            self.request.messages.push(ChatMessage::new(ChatRole::User, results));
        }
    }

    /// Adds an answer to the history, with the opener if it was said meanwhile.
    fn add_answer(&mut self, mut response: ChatResponse) {
        self.opener.record_in(&mut response);
        self.request.messages.push(response.into_message());
    }

    /// Ends with calls that wait for the client.
    async fn return_pending_calls(&mut self, stop: StopReason) -> CompletionEnd {
        let form = self.acting.as_ref().map(|acting| acting.agent.persona.mixed_response);
        let stop = if form == Some(MixedResponse::Inline) && !self.ran.is_empty() {
            self.response_stream
                .say(inline_results(&self.request.messages[self.answer_start..]))
                .await;
            StopReason::End
        } else if stop.is_whole() {
            StopReason::Calls
        } else {
            stop
        };
        CompletionEnd { stop, ended: LoopEnd::CallsPending }
    }

    async fn finish(&mut self, mut response: ChatResponse, ended: LoopEnd) -> CompletionEnd {
        self.opener.give_way(&mut self.response_stream).await;
        let has_calls = response.calls().next().is_some();
        let (stop, ended) = match (&response.stop, has_calls) {
            // The model called tools that are no longer run.
            (StopReason::Calls, true) => (StopReason::End, ended),
            // Calls of a kind that only its dialect has: the client runs them.
            (StopReason::Calls, false) => (StopReason::Calls, LoopEnd::CallsPending),
            (stop, _) => (stop.clone(), ended),
        };
        // A history with calls that never get results would be rejected when sent back.
        response.parts.retain(|part| part.as_call().is_none());
        self.add_answer(response);
        CompletionEnd { stop, ended }
    }

    async fn close(mut self, last: CompletionEnd) -> Result<CompletionOutcome, LlmError> {
        if let Some(acting) = &self.acting {
            self.chat.figures.record_rounds(&acting.agent.id, self.rounds);
        }
        let report = self.acting.is_some().then(|| GatewayReport {
            ended: last.ended,
            model: self.model().settings.name.clone(),
            rounds: self.rounds,
            history: if self.ran.is_empty() {
                MessageList::default()
            } else {
                self.request.messages.split_off(self.answer_start)
            },
            calls: std::mem::take(&mut self.ran),
        });
        let times = CompletionTimes { tools: self.spent.tool_time, ..self.times };
        let response = self.response_stream.close(last.stop, self.usage).await;
        let response = response
            .ok_or_else(|| LlmError::new(LlmErrorKind::Internal, "the response is incomplete"))?;
        Ok(CompletionOutcome { response, report, times, lost: self.lost })
    }
}

/// Deltas of a round that wait for the opener.
#[derive(Default)]
struct HeldDeltas {
    deltas: Vec<ResponseDelta>,
    texts: SpokenTextDetector,
}

/// How a completion ends.
struct CompletionEnd {
    stop: StopReason,
    ended: LoopEnd,
}

#[cfg(test)]
mod tests;
