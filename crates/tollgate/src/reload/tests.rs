//! A gateway whose config changes under it.
