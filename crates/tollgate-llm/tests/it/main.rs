//! Providers over real sockets: a fake one speaks the wire formats as they are, and as they should
//! not be.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod answers;
mod aws_fake;
mod aws_role;
mod azure;
mod bedrock;
mod bridge;
mod clouds;
mod dialects;
mod embeddings;
mod fake;
mod passing;
mod pools;
mod pools_hedging;
mod pools_passing;
mod pools_reasoning;
mod pools_stage;
mod recall;
mod reloaded;
mod retries;
mod secrets;
mod stage;
mod static_model;
mod streams;
mod vertex;
mod wire;
