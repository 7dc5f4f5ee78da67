//! One question to the models of an agent: who answers, then the steps of the answer, whether it
//! came whole or as a stream.

use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use parking_lot::Mutex;
use tollgate_engine::clock::Clock;
use tollgate_engine::spans::Follow;
use tollgate_mcp::large::{LARGE, aside};

use super::offer::Offer;
use super::{Said, Voice};
use crate::conversation::{Delivery, Part, Request};
use crate::delta::{Delta, steps};
use crate::failure::Failure;
use crate::mode::{self, Reading};
use crate::provider::{Answering, Chain, Model};
use crate::told::Note;
use crate::turn::Offered;

/// A question.
pub(super) struct Asking {
    pub(super) clock: Arc<dyn Clock>,
    /// In order of preference.
    pub(super) models: Vec<Arc<Model>>,
    pub(super) offer: Offer,
    pub(super) request: Request,
    pub(super) until: Instant,
    /// What it is part of.
    pub(super) follow: Follow,
    pub(super) voice: Option<Voice>,
}

#[derive(Debug)]
pub(super) enum Heard {
    Reached(Reached),
    Delta(Delta),
}

/// Who answers.
pub(super) struct Reached {
    pub(super) model: Arc<Model>,
    /// What can be called in the answer.
    pub(super) offered: Offered,
    /// What the provider had no words for.
    pub(super) lost: Vec<String>,
}

impl std::fmt::Debug for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reached").field("model", &self.model.settings.name).finish_non_exhaustive()
    }
}

pub(super) type Answer = BoxStream<'static, Result<Heard, Failure>>;

/// Dropping the stream gives the question up.
pub(super) fn ask(asking: Asking) -> Answer {
    stream::once(Box::pin(reach(asking))).try_flatten().boxed()
}

async fn reach(asking: Asking) -> Result<Answer, Failure> {
    let Asking { clock, models, offer, request, until, follow, voice } = counted(asking).await;
    let on_fallback = |note: Note| {
        if let Some(voice) = &voice {
            voice.try_say(Said::Note(note));
        }
    };
    let chain = Chain {
        models: &models,
        clock: &*clock,
        until: Some(until),
        follow: &follow,
        on_fallback: &on_fallback,
    };
    // Of the model that was asked last, which is the one that answers.
    let asked = Mutex::new((Offered::default(), Reading::default()));
    let write = |model: &Model| {
        let round = offer.round(&request, model)?;
        let (request, reading) = mode::prepare(round.request, model.settings.tool_mode);
        *asked.lock() = (round.offered, reading);
        Ok(request)
    };
    let (reached, deltas) = match request.delivery {
        Delivery::Whole => {
            let reached = chain.ask(write).await?;
            let (offered, reading) = asked.into_inner();
            let steps = steps(&reading.whole(reached.answer)).into_iter();
            let steps = stream::iter(steps.map(|delta| Ok(Heard::Delta(delta)))).boxed();
            (Reached { model: reached.model, offered, lost: reached.lost }, steps)
        }
        Delivery::Streamed => {
            let reached = chain.stream(write).await?;
            let (offered, reading) = asked.into_inner();
            let steps = read(reached.answer, reading);
            (Reached { model: reached.model, offered, lost: reached.lost }, steps)
        }
    };
    Ok(stream::iter([Ok(Heard::Reached(reached))]).chain(deltas).boxed())
}

/// What is large is counted where nobody waits for it. Counts are remembered, so that it is done.
async fn counted(asking: Asking) -> Asking {
    let parts = asking.request.messages.iter().flat_map(|message| &message.parts);
    let size = parts.map(Part::bytes).sum();
    if size <= LARGE {
        return asking;
    }
    aside(size, move || {
        if let Some(model) = asking.models.first() {
            // Whether it fits is asked again, for every model.
            let _ = asking.offer.round(&asking.request, model);
        }
        asking
    })
    .await
}

fn read(answer: Answering, reading: Reading) -> Answer {
    let next = |(mut answer, mut reading): (Answering, Reading)| async move {
        let deltas = match answer.next().await? {
            Ok(delta) => reading.read(delta).into_iter().map(|it| Ok(Heard::Delta(it))).collect(),
            Err(failure) => vec![Err(failure)],
        };
        Some((stream::iter(deltas), (answer, reading)))
    };
    stream::unfold((answer, reading), next).flatten().boxed()
}
