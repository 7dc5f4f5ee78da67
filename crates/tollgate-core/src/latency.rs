//! How long calls of one tool took lately: a window of samples, written without a lock.
