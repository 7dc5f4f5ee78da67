//! Arguments for a probe, made from a schema: the least that is valid.
