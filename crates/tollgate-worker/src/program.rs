//! Runs one program from its source to its final message. Called by `main`, by tests and by the
//! fuzzer; it reaches only the pipe it is given.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::value::RawValue;
use starlark::environment::{Globals, Module};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect, DialectTypes};
use tollgate_sandbox::frames::{
    InterpreterLimits, Names, ProgramError, ProgramErrorKind, ProgramJob, ProgramResult,
    WorkerMessage,
};

use crate::bindings::{self, MissedServer};
pub use crate::builtins::globals;
use crate::check::check;
use crate::convert::to_json;
use crate::failure::{FILE, ProgramPhase, ProgramStopError, describe_error, describe_stop};
use crate::hints::{HintContext, LESS};
use crate::pipe::FramePipe;
use crate::session::WorkerSession;
use crate::watchdog::ProgressClock;

/// All features of the interpreter. Types are parsed and not checked: models write them out of
/// habit, and wrong.
pub(crate) const DIALECT: Dialect = Dialect {
    enable_def: true,
    enable_lambda: true,
    enable_load: false,
    enable_load_reexport: false,
    enable_keyword_only_arguments: true,
    enable_positional_only_arguments: true,
    enable_types: DialectTypes::ParseOnly,
    enable_top_level_stmt: true,
    enable_f_strings: true,
    ..Dialect::Standard
};

const RESULT: &str = "result";

/// `Ok`: the final message was sent. Otherwise the gateway is gone.
pub fn run(
    pipe: FramePipe,
    job: &ProgramJob<'_>,
    globals: &Globals,
    progress: &ProgressClock,
) -> io::Result<()> {
    let names: Arc<Names> = Arc::new(serde_json::from_str(job.names.get())?);
    let session = WorkerSession::new(pipe, job.fence, progress.clone());
    let program = StarlarkProgram { source: &job.source, names, globals, session: &session };
    let word = match catch_unwind(AssertUnwindSafe(|| program.run())) {
        Ok(Ok(done)) => WorkerMessage::Done(done),
        Ok(Err(failed)) => WorkerMessage::Failed(failed),
        Err(panic) => WorkerMessage::Failed(describe_panic(&*panic)),
    };
    if let Err(stop) = session.flush().and_then(|()| session.say(&word)) {
        // Either the first message was too long, which this one is not, or the gateway is gone,
        // which the session records.
        let _ = session.say(&WorkerMessage::Failed(describe_stop(&stop)));
    }
    session.into_lost().map_or(Ok(()), Err)
}

struct StarlarkProgram<'a> {
    source: &'a str,
    names: Arc<Names>,
    globals: &'a Globals,
    session: &'a WorkerSession,
}

/// Why a program did not run to its end.
enum EvaluationError {
    Program(ProgramPhase, starlark::Error),
    /// After its last line.
    Stop(ProgramStopError),
}

impl StarlarkProgram<'_> {
    fn run(&self) -> Result<ProgramResult, ProgramError> {
        Module::with_temp_heap(|module| {
            let missed = bindings::bind(&module, &self.names);
            self.evaluate(&module).map_err(|ended| match ended {
                EvaluationError::Program(phase, error) => {
                    self.to_program_error(&error, phase, &missed)
                }
                EvaluationError::Stop(stop) => describe_stop(&stop),
            })
        })
    }

    fn evaluate(&self, module: &Module<'_>) -> Result<ProgramResult, EvaluationError> {
        let program = AstModule::parse(FILE, self.source.to_owned(), &DIALECT);
        let unread = |error| EvaluationError::Program(ProgramPhase::Reading, error);
        let program = program.map_err(unread)?;
        check(&program, &self.names).map_err(unread)?;
        let mut eval = Evaluator::new(module);
        eval.extra = Some(self.session);
        fence(&mut eval, self.session.fence());
        // Called every thousand steps: flushes the prints of a program that only computes.
        eval.set_check_cancelled(Box::new(|| {
            self.session.progress().record();
            self.session.flush().is_err()
        }));
        self.session.progress().record();
        let ended = eval.eval_module(program, self.globals);
        ended.map_err(|error| EvaluationError::Program(ProgramPhase::Running, error))?;
        self.session.progress().record();
        let steps = eval.get_total_tick_count();
        let result = self.result(module).map_err(EvaluationError::Stop)?;
        Ok(ProgramResult { result, steps })
    }

    fn result(&self, module: &Module<'_>) -> Result<Option<Box<RawValue>>, ProgramStopError> {
        let Some(value) = module.get(RESULT) else { return Ok(None) };
        let json = to_json(value, self.session.room(), module.heap());
        let json = json.map_err(|unfit| {
            if unfit.is_too_large() { self.session.output_is_full() } else { unfit.stop(RESULT) }
        })?;
        Ok(Some(RawValue::from_string(json).expect("it was just written")))
    }

    fn to_program_error(
        &self,
        error: &starlark::Error,
        phase: ProgramPhase,
        missed: &MissedServer,
    ) -> ProgramError {
        let globals: Vec<_> = self.globals.names().map(|name| name.as_str()).collect();
        let fence = self.session.fence();
        let missed = missed.server(&self.names);
        describe_error(
            error,
            phase,
            &HintContext { names: &self.names, globals: &globals, fence, missed },
        )
    }
}

pub(crate) fn fence(eval: &mut Evaluator<'_, '_, '_>, fence: &InterpreterLimits) {
    let size = |most: u64| usize::try_from(most.max(1)).unwrap_or(usize::MAX);
    // Two more: one frame is the program itself, and one the function at the bottom.
    let depth = size(fence.depth.into()).saturating_add(2);
    eval.set_max_callstack_size(depth).expect("it is set once");
    eval.set_max_heap_size(size(fence.heap_bytes)).expect("it is set once");
    eval.set_max_tick_count(fence.steps.max(1)).expect("it is set once");
}

/// The interpreter has bugs of its own; the program that triggered one gets an error.
fn describe_panic(panic: &(dyn Any + Send)) -> ProgramError {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let words = words.unwrap_or("no reason was given");
    if words == "out of memory" || words == "capacity overflow" {
        return describe_stop(&ProgramStopError::new(
            ProgramErrorKind::Memory,
            "it needs more memory than its limit",
            LESS,
        ));
    }
    // `d.update([d])`: the interpreter detects it too late to fail at the line.
    if words.starts_with("RefCell already") {
        let message = "a dict or a set was changed from within one of its own values";
        return describe_stop(&ProgramStopError::new(
            ProgramErrorKind::Runtime,
            message,
            "change a copy: `dict(value)`",
        ));
    }
    describe_stop(&ProgramStopError::new(
        ProgramErrorKind::Runtime,
        format!("the interpreter cannot run this program: {words}"),
        "rewrite it",
    ))
}
