//! The fronts against a real gate, through real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod asking_leave;
mod client;
mod configured;
mod crowded;
mod doors;
mod framing;
mod hostile;
mod issuer;
mod json_rpc;
mod kept;
mod keys;
mod late;
mod legacy;
mod levels;
mod limits;
mod measuring;
mod modern;
mod oversized;
mod pipe;
mod pipe_limits;
mod plain;
mod results;
mod rights;
mod security;
mod sockets;
mod stage;
mod strangers;
mod streamed;
mod talking;
mod tiers;
mod together;
mod tokens;
mod trouble;
mod trusting;
mod upstream;
