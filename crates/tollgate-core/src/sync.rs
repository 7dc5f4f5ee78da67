//! Atomics by one name, so that the model checker of `tollgate-model` can put its own in their place.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
