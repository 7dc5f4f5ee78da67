//! Realtime providers and their clients on loopback, as good or as bad as a test wants them. Each
//! checks what it sees; what is wrong stands in the [`Ledger`].

mod chance;
pub mod gemini;
mod ledger;
mod odds;
pub mod openai;

pub use chance::Chance;
pub use ledger::{Due, Ledger, Runner, Sums};
pub use odds::{Odds, Tools};
