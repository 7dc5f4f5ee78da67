//! Realtime providers and their clients on loopback, as good or as bad as a test wants them. Each
//! checks what it sees; what is wrong stands in the [`TestCallLedger`].

mod call_ledger;
mod chaos;
pub mod gemini;
pub mod openai;
mod rng;

pub use call_ledger::{ExpectedAnswers, ExpectedRunner, TestCallLedger, TestCallSums};
pub use chaos::{ChaosOdds, RealtimeTestTools};
pub use rng::SeededRng;
