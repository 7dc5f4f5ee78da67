//! Servers under supervision: fake ones on a paused clock, real children, and one over HTTP.

mod child;
mod fake;
mod life;
mod remote;
