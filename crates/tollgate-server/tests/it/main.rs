//! The fronts against a real gate, through real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod client;
mod framing;
mod json_rpc;
mod legacy;
mod limits;
mod modern;
mod pipe;
mod plain;
mod security;
mod stage;
mod talking;
mod upstream;
