//! The library of the worker: runs one program, read from a pipe, with the tools it may name, and
//! answers over the pipe. `main` only confines the process and calls [`program::run`].

pub mod confine;
pub mod pipe;
pub mod program;
pub mod watchdog;

mod bindings;
mod builtins;
mod calls;
mod check;
mod convert;
mod failure;
mod hints;
mod nearest;
mod outcome;
mod rounding;
mod session;
mod show;
