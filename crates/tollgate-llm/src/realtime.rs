//! Live speech sessions: a client talks to a realtime model, and Tollgate stands between them, adds
//! its tools, runs their calls under the budget of the turn and keeps everything else as it is.
//!
//! What an event means and what has to be sent, in which order, is decided by one pure machine per
//! provider ([`RealtimeDialect`]); everything that is the same for all of them (tiers, budgets,
//! calls, the two sockets) is around it.

mod answers;
pub mod bridge;
mod calls;
pub mod deepgram;
mod drive;
pub mod events;
pub mod gemini;
pub mod glance;
pub mod gpt_live;
mod hall;
mod ledger;
pub mod live;
pub mod openai;
mod owed;
mod pieces;
mod purse;
mod session;
mod shown;
mod sway;
#[cfg(test)]
mod transcript;
mod visit;
pub mod wire;
mod wish;

pub use events::{
    Action, Answer, Answered, Call, CloseWith, Declared, Fate, Form, Frame, News, Offer, Opening,
    RealtimeDialect, Routing, Step, TurnEvent,
};
pub use hall::{Hall, NotGiven, Order, SessionEnds, Shown, Sockets, Standing, Sums};
pub use live::Live;
pub use visit::{OverrideRight, Party, Place, Visit};
