//! Distributed tracing context: W3C Trace Context and Baggage.
//!
//! Parsed by the fronts from headers and `_meta`, held by the turn, and propagated to servers and
//! models. Malformed values are treated as absent, as the specifications require.

use std::fmt;
use std::sync::Arc;

mod baggage;
mod state;

pub const TRACEPARENT: &str = "traceparent";
pub const TRACESTATE: &str = "tracestate";
pub const BAGGAGE: &str = "baggage";
/// All header names, by SEP-414 also the keys in `_meta`.
pub const KEYS: [&str; 3] = [TRACEPARENT, TRACESTATE, BAGGAGE];

/// Length of version 00, the version that is written.
const LENGTH: usize = 55;
const SAMPLED_FLAG: u8 = 1;
/// Level 2: the trace id is random enough for sampling decisions.
const RANDOM: u8 = 2;

/// The trace that a request belongs to, with its baggage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    pub context: Option<SpanContext>,
    pub baggage: Option<Arc<str>>,
}

/// A span of a trace, as propagated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanContext {
    pub trace: TraceId,
    pub span: SpanId,
    pub flags: TraceFlags,
    /// Vendor state of other systems; validated.
    pub state: Option<Arc<str>>,
}

/// Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceFlags(u8);

/// The three raw values, from the same source.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraceHeaders<'s> {
    pub parent: Option<&'s str>,
    pub state: Option<&'s str>,
    pub baggage: Option<&'s str>,
}

impl Trace {
    /// `None` if nothing is valid. State without a parent is dropped.
    pub fn read(headers: TraceHeaders<'_>) -> Option<Self> {
        let context = headers.parent.and_then(SpanContext::parse).map(|context| {
            let state = headers.state.and_then(state::normalize).map(Into::into);
            SpanContext { state, ..context }
        });
        let baggage = headers.baggage.and_then(baggage::validate).map(Into::into);
        (context.is_some() || baggage.is_some()).then_some(Self { context, baggage })
    }

    /// The inner trace, completed by what only the outer one has.
    #[must_use]
    pub fn or(self, outer: Option<&Self>) -> Self {
        let Some(outer) = outer else { return self };
        Self {
            context: self.context.or_else(|| outer.context.clone()),
            baggage: self.baggage.or_else(|| outer.baggage.clone()),
        }
    }

    /// The same with another span as parent.
    pub fn within(context: SpanContext, outer: Option<&Self>) -> Self {
        Self { context: Some(context), baggage: outer.and_then(|outer| outer.baggage.clone()) }
    }

    /// The header fields to write.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let parent = self.context.as_ref().map(|context| (TRACEPARENT, context.to_string()));
        let state = self.context.as_ref().and_then(|context| context.state.as_deref());
        let state = state.map(|state| (TRACESTATE, state.to_owned()));
        let baggage = self.baggage.as_deref().map(|baggage| (BAGGAGE, baggage.to_owned()));
        [parent, state, baggage].into_iter().flatten()
    }
}

impl SpanContext {
    /// Newer versions are parsed as far as version 00 goes.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (head, rest) = bytes.split_at_checked(LENGTH)?;
        let [version] = hex(&head[..2])?;
        let fits = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.first().is_none_or(|next| *next == b'-'),
        };
        let dashed = [2, 35, 52].iter().all(|at| head[*at] == b'-');
        if !fits || !dashed {
            return None;
        }
        let [flags] = hex(&head[53..])?;
        Some(Self {
            trace: TraceId::new(hex(&head[3..35])?)?,
            span: SpanId::new(hex(&head[36..52])?)?,
            flags: TraceFlags(flags & (SAMPLED_FLAG | RANDOM)),
            state: None,
        })
    }

    pub fn is_sampled(&self) -> bool {
        self.flags.0 & SAMPLED_FLAG != 0
    }
}

/// In `traceparent` format.
impl fmt::Display for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, self.flags.0)
    }
}

impl TraceFlags {
    /// A new trace with a random id.
    pub fn new(sampling: Sampling) -> Self {
        Self(RANDOM).with(sampling)
    }

    #[must_use]
    pub fn with(self, sampling: Sampling) -> Self {
        match sampling {
            Sampling::Sampled => Self(self.0 | SAMPLED_FLAG),
            Sampling::Dropped => Self(self.0 & !SAMPLED_FLAG),
        }
    }

    pub fn bits(self) -> u8 {
        self.0
    }
}

/// Whether a span is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    Sampled,
    Dropped,
}

impl TraceId {
    /// `None` if it is zero, which is invalid.
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The random part of the trace id, below 2^56.
    pub fn randomness(self) -> u64 {
        self.0[9..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl SpanId {
    /// `None` if it is zero, which is invalid.
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    pub fn bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Upper-case digits are invalid by the specification.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
