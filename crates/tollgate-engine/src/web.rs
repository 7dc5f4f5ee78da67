//! SSRF guard and the way out of this process: to what the operator named, and for strangers' URLs
//! to the public web and nowhere else.
//!
//! `fetch` speaks to places of the operator's and to those that they lead to (OAuth, search,
//! images); `egress` gets pages that a model or a page named. Both connect by `dial`, which resolves
//! names itself and connects to the addresses that it has checked.

mod body;
mod dial;
pub mod egress;
pub mod fetch;
pub mod place;
mod refused;
mod resolve;
pub(crate) mod ssrf_guard;
pub(crate) mod target_url;

pub use refused::Refused;
pub use ssrf_guard::AllowedHost;

#[cfg(test)]
pub(crate) mod tests;
