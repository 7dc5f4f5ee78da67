//! Programs, as a gateway sees them: in memory where they end by themselves, and in a process
//! where they may take it with them.

mod calls;
mod data;
mod escapes;
mod failures;
mod fuzz;
mod language;
mod limits;
mod names;
mod process;
mod rehearsal;
