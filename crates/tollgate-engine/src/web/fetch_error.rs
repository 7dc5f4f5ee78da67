//! Why a request failed. The messages are for models and people; they never contain a resolved
//! address, nor anything that was sent.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The message says what is wrong with the URL.
    #[error("{0}")]
    Unfit(String),
    #[error("`{0}` is not a public address; only the public web can be fetched")]
    Private(String),
    #[error("port {0} is not allowed; only 80 and 443 are")]
    Port(u16),
    #[error("`{0}` does not resolve: the name has no address")]
    Unknown(String),
    #[error("`{host}` cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("`{host}` sent an invalid response: {why}")]
    Broken { host: String, why: String },
    #[error("no answer in time")]
    TooSlow,
    #[error("too many requests are under way; try again in a moment")]
    Busy,
    #[error("the page redirects more than {0} times")]
    Redirects(usize),
    #[error("the page redirects from https to http, which is not followed")]
    Downgrade,
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the response is `{0}`, not text")]
    Kind(String),
    #[error("the response is encoded as `{0}`, which was not requested")]
    Encoding(String),
    #[error("the response has a corrupt compressed body")]
    Garbled,
    #[error("the server answered with status {0}")]
    Status(u16),
}
