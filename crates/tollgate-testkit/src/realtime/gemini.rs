//! Gemini Live: a provider that lives by chance, and a client of it.

mod client;
pub mod events;
mod provider;

pub use client::GeminiTestClient;
pub use provider::GeminiTestProvider;
