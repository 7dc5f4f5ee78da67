//! How much of a type is written.

/// How much detail each field gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeDetail {
    Brief,
    Full,
}
