//! The calls of a program, one by one through the gate, and what the program gets for them.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tollgate_core::approval::{self, Why};
use tollgate_core::call::{Extent, Kind, Outcome, Request, Retry, Status};
use tollgate_core::json::Object;
use tollgate_core::shaping::{self, Caps, Wording};
use tollgate_core::text::shortened;
use tollgate_core::tool::{Speech, Tool};
use tollgate_core::turn::Turn;
use tollgate_mcp::large::aside;
use tollgate_sandbox::frames::{Answer, Call};
use tollgate_sandbox::host::HostCalls;
use tollgate_sandbox::stopwatch::Stopwatch;

use super::super::{Gate, again};
use super::questions::passed_on;
use crate::caller::{Caller, Reply};
use crate::dialogue::EVENT_QUEUE;
use crate::settings::Unapproved;

/// What the trail says of calls that would have to wait.
const UNAPPROVED: &str = "needs a person's leave, and programs do not wait for it";
/// And of calls whose tool is not the agent's any more.
const TAKEN_AWAY: &str = "taken away while the program ran";
/// Calls of one program that run at the same time; the others wait for these.
const TOGETHER: usize = 16;
/// What all that is asked for at once may come to; the program has to take it in.
const MOST_BYTES: usize = 16 << 20;
/// Of what a tool says about its failure.
const LONGEST_MESSAGE: usize = 4 << 10;

/// What a program is run for.
pub(super) struct Host<'g> {
    pub(super) gate: &'g Gate,
    /// Its view is the one from inside a program.
    pub(super) turn: &'g Turn,
    pub(super) caller: Caller<'g>,
    pub(super) unapproved: Unapproved,
}

#[async_trait]
impl HostCalls for Host<'_> {
    async fn call(&self, calls: Vec<Call>, time: &Stopwatch) -> Vec<Answer> {
        let (events, said) =
            self.caller.events.as_ref().map(|_| mpsc::channel(EVENT_QUEUE)).unzip();
        let caller = Caller { events, ..self.caller.clone() };
        let room = Room(AtomicUsize::new(MOST_BYTES));
        let running = stream::iter(calls).map(|call| self.fitting(call, &room, (&caller, time)));
        // Room is given in the order of the calls, whichever of them is answered first.
        let running = running.buffered(TOGETHER).map(|answer| room.admit(answer)).collect();
        match (&self.caller.events, said) {
            (Some(to), Some(said)) => passed_on(running, said, (to, time)).await,
            _ => running.await,
        }
    }
}

impl Host<'_> {
    /// Calls for whose answers there is no room any more are not made.
    async fn fitting(&self, call: Call, room: &Room, way: (&Caller<'_>, &Stopwatch)) -> Answer {
        if room.is_full() { too_much() } else { self.one(call, way).await }
    }

    async fn one(&self, call: Call, (caller, time): (&Caller<'_>, &Stopwatch)) -> Answer {
        let book = self.turn.view.book();
        let place = call.tool as usize;
        let Some(tool) = book.tool(place) else {
            return failure(Status::Denied, "there is no such tool".to_owned());
        };
        let arguments = match book.arguments(place, &call.positional, &call.named) {
            Ok(arguments) => arguments,
            Err(message) => return failure(Status::InvalidArguments, message),
        };
        let mut params = Object::new();
        params.set_string("name", tool.exposed.as_str());
        params.set("arguments", arguments);
        let request = Request { kind: Kind::CallTool, params };
        // A program may outlive what was decided when it began.
        if again::now(self.turn, tool, &self.gate.registry).is_none() {
            let message = format!("`{}` was taken away while the program ran", tool.exposed);
            let outcome = self.gate.decline(self.turn, request, (&message, TAKEN_AWAY)).await;
            return answer(tool, outcome).await;
        }
        let now = self.gate.clock.now();
        let asks = approval::why(self.turn, caller.decided_by, tool, now);
        if let (Some(why), Unapproved::Refused) = (&asks, self.unapproved) {
            let message = format!("`{}` is not called in a program: {why}", tool.exposed);
            let because = match why {
                Why::Tainted { .. } => {
                    self.gate.taints.count_refused();
                    Cow::Owned(why.to_string())
                }
                Why::Always | Why::NotAutomatic | Why::Destructive => Cow::Borrowed(UNAPPROVED),
            };
            let outcome = self.gate.decline(self.turn, request, (&message, because)).await;
            return answer(tool, outcome).await;
        }
        // Whoever has to agree takes the time that people take; the call then keeps to its own.
        let _standing = asks.map(|_| time.hold());
        match self.gate.call(self.turn, request, caller.clone()).await {
            Ok(Reply::Tool(outcome)) => {
                let answer = answer(tool, outcome).await;
                if let Answer::Data(data) = &answer {
                    self.gate.lessons.take(&self.turn.principal, tool, data);
                }
                answer
            }
            Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
                let message = format!("`{}` wants more than a program can give it", tool.exposed);
                failure(Status::Error, message)
            }
            Err(error) => failure(error.status(), error.to_string()),
        }
    }
}

/// What is left for the answers to calls that were made together.
struct Room(AtomicUsize);

impl Room {
    fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// An answer for which there is too little room leaves none for those after it.
    fn admit(&self, answer: Answer) -> Answer {
        let Answer::Data(data) = &answer else { return answer };
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(data.get().len()), Ordering::Relaxed);
        if data.get().len() <= left { answer } else { too_much() }
    }
}

fn too_much() -> Answer {
    let most = MOST_BYTES >> 20;
    failure(Status::Error, format!("these calls gave more than {most} MiB; make fewer at once"))
}

async fn answer(tool: &Tool, outcome: Outcome) -> Answer {
    match (outcome.status, outcome.extent) {
        (Status::Ok | Status::NoResults, Extent::Whole) => {
            let size = outcome.result.get().len();
            Answer::Data(aside(size, move || shaping::raw_data(&outcome)).await)
        }
        (Status::Ok | Status::NoResults, Extent::Cut) => {
            let most = Caps::code().text_bytes >> 20;
            let message = format!(
                "`{}` gave more than a program can take ({most} MiB, not too deeply nested); ask it \
                 for less",
                tool.exposed
            );
            failure(Status::Error, message)
        }
        (status, _) => {
            let data = shaping::data(&outcome);
            let said = shaping::message(&Speech::default(), &outcome, &data, Wording::AsWritten);
            let retryable = outcome.retry != Retry::Pointless;
            let message = shortened(&said, LONGEST_MESSAGE);
            Answer::Failure { status: status.to_string(), message, retryable }
        }
    }
}

fn failure(status: Status, message: String) -> Answer {
    Answer::Failure { status: status.to_string(), message, retryable: false }
}
