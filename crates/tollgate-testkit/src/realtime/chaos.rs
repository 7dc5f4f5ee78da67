//! How wild a session is, and which tools there are in it.

/// The tools of a run, by what they are.
#[derive(Debug, Clone, Copy)]
pub struct RealtimeTestTools {
    /// The gateway's, with the arguments `token` and `ms`.
    pub reads: &'static [&'static str],
    pub writes: &'static [&'static str],
    /// The client's.
    pub own: &'static str,
}

/// Chances are per mille.
#[derive(Debug, Clone, Copy)]
pub struct ChaosOdds {
    pub seed: u64,
    /// After these the provider ends the session in peace.
    pub turns: u64,
    /// That a response calls tools.
    pub calls: u64,
    /// That a response is interrupted.
    pub barge_ins: u64,
    /// That a call is said twice.
    pub repeats: u64,
    /// In each turn: the provider closes or breaks off.
    pub breaks: u64,
    /// In each turn: it says what makes no sense.
    pub garbage: u64,
    /// In each turn: many events that mean nothing.
    pub unknown: u64,
    /// Bytes of an event that is too long for its sense.
    pub huge: usize,
    /// How long a tool takes, at most.
    pub slowest_ms: u64,
    /// In each message of the client's: it is gone without a word.
    pub vanishes: u64,
}
