//! How long calls of each tool took.
