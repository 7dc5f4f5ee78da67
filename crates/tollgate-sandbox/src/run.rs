//! One program on one worker: gives it the program, passes its calls to the host, keeps its prints,
//! and ends it when it goes too far. What the worker says is not trusted. Used by the sandbox.

use std::cmp::Reverse;
use std::pin::pin;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

use crate::death;
use crate::failure::{failed, hinted, out_of_time, shortened};
use crate::frames::{Answer, Call, Done, Failed, Fence, Job, Kind, LONGEST, Order, Word};
use crate::host::HostCalls;
use crate::program::{Ended, Program, Unavailable};
use crate::seats::Seat;
use crate::stopwatch::Stopwatch;
use crate::wire::{self, Got, ReadError};
use crate::worker::Worker;

pub(crate) struct Run<'a> {
    program: &'a Program<'a>,
    host: &'a dyn HostCalls,
    seat: Seat,
    /// Of the whole run, from when the program was handed in.
    time: Stopwatch,
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
        seat: Seat,
        time: Stopwatch,
    ) -> Result<Self, Unavailable> {
        let order = Order::Run(Job {
            source: program.source.into(),
            names: std::borrow::Cow::Borrowed(program.names),
            fence: program.limits.fence,
        });
        let job =
            wire::frame(&order).map_err(|error| Unavailable::TooManyNames(error.to_string()))?;
        Ok(Self { program, host, seat, time, job, so_far: SoFar::default() })
    }

    /// Dropping the future drops the worker, and so kills it.
    pub(crate) async fn on(&mut self, worker: Worker, shut: impl Future<Output = ()>) -> End {
        let mut worker = worker;
        let time = self.time.clone();
        let mut over = pin!(over(self.program, &time, shut));
        let stop = {
            let Worker { stdin, stdout, stderr, .. } = &mut worker;
            let conversation = Conversation {
                host: self.host,
                fence: self.program.limits.fence,
                time: &time,
                seat: &mut self.seat,
                stdin,
                stdout,
                so_far: &mut self.so_far,
            };
            let talk = pin!(conversation.hold(&self.job));
            // Timers first: whoever talks without a pause must not keep them from being looked at.
            tokio::select! {
                biased;
                failed = &mut over => Stop::End(End::Failed(failed)),
                never = stderr.follow() => match never {},
                stop = talk => stop,
            }
        };
        match stop {
            Stop::End(end) => end,
            Stop::Gone => tokio::select! {
                (status, last_words) = worker.ended() => {
                    End::Failed(death::explain(status, &last_words))
                }
                failed = over => End::Failed(failed),
            },
        }
    }

    pub(crate) fn ended(self, end: End, took: Duration) -> Result<Ended, Unavailable> {
        let SoFar { prints, calls } = self.so_far;
        let most = usize::try_from(self.program.limits.fence.output_bytes).unwrap_or(usize::MAX);
        let (steps, result) = match end {
            End::Done(done) => {
                let bytes = prints.len() + done.result.as_ref().map_or(0, |it| it.get().len());
                let result = if bytes > most { Err(too_much(most)) } else { Ok(done.result) };
                (done.steps, result)
            }
            End::Failed(failed) => (0, Err(shortened(failed))),
            End::NotTaken => return Err(Unavailable::NotTaken),
        };
        Ok(Ended { prints, calls, steps, took, result })
    }
}

/// Ends when the program has to, whatever it does, and says why.
async fn over(program: &Program<'_>, time: &Stopwatch, shut: impl Future<Output = ()>) -> Failed {
    let limit = program.limits.time;
    tokio::select! {
        biased;
        () = time.reaches(limit) => too_long(limit),
        () = at(program.until.map(Instant::from_std)) => turn_is_over(),
        () = shut => shutting_down(),
    }
}

struct Conversation<'c> {
    host: &'c dyn HostCalls,
    fence: Fence,
    time: &'c Stopwatch,
    seat: &'c mut Seat,
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
        let calls = self.host.call(calls, self.time);
        let Ok(answers) = self.seat.during(calls, self.time).await else {
            return Err(Stop::End(End::Failed(shutting_down())));
        };
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

/// What does not fit into a frame becomes a failure that the program may catch, the largest first.
fn fitting(mut answers: Vec<Answer>) -> Vec<Answer> {
    let most = LONGEST as usize / 2;
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
            message: format!("the result has {bytes} bytes, too many for a program; ask for less"),
            retryable: false,
        };
        left = left - bytes + size(answer);
    }
    answers
}

/// As it is written into a frame.
fn size(answer: &Answer) -> usize {
    match answer {
        Answer::Data(data) => data.get().len(),
        Answer::Failure { status, message, .. } => written(status) + written(message),
    }
}

/// Bytes of a text in JSON.
fn written(text: &str) -> usize {
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
