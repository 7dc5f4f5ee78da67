//! Trace spans: the work done for a request, exported to an external tracing system.
//!
//! Created by fronts, gate, executor and the callers of models. Without a processor, nothing is
//! built; this module does not know who exports spans, or how.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwapOption;
use tollgate_core::mask::SecretMasker;
use tollgate_core::text::truncate_chars;
use tollgate_core::trace::{Sampling, SpanContext, SpanId, Trace, TraceFlags, TraceId};

use crate::clock::Clock;

/// Receives spans. Called on the call path: must not block.
pub trait SpanProcessor: Send + Sync {
    /// Whether a span of this trace is sampled, given its `parent` if it has one.
    fn samples(&self, parent: Option<&SpanContext>, trace: TraceId) -> Sampling;

    /// Whether unsampled spans are needed too, for metrics.
    fn heeds(&self, sampling: Sampling) -> bool;

    /// Whether spans are exported at all. If not, no trace context may name one as its parent.
    fn tells(&self) -> bool;

    fn on_end(&self, span: FinishedSpan);
}

/// Creates spans, or nothing at all.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<TracerInner>>);

struct TracerInner {
    follower: Arc<dyn SpanProcessor>,
    clock: Arc<dyn Clock>,
    /// Masks secrets in messages of others; `None`: these are not recorded at all.
    quoting: ArcSwapOption<SecretMasker>,
}

/// The trace context of some work, and the tracer for its spans.
#[derive(Clone, Default)]
pub struct TraceScope {
    pub tracer: Tracer,
    pub trace: Option<Arc<Trace>>,
}

impl TraceScope {
    /// Begins a span in this scope.
    pub fn begin(&self, kind: SpanKind, name: impl FnOnce() -> Cow<'static, str>) -> TraceSpan {
        self.tracer.begin(kind, self.trace.as_ref(), name)
    }

    /// The scope of work within a span.
    #[must_use]
    pub fn within(&self, span: &TraceSpan) -> Self {
        Self { tracer: self.tracer.clone(), trace: span.trace().cloned() }
    }
}

/// A finished span.
#[derive(Debug, Clone)]
pub struct FinishedSpan {
    pub context: SpanContext,
    pub parent: Option<SpanId>,
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub began: SystemTime,
    pub took: Duration,
    pub attributes: SpanAttributes,
    pub events: Vec<Event>,
    /// The error message; empty if the error type says it all.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    Server,
    Client,
}

/// An event within a span.
#[derive(Debug, Clone)]
pub struct Event {
    pub name: &'static str,
    /// Since the span began.
    pub after: Duration,
    pub attributes: SpanAttributes,
}

/// Attributes. Names are unique.
#[derive(Debug, Clone, Default)]
pub struct SpanAttributes(Vec<(&'static str, Value)>);

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(Cow<'static, str>),
    Whole(i64),
    Real(f64),
    Flag(bool),
    Texts(Vec<String>),
}

/// Attribute for the type of an error (OpenTelemetry semantic conventions).
pub const ERROR_TYPE: &str = "error.type";
/// The type of an unclassified error.
pub const OTHER_ERROR_TYPE: &str = "_OTHER";
/// Characters of an error message that are recorded, and that are searched for secrets before.
const MAX_ERROR_CHARS: usize = 300;
const MAX_SEARCHED_CHARS: usize = 4_096;
/// The type of an operation that was cancelled by its caller.
pub const CANCELLED_ERROR_TYPE: &str = "cancelled";

/// A span. Ends on drop.
#[derive(Default)]
pub struct TraceSpan {
    /// `None`: not recorded.
    open: Option<Box<OpenSpan>>,
    trace: Option<Arc<Trace>>,
}

struct OpenSpan {
    inner: Arc<TracerInner>,
    began: Instant,
    ended: FinishedSpan,
    fate: SpanDropMeaning,
}

/// What dropping a span means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpanDropMeaning {
    Unknown,
    Over,
}

impl Tracer {
    pub fn new(follower: Arc<dyn SpanProcessor>, clock: Arc<dyn Clock>) -> Self {
        Self(Some(Arc::new(TracerInner { follower, clock, quoting: ArcSwapOption::empty() })))
    }

    /// Enables or disables messages of servers, models and clients, and sets their masking.
    pub(crate) fn quote(&self, masker: Option<Arc<SecretMasker>>) {
        if let Some(inner) = &self.0 {
            inner.quoting.store(masker);
        }
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins a span within `outer`. Without a processor it only passes `outer` on.
    pub fn begin(
        &self,
        kind: SpanKind,
        outer: Option<&Arc<Trace>>,
        name: impl FnOnce() -> Cow<'static, str>,
    ) -> TraceSpan {
        let Some(inner) = &self.0 else { return TraceSpan::part_of(outer) };
        let parent = outer.and_then(|outer| outer.context.as_ref());
        let trace = parent.map_or_else(|| by_chance(TraceId::new), |parent| parent.trace);
        let sampling = inner.follower.samples(parent, trace);
        let flags = parent.map_or_else(|| TraceFlags::new(sampling), |it| it.flags.with(sampling));
        let state = parent.and_then(|parent| parent.state.clone());
        let context = SpanContext { trace, span: by_chance(SpanId::new), flags, state };
        let within = if inner.follower.tells() {
            Some(Arc::new(Trace::within(context.clone(), outer.map(Arc::as_ref))))
        } else {
            outer.cloned()
        };
        let open = inner.follower.heeds(sampling).then(|| {
            Box::new(OpenSpan {
                began: inner.clock.now(),
                ended: FinishedSpan {
                    parent: parent.map(|parent| parent.span),
                    context,
                    name: name(),
                    kind,
                    began: inner.clock.wall(),
                    took: Duration::ZERO,
                    attributes: SpanAttributes::default(),
                    events: Vec::new(),
                    error: None,
                },
                fate: SpanDropMeaning::Unknown,
                inner: Arc::clone(inner),
            })
        });
        TraceSpan { open, trace: within }
    }
}

impl TraceSpan {
    /// A span that is not recorded.
    pub fn part_of(outer: Option<&Arc<Trace>>) -> Self {
        Self { open: None, trace: outer.cloned() }
    }

    /// The trace context for work within the span.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        self.trace.as_ref()
    }

    pub fn is_followed(&self) -> bool {
        self.open.is_some()
    }

    /// Whether it is sampled, so that building attributes is worthwhile.
    pub fn is_sampled(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.ended.context.is_sampled())
    }

    /// Adds attributes, if the span is recorded.
    pub fn tell(&mut self, say: impl FnOnce(&mut SpanAttributes)) {
        if let Some(open) = &mut self.open {
            say(&mut open.ended.attributes);
        }
    }

    /// Renames the span: its subject is often known only later.
    pub fn rename(&mut self, name: impl FnOnce() -> String) {
        if let Some(open) = &mut self.open {
            open.ended.name = Cow::Owned(name());
        }
    }

    pub fn add_event(&mut self, name: &'static str, say: impl FnOnce(&mut SpanAttributes)) {
        if let Some(open) = self.open.as_mut().filter(|open| open.ended.context.is_sampled()) {
            let mut attributes = SpanAttributes::default();
            say(&mut attributes);
            let after = open.inner.clock.now().saturating_duration_since(open.began);
            open.ended.events.push(Event { name, after, attributes });
        }
    }

    /// Time since it began; `None` if it is not recorded.
    pub fn elapsed(&self) -> Option<Duration> {
        let open = self.open.as_ref()?;
        Some(open.inner.clock.now().saturating_duration_since(open.began))
    }

    /// Marks it as failed, with a low-cardinality error type and a message of our own.
    pub fn fail(&mut self, kind: impl Into<Cow<'static, str>>, words: impl FnOnce() -> String) {
        if let Some(open) = &mut self.open {
            open.fate = SpanDropMeaning::Over;
            open.ended.attributes.set(ERROR_TYPE, kind.into());
            open.ended.error = Some(truncate_chars(&words(), MAX_ERROR_CHARS));
        }
    }

    /// The same with a message that others contributed to: it may quote requests and answers.
    pub fn fail_quoting(
        &mut self,
        kind: impl Into<Cow<'static, str>>,
        words: impl FnOnce() -> String,
    ) {
        let Some(open) = &self.open else { return };
        let quoting = open.inner.quoting.load_full().filter(|_| self.is_sampled());
        self.fail(kind, || {
            let Some(masker) = quoting else { return String::new() };
            let words = truncate_chars(&words(), MAX_SEARCHED_CHARS);
            masker.text(&words).unwrap_or(words)
        });
    }

    /// Marks it as finished: dropping it is not a cancellation.
    pub fn complete(&mut self) {
        if let Some(open) = &mut self.open {
            open.fate = SpanDropMeaning::Over;
        }
    }
}

impl Drop for TraceSpan {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else { return };
        let OpenSpan { inner, began, mut ended, fate } = *open;
        ended.took = inner.clock.now().saturating_duration_since(began);
        if fate == SpanDropMeaning::Unknown {
            ended.attributes.set(ERROR_TYPE, CANCELLED_ERROR_TYPE);
            ended.error = Some(String::new());
        }
        inner.follower.on_end(ended);
    }
}

impl SpanAttributes {
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// Sets the attribute if there is a value.
    pub fn set_some(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Cow<'static, str>> for Value {
    fn from(text: Cow<'static, str>) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<Duration> for Value {
    /// In seconds, as the conventions require.
    fn from(time: Duration) -> Self {
        Self::Real(time.as_secs_f64())
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

/// A random id other than zero.
fn by_chance<const N: usize, T>(new: impl Fn([u8; N]) -> Option<T>) -> T {
    loop {
        let mut bytes = [0; N];
        rand::fill(&mut bytes);
        if let Some(id) = new(bytes) {
            return id;
        }
    }
}

#[cfg(test)]
mod tests;
