//! One program on one worker: gives it the program, passes its calls to the host, keeps its prints,
//! and ends it when it goes too far. What the worker says is not trusted. Used by the sandbox.

use std::pin::pin;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use crate::death;
use crate::failure::{failed, hinted, out_of_time, shortened};
use crate::frames::{Answer, Call, Done, Failed, Fence, Job, Kind, LONGEST, Order, Word};
use crate::host::HostCalls;
use crate::program::{Ended, Program, Unavailable};
use crate::stopwatch::Stopwatch;
use crate::wire::{self, Got, ReadError};
use crate::worker::Worker;

pub(crate) struct Run<'a> {
    program: &'a Program<'a>,
    host: &'a dyn HostCalls,
    job: Vec<u8>,
    so_far: SoFar,
}

#[derive(Debug, Default)]
struct SoFar {
    prints: String,
    calls: u32,
}

/// How it went.
#[derive(Debug)]
pub(crate) enum End {
    Done(Done),
    Failed(Failed),
    /// The worker was dead before it had the program.
    NotTaken,
}

/// Where a conversation stopped.
enum Stop {
    End(End),
    /// The worker closed its output.
    Gone,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        program: &'a Program<'a>,
        host: &'a dyn HostCalls,
    ) -> Result<Self, Unavailable> {
        let order = Order::Run(Job {
            source: program.source.into(),
            names: std::borrow::Cow::Borrowed(program.names),
            fence: program.limits.fence,
        });
        let job =
            wire::frame(&order).map_err(|error| Unavailable::TooManyNames(error.to_string()))?;
        Ok(Self { program, host, job, so_far: SoFar::default() })
    }

    /// Dropping the future drops the worker, and so kills it.
    pub(crate) async fn on(&mut self, worker: Worker, shut: impl Future<Output = ()>) -> End {
        let mut worker = worker;
        let time = Stopwatch::start();
        let limits = self.program.limits;
        let until = self.program.until.map(Instant::from_std);
        let stop = {
            let Worker { stdin, stdout, stderr, .. } = &mut worker;
            let conversation = Conversation {
                host: self.host,
                fence: limits.fence,
                time: &time,
                stdin,
                stdout,
                so_far: &mut self.so_far,
            };
            let talk = pin!(conversation.hold(&self.job));
            // Timers first: whoever talks without a pause must not keep them from being looked at.
            tokio::select! {
                biased;
                () = time.reaches(limits.time) => Stop::End(End::Failed(too_long(limits.time))),
                () = at(until) => Stop::End(End::Failed(turn_is_over())),
                () = shut => Stop::End(End::Failed(shutting_down())),
                never = stderr.follow() => match never {},
                stop = talk => stop,
            }
        };
        match stop {
            Stop::End(end) => end,
            Stop::Gone => {
                let (status, last_words) = worker.ended().await;
                End::Failed(death::explain(status, &last_words))
            }
        }
    }

    pub(crate) fn ended(self, end: End, took: Duration) -> Ended {
        let SoFar { prints, calls } = self.so_far;
        let most = usize::try_from(self.program.limits.fence.output_bytes).unwrap_or(usize::MAX);
        let (steps, result) = match end {
            End::Done(done) => {
                let bytes = prints.len() + done.result.as_ref().map_or(0, |it| it.get().len());
                let result = if bytes > most { Err(too_much(most)) } else { Ok(done.result) };
                (done.steps, result)
            }
            End::Failed(failed) => (0, Err(shortened(failed))),
            End::NotTaken => {
                let message = "two workers died before they could run the program; try again";
                (0, Err(failed(Kind::Runtime, message.to_owned())))
            }
        };
        Ended { prints, calls, steps, took, result }
    }
}

struct Conversation<'c> {
    host: &'c dyn HostCalls,
    fence: Fence,
    time: &'c Stopwatch,
    stdin: &'c mut tokio::process::ChildStdin,
    stdout: &'c mut tokio::io::BufReader<tokio::process::ChildStdout>,
    so_far: &'c mut SoFar,
}

impl Conversation<'_> {
    async fn hold(mut self, job: &[u8]) -> Stop {
        if self.stdin.write_all(job).await.is_err() {
            return Stop::End(End::NotTaken);
        }
        let mut frame = Vec::new();
        loop {
            match wire::read(self.stdout, &mut frame).await {
                Ok(Got::Frame) => {}
                Ok(Got::End) | Err(ReadError::Cut) => return Stop::Gone,
                Err(error) => return nonsense(&error.to_string()),
            }
            let heard = match serde_json::from_slice(&frame) {
                Ok(Word::Print(text)) => self.print(&text),
                Ok(Word::Calls(calls)) => self.call(calls).await,
                Ok(Word::Done(done)) => return Stop::End(End::Done(done)),
                Ok(Word::Failed(failed)) => return Stop::End(End::Failed(failed)),
                Ok(Word::Ready { .. }) => return nonsense("it said `ready` in the middle"),
                Err(error) => return nonsense(&error.to_string()),
            };
            if let Err(stop) = heard {
                return stop;
            }
        }
    }

    /// Keeps what fits.
    fn print(&mut self, text: &str) -> Result<(), Stop> {
        let most = usize::try_from(self.fence.output_bytes).unwrap_or(usize::MAX);
        let left = most.saturating_sub(self.so_far.prints.len());
        if text.len() > left {
            self.so_far.prints.push_str(&text[..text.floor_char_boundary(left)]);
            return Err(Stop::End(End::Failed(too_much(most))));
        }
        self.so_far.prints.push_str(text);
        Ok(())
    }

    async fn call(&mut self, calls: Vec<Call>) -> Result<(), Stop> {
        let count = calls.len();
        let made = self.so_far.calls.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        if count == 0 {
            return Err(nonsense("it called nothing"));
        }
        if made > self.fence.calls {
            return Err(Stop::End(End::Failed(too_many_calls(self.fence.calls))));
        }
        self.so_far.calls = made;
        let answers = self.host.call(calls, self.time).await;
        if answers.len() != count {
            let message = format!("the gateway answered {} of {count} calls", answers.len());
            return Err(Stop::End(End::Failed(failed(Kind::Runtime, message))));
        }
        let Ok(frame) = wire::frame(&Order::Answers(fitting(answers))) else {
            let message = "the answers do not fit into one frame".to_owned();
            return Err(Stop::End(End::Failed(failed(Kind::Runtime, message))));
        };
        // What became of a worker that does not listen is read from its end.
        self.stdin.write_all(&frame).await.map_err(|_| Stop::Gone)
    }
}

/// Results that do not fit into a frame become failures that the program may catch, the largest
/// first.
fn fitting(mut answers: Vec<Answer>) -> Vec<Answer> {
    let most = LONGEST as usize / 2;
    let mut left: usize = answers.iter().map(size).sum();
    while left > most
        && let Some(largest) = answers.iter_mut().max_by_key(|answer| size(answer))
    {
        let bytes = size(largest);
        left -= bytes;
        *largest = Answer::Failure {
            status: "too_large".to_owned(),
            message: format!("the result has {bytes} bytes, too many for a program; ask for less"),
            retryable: false,
        };
    }
    answers
}

fn size(answer: &Answer) -> usize {
    match answer {
        Answer::Data(data) => data.get().len(),
        // Its own words are short.
        Answer::Failure { .. } => 0,
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn nonsense(why: &str) -> Stop {
    let message = format!("the program's process was ended, because it spoke nonsense: {why}");
    Stop::End(End::Failed(failed(Kind::Runtime, message)))
}

fn too_long(limit: Duration) -> Failed {
    out_of_time(&format!("longer than the {limit:?} that it has"))
}

fn turn_is_over() -> Failed {
    out_of_time("longer than the turn that it belongs to")
}

fn shutting_down() -> Failed {
    failed(Kind::Runtime, "the program was ended: the gateway is shutting down".to_owned())
}

fn too_much(most: usize) -> Failed {
    let message = format!("prints and `result` may have {most} bytes together");
    hinted(Kind::Output, message, "print less; set `result` to the few things that are needed")
}

fn too_many_calls(most: u32) -> Failed {
    let hint = "ask for more with each call, or do less in one program";
    hinted(Kind::Calls, format!("a program may make {most} calls"), hint)
}

#[cfg(test)]
mod tests;
