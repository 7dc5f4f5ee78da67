//! Servers under supervision: `fake` ones on a paused clock, and `child`ren that are real.

mod child;
mod fake;
mod life;
