//! The three kinds of requests to a target: a whole answer, a stream, and a request that is passed
//! through as it is.

use std::time::SystemTime;

use http::Response;
use tollgate_core::trace::Trace;

use crate::conversation::{
    ChatRequest, ChatResponse, ModelOrigin, ResponseDelivery, readable_reasoning,
};
use crate::provider::delta_stream::DeltaStream;
use crate::provider::endpoint::{AttemptAnswer, DeclinedError, ModelEndpoint};
use crate::provider::pass_through::{PassThroughBody, PassThroughRequest};
use crate::provider::target_health::TargetAttempt;

/// A request that any target of a pool can answer.
pub(in crate::provider) trait TargetQuery: Sync {
    type Answer: Send;

    /// Whether a second target may be asked beside a slow one.
    fn may_be_hedged(&self) -> bool;

    /// The model that made the reasoning of the history, where it is known.
    fn reasoning_origin(&self) -> Option<ModelOrigin>;

    fn ask(
        &self,
        endpoint: &ModelEndpoint,
    ) -> impl Future<Output = Result<Self::Answer, DeclinedError>> + Send;

    /// Records in the attempt that the answer, or its beginning, is here.
    fn record(&self, answer: Self::Answer, attempt: TargetAttempt) -> Self::Answer;
}

pub(in crate::provider) struct WholeQuery<'a> {
    pub(in crate::provider) request: &'a ChatRequest,
    pub(in crate::provider) trace: Option<&'a Trace>,
    pub(in crate::provider) wall: SystemTime,
}

impl TargetQuery for WholeQuery<'_> {
    type Answer = AttemptAnswer<ChatResponse>;

    fn may_be_hedged(&self) -> bool {
        false
    }

    fn reasoning_origin(&self) -> Option<ModelOrigin> {
        readable_reasoning::latest_origin(&self.request.messages)
    }

    async fn ask(&self, endpoint: &ModelEndpoint) -> Result<Self::Answer, DeclinedError> {
        Ok(endpoint.ask(self.request, self.trace, self.wall).await?)
    }

    fn record(&self, answer: Self::Answer, mut attempt: TargetAttempt) -> Self::Answer {
        attempt.record_answer();
        answer
    }
}

pub(in crate::provider) struct StreamQuery<'a> {
    pub(in crate::provider) request: &'a ChatRequest,
    pub(in crate::provider) trace: Option<&'a Trace>,
    pub(in crate::provider) wall: SystemTime,
}

impl TargetQuery for StreamQuery<'_> {
    type Answer = AttemptAnswer<DeltaStream>;

    fn may_be_hedged(&self) -> bool {
        true
    }

    fn reasoning_origin(&self) -> Option<ModelOrigin> {
        readable_reasoning::latest_origin(&self.request.messages)
    }

    async fn ask(&self, endpoint: &ModelEndpoint) -> Result<Self::Answer, DeclinedError> {
        Ok(endpoint.stream(self.request, self.trace, self.wall).await?)
    }

    fn record(&self, mut answer: Self::Answer, mut attempt: TargetAttempt) -> Self::Answer {
        attempt.record_first_token();
        answer.answer.record_in(attempt);
        answer
    }
}

pub(in crate::provider) struct PassQuery {
    pub(in crate::provider) passed: PassThroughRequest,
    pub(in crate::provider) wall: SystemTime,
}

impl TargetQuery for PassQuery {
    type Answer = Response<PassThroughBody>;

    fn may_be_hedged(&self) -> bool {
        self.passed.delivery == ResponseDelivery::Streamed
    }

    /// What a provider sends to its own client names no endpoint.
    fn reasoning_origin(&self) -> Option<ModelOrigin> {
        None
    }

    async fn ask(&self, endpoint: &ModelEndpoint) -> Result<Self::Answer, DeclinedError> {
        endpoint.pass(&self.passed, self.wall).await
    }

    fn record(&self, answer: Self::Answer, mut attempt: TargetAttempt) -> Self::Answer {
        match self.passed.delivery {
            ResponseDelivery::Whole => attempt.record_answer(),
            ResponseDelivery::Streamed => attempt.record_first_token(),
        }
        answer
    }
}
