//! Programs in the real worker: what they can do, and that whatever they do ends.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod bombs;
mod escapes;
mod programs;
mod world;
