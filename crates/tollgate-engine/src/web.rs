//! Outgoing HTTP with an SSRF guard: to hosts that the operator named, and for untrusted URLs to
//! the public web only.
//!
//! `fetch` talks to the operator's hosts and to those they refer to (OAuth, search, images);
//! `egress` fetches pages that a model or a page named. Both connect through `dial`, which resolves
//! names itself and connects only to the addresses it has checked.

mod body;
mod dial;
pub mod egress;
pub mod fetch;
mod fetch_error;
pub mod place;
mod resolve;
pub(crate) mod ssrf_guard;
pub(crate) mod target_url;

pub use fetch_error::FetchError;
pub use ssrf_guard::{AllowedHost, AllowedHostError};

#[cfg(test)]
pub(crate) mod tests;
