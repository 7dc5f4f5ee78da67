//! Atomics under one name, so that the model checker of `tollgate-model` can substitute its own.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
