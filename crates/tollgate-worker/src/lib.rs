//! The worker's inside: one program, read from a pipe, run with the tools it may name, answered
//! over the pipe. `main` only shuts the process in and calls [`program::run`].

pub mod confine;
pub mod pipe;
pub mod program;

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
