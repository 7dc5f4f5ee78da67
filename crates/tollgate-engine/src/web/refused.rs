//! Why a request failed. The messages are for models and people; they never contain a resolved
//! address, nor anything that was sent.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The message says what is wrong with the URL.
    #[error("{0}")]
    Unfit(String),
    #[error("`{0}` is not on the public web, and nothing else can be fetched")]
    Private(String),
    #[error("port {0} is not one that web pages are on; only 80 and 443 are")]
    Port(u16),
    #[error("there is no `{0}`: the name has no address")]
    Unknown(String),
    #[error("`{host}` cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("`{host}` gave an answer that cannot be read: {why}")]
    Broken { host: String, why: String },
    #[error("no answer in time")]
    TooSlow,
    #[error("too many requests are under way; try again in a moment")]
    Busy,
    #[error("the page sends on from one place to the next more than {0} times")]
    Redirects(usize),
    #[error("the page sends on from https to http, which is not followed")]
    Downgrade,
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the answer is `{0}`, not text that can be read")]
    Kind(String),
    #[error("the answer is encoded as `{0}`, which was not asked for")]
    Encoding(String),
    #[error("the answer is not what it says it is: its compressed form is broken")]
    Garbled,
    #[error("the server answered with status {0}")]
    Status(u16),
}
