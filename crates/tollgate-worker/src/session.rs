//! The state of one run for the program's functions: its output, remaining calls, and the pipe to
//! the gateway. Independent of the interpreter's values.

#![expect(
    unsafe_code,
    unused_qualifications,
    reason = "what the interpreter's macros derive for a value of its"
)]

use std::cell::{Cell, RefCell};
use std::io;

use starlark::any::ProvidesStaticType;
use starlark::eval::Evaluator;
use tollgate_sandbox::frames::{
    Answer, HostMessage, InterpreterLimits, MAX_WORKER_MESSAGE_BYTES, ProgramCall,
    ProgramErrorKind, WorkerMessage,
};

use crate::failure::ProgramStopError;
use crate::pipe::{FramePipe, FrameSendError};
use crate::watchdog::ProgressClock;

/// The first prints are sent at once, so that they are not lost if the process dies; later ones are
/// buffered.
const AT_ONCE: u32 = 100;
/// Bytes of prints that are buffered.
const WAITING: usize = 4 << 10;
/// Bytes of prints in one frame: escapes make a text up to six times as long.
const PIECE: usize = MAX_WORKER_MESSAGE_BYTES as usize / 8;

#[derive(ProvidesStaticType)]
pub(crate) struct WorkerSession {
    pipe: RefCell<FramePipe>,
    fence: InterpreterLimits,
    progress: ProgressClock,
    calls: Cell<u32>,
    /// Bytes that may still be printed or returned.
    room: Cell<u64>,
    prints: Cell<u32>,
    waiting: RefCell<String>,
    /// Why the gateway cannot be reached any more.
    lost: RefCell<Option<io::Error>>,
}

impl WorkerSession {
    pub(crate) fn new(pipe: FramePipe, fence: InterpreterLimits, progress: ProgressClock) -> Self {
        Self {
            pipe: RefCell::new(pipe),
            fence,
            progress,
            calls: Cell::new(0),
            room: Cell::new(fence.output_bytes),
            prints: Cell::new(0),
            waiting: RefCell::default(),
            lost: RefCell::default(),
        }
    }

    /// The session of the running program.
    pub(crate) fn of<'a>(eval: &Evaluator<'_, 'a, '_>) -> &'a Self {
        eval.extra.and_then(|it| it.downcast_ref()).expect("every program runs in a session")
    }

    pub(crate) fn fence(&self) -> &InterpreterLimits {
        &self.fence
    }

    pub(crate) fn progress(&self) -> &ProgressClock {
        &self.progress
    }

    /// Bytes that may still be printed or returned.
    pub(crate) fn room(&self) -> usize {
        usize::try_from(self.room.get()).unwrap_or(usize::MAX)
    }

    pub(crate) fn print(&self, text: &str) -> Result<(), ProgramStopError> {
        let fits = text.floor_char_boundary(self.room().min(text.len()));
        self.waiting.borrow_mut().push_str(&text[..fits]);
        self.room.set(self.room.get().saturating_sub(fits as u64));
        if fits < text.len() {
            return Err(self.output_is_full());
        }
        self.prints.set(self.prints.get().saturating_add(1));
        if self.prints.get() <= AT_ONCE || self.waiting.borrow().len() >= WAITING {
            return self.flush();
        }
        Ok(())
    }

    pub(crate) fn output_is_full(&self) -> ProgramStopError {
        let most = self.fence.output_bytes;
        ProgramStopError::new(
            ProgramErrorKind::Output,
            format!("prints and `result` together are larger than {most} bytes"),
            "print and return only the needed values: select fields, shorten lists, count",
        )
    }

    /// Sends the buffered prints.
    pub(crate) fn flush(&self) -> Result<(), ProgramStopError> {
        let waiting = self.waiting.take();
        let mut rest = waiting.as_str();
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.floor_char_boundary(PIECE));
            self.say(&WorkerMessage::Print(piece.to_owned()))?;
            rest = later;
        }
        Ok(())
    }

    /// Fails once the gateway is gone. A message that is too long does not change that state.
    pub(crate) fn say(&self, word: &WorkerMessage) -> Result<(), ProgramStopError> {
        if self.lost.borrow().is_some() {
            return Err(ProgramStopError::bare(
                ProgramErrorKind::Runtime,
                "the gateway has disconnected",
            ));
        }
        self.pipe.borrow_mut().say(word).map_err(|unsaid| match unsaid {
            FrameSendError::TooLong(_) => ProgramStopError::new(
                ProgramErrorKind::Memory,
                unsaid.to_string(),
                "pass less data",
            ),
            FrameSendError::Lost(error) => self.lose(error),
        })
    }

    /// One answer for each call, in the same order.
    pub(crate) fn call(&self, calls: Vec<ProgramCall>) -> Result<Vec<Answer>, ProgramStopError> {
        let requested = calls.len();
        let used = self.calls.get().saturating_add(u32::try_from(requested).unwrap_or(u32::MAX));
        if used > self.fence.calls {
            return Err(ProgramStopError::new(
                ProgramErrorKind::Calls,
                format!("a program is limited to {} tool calls", self.fence.calls),
                "use a tool that handles many items at once, or do less in one program",
            ));
        }
        self.calls.set(used);
        self.flush()?;
        self.say(&WorkerMessage::Calls(calls))?;
        let received = self.pipe.borrow_mut().hear().map_err(|error| self.lose(error))?;
        self.progress.record();
        match serde_json::from_slice(&received) {
            Ok(HostMessage::Answers(answers)) if answers.len() == requested => Ok(answers),
            Ok(_) => Err(self.lose(io::Error::other("a message that does not answer the calls"))),
            Err(error) => Err(self.lose(error.into())),
        }
    }

    /// Why the gateway was lost, if it was: the program's end cannot be reported then.
    pub(crate) fn into_lost(self) -> Option<io::Error> {
        self.lost.into_inner()
    }

    fn lose(&self, error: io::Error) -> ProgramStopError {
        let stop = ProgramStopError::bare(
            ProgramErrorKind::Runtime,
            format!("the gateway has disconnected: {error}"),
        );
        *self.lost.borrow_mut() = Some(error);
        stop
    }
}
