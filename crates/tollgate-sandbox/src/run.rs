//! One run of a program on a worker: sends the program, passes its calls to the host, collects its
//! prints, and stops it at its limits. The worker's messages are untrusted. Used by the sandbox.

use std::cmp::Reverse;
use std::pin::pin;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use crate::exit_reason;
use crate::failure::{out_of_time, program_error, program_error_with_hint, truncate_texts};
use crate::frame_io::{self, FrameRead, FrameReadError};
use crate::frames::{
    Answer, HostMessage, InterpreterLimits, MAX_FRAME_BYTES, ProgramCall, ProgramError,
    ProgramErrorKind, ProgramJob, ProgramResult, WorkerMessage,
};
use crate::host::HostCalls;
use crate::program::{ProgramOutcome, SandboxProgram, SandboxUnavailableError};
use crate::run_slots::RunSlot;
use crate::stopwatch::Stopwatch;
use crate::worker::WorkerProcess;

/// Statuses of calls that the gateway answers itself.
const REFUSAL_STATUSES: &[&str] = &["denied", "invalid_arguments"];

pub(crate) struct ProgramRun<'a> {
    program: &'a SandboxProgram<'a>,
    host: &'a dyn HostCalls,
    slot: RunSlot,
    /// Time of the whole run, since the program was submitted.
    time: Stopwatch,
    job: Vec<u8>,
    so_far: RunProgress,
}

#[derive(Debug, Default)]
struct RunProgress {
    prints: String,
    /// Including the refused ones.
    calls: u32,
    refused: u32,
}

/// How the run ended.
#[derive(Debug)]
pub(crate) enum RunEnd {
    Done(ProgramResult),
    Failed(ProgramError),
    /// The worker died before it got the program.
    NotTaken,
}

/// Why the exchange with the worker stopped.
enum ConversationStop {
    End(RunEnd),
    /// The worker closed its output.
    Gone,
}

impl<'a> ProgramRun<'a> {
    pub(crate) fn new(
        program: &'a SandboxProgram<'a>,
        host: &'a dyn HostCalls,
        slot: RunSlot,
        time: Stopwatch,
    ) -> Result<Self, SandboxUnavailableError> {
        let order = HostMessage::Run(ProgramJob {
            source: program.source.into(),
            names: std::borrow::Cow::Borrowed(program.names),
            fence: program.limits.fence,
        });
        let job = frame_io::frame(&order)
            .map_err(|error| SandboxUnavailableError::TooManyNames(error.to_string()))?;
        Ok(Self { program, host, slot, time, job, so_far: RunProgress::default() })
    }

    /// Dropping the future drops the worker, and so kills it.
    pub(crate) async fn on(
        &mut self,
        worker: WorkerProcess,
        shut: impl Future<Output = ()>,
    ) -> RunEnd {
        let mut worker = worker;
        let time = self.time.clone();
        let mut over = pin!(over(self.program, &time, shut));
        let stop = {
            let WorkerProcess { stdin, stdout, stderr, .. } = &mut worker;
            let conversation = WorkerConversation {
                host: self.host,
                fence: self.program.limits.fence,
                time: &time,
                slot: &mut self.slot,
                stdin,
                stdout,
                so_far: &mut self.so_far,
            };
            let talk = pin!(conversation.hold(&self.job));
            // Timers first: a worker that sends without a pause must not starve them.
            tokio::select! {
                biased;
                failed = &mut over => ConversationStop::End(RunEnd::Failed(failed)),
                never = stderr.follow() => match never {},
                stop = talk => stop,
            }
        };
        match stop {
            ConversationStop::End(end) => end,
            ConversationStop::Gone => tokio::select! {
                (status, last_words) = worker.wait_for_exit() => {
                    RunEnd::Failed(exit_reason::explain(status, &last_words))
                }
                failed = over => RunEnd::Failed(failed),
            },
        }
    }

    pub(crate) fn into_outcome(
        self,
        end: RunEnd,
        took: Duration,
    ) -> Result<ProgramOutcome, SandboxUnavailableError> {
        let RunProgress { prints, calls, refused } = self.so_far;
        let calls = calls.saturating_sub(refused);
        let most = usize::try_from(self.program.limits.fence.output_bytes).unwrap_or(usize::MAX);
        let (steps, result) = match end {
            RunEnd::Done(done) => {
                let bytes = prints.len() + done.result.as_ref().map_or(0, |it| it.get().len());
                let result = if bytes > most { Err(too_much(most)) } else { Ok(done.result) };
                (done.steps, result)
            }
            RunEnd::Failed(failed) => (0, Err(truncate_texts(failed))),
            RunEnd::NotTaken => return Err(SandboxUnavailableError::NotTaken),
        };
        Ok(ProgramOutcome { prints, calls, steps, took, result })
    }
}

/// Returns when the program has to be stopped, with the reason.
async fn over(
    program: &SandboxProgram<'_>,
    time: &Stopwatch,
    shut: impl Future<Output = ()>,
) -> ProgramError {
    let limit = program.limits.time;
    tokio::select! {
        biased;
        () = time.reaches(limit) => too_long(limit),
        () = at(program.until.map(Instant::from_std)) => turn_is_over(&time.reasons()),
        () = shut => shutting_down(),
    }
}

struct WorkerConversation<'c> {
    host: &'c dyn HostCalls,
    fence: InterpreterLimits,
    time: &'c Stopwatch,
    slot: &'c mut RunSlot,
    stdin: &'c mut tokio::process::ChildStdin,
    stdout: &'c mut tokio::io::BufReader<tokio::process::ChildStdout>,
    so_far: &'c mut RunProgress,
}

impl WorkerConversation<'_> {
    async fn hold(mut self, job: &[u8]) -> ConversationStop {
        if self.stdin.write_all(job).await.is_err() {
            return ConversationStop::End(RunEnd::NotTaken);
        }
        let mut frame = Vec::new();
        loop {
            match frame_io::read(self.stdout, &mut frame).await {
                Ok(FrameRead::Frame) => {}
                Ok(FrameRead::End) | Err(FrameReadError::Cut) => return ConversationStop::Gone,
                Err(error) => return nonsense(&error.to_string()),
            }
            let message = match serde_json::from_slice(&frame) {
                Ok(WorkerMessage::Print(text)) => self.print(&text),
                Ok(WorkerMessage::Calls(calls)) => self.call(calls).await,
                Ok(WorkerMessage::Done(done)) => return ConversationStop::End(RunEnd::Done(done)),
                Ok(WorkerMessage::Failed(failed)) => {
                    return ConversationStop::End(RunEnd::Failed(failed));
                }
                Ok(WorkerMessage::Ready { .. }) => {
                    return nonsense("it sent `ready` twice");
                }
                Err(error) => return nonsense(&error.to_string()),
            };
            if let Err(stop) = message {
                return stop;
            }
        }
    }

    /// Keeps what fits the limit.
    fn print(&mut self, text: &str) -> Result<(), ConversationStop> {
        let most = usize::try_from(self.fence.output_bytes).unwrap_or(usize::MAX);
        let left = most.saturating_sub(self.so_far.prints.len());
        if text.len() > left {
            self.so_far.prints.push_str(&text[..text.floor_char_boundary(left)]);
            return Err(ConversationStop::End(RunEnd::Failed(too_much(most))));
        }
        self.so_far.prints.push_str(text);
        Ok(())
    }

    async fn call(&mut self, calls: Vec<ProgramCall>) -> Result<(), ConversationStop> {
        let count = calls.len();
        let requested = u32::try_from(count).unwrap_or(u32::MAX);
        let made = self.so_far.calls.saturating_add(requested);
        if count == 0 {
            return Err(nonsense("it sent an empty list of calls"));
        }
        if made > self.fence.calls {
            return Err(ConversationStop::End(RunEnd::Failed(too_many_calls(self.fence.calls))));
        }
        if let Err(refused) = self.host.admit(requested) {
            let line = calls.first().map(|call| call.line);
            let refused = ProgramError {
                line,
                ..program_error(ProgramErrorKind::Calls, refused.to_string())
            };
            return Err(ConversationStop::End(RunEnd::Failed(refused)));
        }
        self.so_far.calls = made;
        let calls = self.host.call(calls, self.time);
        let Ok(answers) = self.slot.during(calls, self.time).await else {
            return Err(ConversationStop::End(RunEnd::Failed(shutting_down())));
        };
        // Calls that the gateway did not let through changed nothing.
        let refused = u32::try_from(answers.iter().filter(|it| is_refusal(it)).count());
        self.so_far.refused = self.so_far.refused.saturating_add(refused.unwrap_or(u32::MAX));
        if answers.len() != count {
            let message = format!("the gateway answered {} of {count} calls", answers.len());
            return Err(ConversationStop::End(RunEnd::Failed(program_error(
                ProgramErrorKind::Runtime,
                message,
            ))));
        }
        let Ok(frame) = frame_io::frame(&HostMessage::Answers(fitting(answers))) else {
            let message = "the results exceed the size of one frame".to_owned();
            return Err(ConversationStop::End(RunEnd::Failed(program_error(
                ProgramErrorKind::Runtime,
                message,
            ))));
        };
        // If the worker does not read, its exit status tells why.
        self.stdin.write_all(&frame).await.map_err(|_| ConversationStop::Gone)
    }
}

/// Whether the call reached no tool.
fn is_refusal(answer: &Answer) -> bool {
    match answer {
        Answer::Failure { status, .. } => REFUSAL_STATUSES.contains(&status.as_str()),
        Answer::Data(_) => false,
    }
}

/// Answers that do not fit into a frame become failures, which the program may catch; the largest
/// first.
fn fitting(mut answers: Vec<Answer>) -> Vec<Answer> {
    let most = MAX_FRAME_BYTES as usize / 2;
    let mut left: usize = answers.iter().map(size).sum();
    if left <= most {
        return answers;
    }
    let mut largest_first: Vec<&mut Answer> = answers.iter_mut().collect();
    largest_first.sort_by_cached_key(|answer| Reverse(size(answer)));
    for answer in largest_first {
        if left <= most {
            break;
        }
        let bytes = size(answer);
        *answer = Answer::Failure {
            status: "too_large".to_owned(),
            message: format!("the result has {bytes} bytes, too many for a program; request less"),
            retryable: false,
        };
        left = left - bytes + size(answer);
    }
    answers
}

/// Encoded size in a frame.
fn size(answer: &Answer) -> usize {
    match answer {
        Answer::Data(data) => data.get().len(),
        Answer::Failure { status, message, .. } => {
            json_byte_count(status) + json_byte_count(message)
        }
    }
}

/// Bytes of a text as JSON.
fn json_byte_count(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        0..=0x1f => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    });
    bytes.sum()
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn nonsense(why: &str) -> ConversationStop {
    let message = format!("the program's process was killed because it sent invalid data: {why}");
    ConversationStop::End(RunEnd::Failed(program_error(ProgramErrorKind::Runtime, message)))
}

fn too_long(limit: Duration) -> ProgramError {
    out_of_time(&format!("longer than its limit of {limit:?}"))
}

/// A program that waited for a person could not have done less.
fn turn_is_over(waits: &[String]) -> ProgramError {
    if waits.is_empty() {
        return out_of_time("longer than its turn");
    }
    let message = format!("the turn ended while the program waited: {}", waits.join("; "));
    let hint = "calls that wait for approval are better made outside of programs, where they can \
                be approved later";
    program_error_with_hint(ProgramErrorKind::Time, message, hint)
}

fn shutting_down() -> ProgramError {
    program_error(
        ProgramErrorKind::Runtime,
        "the program was stopped: the gateway is shutting down".to_owned(),
    )
}

fn too_much(most: usize) -> ProgramError {
    let message = format!("prints and `result` together are limited to {most} bytes");
    program_error_with_hint(
        ProgramErrorKind::Output,
        message,
        "print less; set `result` only to the needed values",
    )
}

fn too_many_calls(most: u32) -> ProgramError {
    let hint = "ask for more with each call, or do less in one program";
    program_error_with_hint(
        ProgramErrorKind::Calls,
        format!("a program is limited to {most} calls"),
        hint,
    )
}

#[cfg(test)]
mod tests;
