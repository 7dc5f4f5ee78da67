//! Realtime speech sessions: a client talks to a realtime model through Tollgate, which adds its
//! tools, runs their calls within the time budget of the turn, and leaves everything else
//! unchanged.
//!
//! One pure state machine per provider ([`RealtimeDialect`]) interprets events and decides what is
//! sent, in which order. Everything common to all providers (tiers, budgets, calls, the two
//! sockets) is around it.

pub mod audio;
pub mod bridge;
mod call_table;
mod calls;
mod chunks;
pub mod deepgram;
mod dial;
mod driver;
pub mod events;
mod failover;
pub mod gemini;
pub mod gpt_live;
mod handover;
pub mod json_peek;
mod observer;
pub mod openai;
mod outcome_json;
mod pending_calls;
pub mod protocol;
mod replay;
mod session;
mod session_registry;
mod session_request;
mod session_start;
pub mod silence;
mod tier_hysteresis;
mod tier_request;
mod tool_declarations;
#[cfg(test)]
mod transcript;
pub mod translation;
mod turn_time_budget;
pub mod wire;

pub use dial::{DialedProvider, ProviderSessionTarget};
pub use events::{
    AnswerStage, CallAnswer, CloseReason, DeclaredTool, DeepTurnRouting, DialectAction,
    DialectEvent, DialectStep, MessageFate, ProviderFault, ProviderFaultKind, ProviderGone,
    RealtimeCall, RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer, RecallChannel,
    SessionRestart, SuccessorState, TurnEvent, UtteranceStage,
};
pub use handover::SessionHandover;
pub use protocol::RealtimeProtocol;
pub use session_registry::{
    MeasuredSilence, RealtimeSessionRegistry, SessionCommand, SessionCommandError, SessionEnds,
    SessionStatus, SessionSummary, SessionTotals,
};
pub use session_request::{SessionParty, SessionRequest, TierOverrideRight};
pub use session_start::SessionSockets;
