use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_core::mask::SecretMasker;
use tollgate_core::trace::{Sampling, SpanContext, Trace, TraceHeaders, TraceId};

use super::{ERROR_TYPE, FinishedSpan, SpanKind, SpanProcessor, Tracer, Value};
use crate::clock::SystemClock;

/// Notes what it hears, and keeps what it is told to.
struct Notebook {
    wants: Wants,
    spans: Mutex<Vec<FinishedSpan>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    Spans,
    Both,
    Figures,
}

impl SpanProcessor for Notebook {
    fn samples(&self, parent: Option<&SpanContext>, _: TraceId) -> Sampling {
        match (self.wants, parent) {
            (Wants::Figures, _) => Sampling::Dropped,
            (_, Some(parent)) if !parent.is_sampled() => Sampling::Dropped,
            _ => Sampling::Sampled,
        }
    }

    fn heeds(&self, sampling: Sampling) -> bool {
        sampling == Sampling::Sampled || self.wants != Wants::Spans
    }

    fn tells(&self) -> bool {
        self.wants != Wants::Figures
    }

    fn on_end(&self, span: FinishedSpan) {
        self.spans.lock().push(span);
    }
}

fn notebook(wants: Wants) -> (Tracer, Arc<Notebook>) {
    let notebook = Arc::new(Notebook { wants, spans: Mutex::default() });
    (Tracer::new(Arc::clone(&notebook) as Arc<dyn SpanProcessor>, Arc::new(SystemClock)), notebook)
}

fn from_client(flags: &str) -> Arc<Trace> {
    let parent = format!("00-{}-{}-{flags}", "a".repeat(32), "b".repeat(16));
    let said = TraceHeaders { parent: Some(&parent), state: Some("x=1"), baggage: Some("k=v") };
    Arc::new(Trace::read(said).unwrap())
}

#[test]
fn nothing_is_built_while_nobody_follows() {
    let outer = from_client("01");
    let mut span = Tracer::default().begin(SpanKind::Client, Some(&outer), || unreachable!());
    span.tell(|_| unreachable!());
    span.add_event("it", |_| unreachable!());
    span.fail("it", || unreachable!());
    span.fail_quoting("it", || unreachable!());
    span.rename(|| unreachable!());
    assert!(Arc::ptr_eq(span.trace().unwrap(), &outer), "it is handed on as it came");
    assert!(Tracer::default().begin(SpanKind::Client, None, || unreachable!()).trace().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_span_tells_what_it_is_part_of_and_how_it_ended() {
    let (tracer, notebook) = notebook(Wants::Spans);
    let outer = from_client("01");
    let mut span = tracer.begin(SpanKind::Server, Some(&outer), || "one".into());
    let mut inner = tracer.begin(SpanKind::Internal, span.trace(), || "two".into());
    span.tell(|said| {
        said.set("n", 1_u64);
        said.set("n", 2_u64);
        said.set_some("nothing", None::<bool>);
    });
    tokio::time::advance(Duration::from_millis(30)).await;
    inner.add_event("event", |said| said.set("why", "so"));
    inner.fail("timeout", || "too late".to_owned());
    span.complete();
    drop(inner);
    drop(span);
    let received = notebook.spans.lock();
    let [inner, span] = &received[..] else { panic!("{received:?}") };
    assert_eq!(span.parent.unwrap().to_string(), "b".repeat(16));
    assert_eq!(span.context.trace.to_string(), "a".repeat(32));
    assert_eq!(inner.parent, Some(span.context.span));
    assert_eq!(inner.context.trace, span.context.trace);
    assert_eq!(inner.context.state.as_deref(), Some("x=1"));
    assert_eq!((span.took, &*span.name), (Duration::from_millis(30), "one"));
    assert_eq!(span.attributes.iter().collect::<Vec<_>>(), [("n", &Value::Whole(2))]);
    assert_eq!((&span.error, inner.error.as_deref()), (&None, Some("too late")));
    assert_eq!(inner.attributes.get(ERROR_TYPE), Some(&Value::from("timeout")));
    assert_eq!(inner.events[0].after, Duration::from_millis(30));
}

#[test]
fn what_is_given_up_was_cancelled() {
    let (tracer, notebook) = notebook(Wants::Spans);
    drop(tracer.begin(SpanKind::Client, None, || "given up".into()));
    let received = notebook.spans.lock();
    assert_eq!(received[0].attributes.get(ERROR_TYPE), Some(&Value::from("cancelled")));
    assert_eq!(received[0].parent, None);
}

#[test]
fn what_is_not_kept_is_counted_or_not_heard_of() {
    for (wants, flags, received) in [
        (Wants::Both, "01", 2),
        (Wants::Both, "00", 2),
        (Wants::Spans, "00", 0),
        (Wants::Spans, "01", 2),
    ] {
        let (tracer, notebook) = notebook(wants);
        let outer = from_client(flags);
        let span = tracer.begin(SpanKind::Server, Some(&outer), || "one".into());
        let inner = tracer.begin(SpanKind::Client, span.trace(), || "two".into());
        let context = inner.trace().unwrap().context.clone().unwrap();
        assert_eq!(context.is_sampled(), flags == "01", "those beneath are told so");
        assert_eq!(inner.trace().unwrap().baggage.as_deref(), Some("k=v"));
        drop((inner, span));
        assert_eq!(notebook.spans.lock().len(), received, "{wants:?} {flags}");
    }
}

#[test]
fn nobody_is_sent_beneath_a_span_that_is_only_counted() {
    let (tracer, notebook) = notebook(Wants::Figures);
    let outer = from_client("01");
    let span = tracer.begin(SpanKind::Client, Some(&outer), || "counted".into());
    assert!(Arc::ptr_eq(span.trace().unwrap(), &outer));
    drop(span);
    assert!(tracer.begin(SpanKind::Client, None, || "counted".into()).trace().is_none());
    assert_eq!(notebook.spans.lock().len(), 2);
}

#[test]
fn others_are_quoted_only_where_that_is_wanted_and_without_secrets() {
    let (tracer, notebook) = notebook(Wants::Spans);
    let token = format!("ghp_{}", "a".repeat(36));
    let words = format!("no file for {token}: {}", "x".repeat(1 << 20));
    let render = || {
        let mut span = tracer.begin(SpanKind::Client, None, || "one".into());
        span.fail_quoting("-32603", || words.clone());
        drop(span);
        notebook.spans.lock().pop().and_then(|span| span.error).unwrap()
    };
    assert_eq!(render(), "");
    tracer.quote(Some(Arc::new(SecretMasker::new(&[], Vec::new()))));
    let quoted = render();
    assert!(quoted.starts_with("no file for ") && !quoted.contains(&token), "{quoted}");
    assert!(quoted.chars().count() <= 301, "{quoted}");
    tracer.quote(None);
    assert_eq!(render(), "");
    let mut span = tracer.begin(SpanKind::Client, None, || "one".into());
    span.fail("it", || "x".repeat(1 << 20));
    drop(span);
    let own = notebook.spans.lock().pop().and_then(|span| span.error).unwrap();
    assert_eq!(own.chars().count(), 301);
}
