//! Looking for something by its words: what is asked for, and what a database found that may fit.

/// What is looked for, as words in the form in which texts are indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// In the order in which they were said, each once; few enough to be looked up one by one.
    pub terms: Vec<String>,
}

/// What may fit a query: not ranked yet, and no more than can be ranked in a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates<T> {
    pub found: Vec<T>,
    /// How many texts there are to look through, about.
    pub texts: u64,
    /// In how many of those each term of the query stands, about; in the order of its terms.
    pub with: Vec<u64>,
}
