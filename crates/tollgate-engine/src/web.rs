//! The few requests that signing in needs, to servers that we use and to the issuer whose tokens
//! clients bring: where documents are, and a client that is short, bounded and never redirected.

pub mod fetch;
pub mod place;
