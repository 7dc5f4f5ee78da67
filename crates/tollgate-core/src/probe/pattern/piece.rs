//! The pieces of a regular expression, as the sampler needs them.

pub(super) type PatternSequence = Vec<PatternPiece>;

#[derive(Debug)]
pub(super) enum PatternPiece {
    /// Matching characters, best first.
    OneOf(Vec<char>),
    Group(Vec<PatternSequence>),
    Repeat {
        piece: Box<Self>,
        least: usize,
        most: Option<usize>,
    },
    /// A zero-width assertion.
    Edge,
}
