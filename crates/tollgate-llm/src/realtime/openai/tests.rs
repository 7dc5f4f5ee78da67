//! Conversations as transcripts: what each side says, and what must come of it.

mod barge;
mod client;
mod deep;
mod delivery;
mod failover;
mod late;
mod order;
mod random;
mod recall;
mod script;
mod session;
mod sideband;
