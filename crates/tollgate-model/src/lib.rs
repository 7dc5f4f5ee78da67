//! Model checks of lock-free code: see `tests`.
//!
//! A file under test is included by its path and finds the atomics of a model checker under
//! `crate::sync`, so nothing of it is copied and nothing else is built.
