//! The one task that hears of spans: gathers them into batches, counts them into histograms, and
//! sends both, one request of each at a time. What comes while too much waits is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tollgate_engine::clock::Clock;
use tollgate_engine::spans::Ended;

use super::histogram::{Histograms, Lost};
use super::message::Message;
use super::post::Post;
use super::queue::Queue;
use super::settings::Settings;
use super::{resource, spans};

/// Complaints about one collector are this far apart.
const SAY_AGAIN: Duration = Duration::from_secs(60);
/// What is on its way when the program ends may arrive for so long; between two attempts it is
/// given up.
const ARRIVAL: Duration = Duration::from_secs(1);
/// Spans that are taken off the queue at a time.
const HANDFUL: usize = 256;

pub(super) struct Exporter {
    heard: mpsc::Receiver<Ended>,
    queue: Arc<Queue>,
    clock: Arc<dyn Clock>,
    resource: Message,
    traces: Option<Line>,
    metrics: Option<Line>,
    histograms: Histograms,
    lost: Lost,
    /// Spans that are to be sent.
    waiting: Vec<Ended>,
    most_waiting: usize,
    batch: usize,
}

/// One of the two things that are sent.
struct Line {
    what: &'static str,
    post: Arc<Post>,
    every: Duration,
    due: Instant,
    sending: Option<BoxFuture<'static, Result<(), String>>>,
    /// Spans in what is being sent.
    aboard: usize,
    complained: Option<Instant>,
}

impl Exporter {
    pub(super) fn new(
        settings: &Settings,
        (heard, queue): (mpsc::Receiver<Ended>, Arc<Queue>),
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let now = clock.now();
        let line = |what, target: &Option<_>, every| {
            target.as_ref().map(|target| Line::new(what, target, (every, now))).transpose()
        };
        Ok(Self {
            traces: line("spans", &settings.traces, settings.spans_every)?,
            metrics: line("metrics", &settings.metrics, settings.metrics_every)?,
            resource: resource::message(&settings.resource),
            histograms: Histograms::default(),
            lost: Lost { since: clock.wall(), spans: 0 },
            waiting: Vec::new(),
            most_waiting: settings.queue,
            batch: settings.batch,
            heard,
            queue,
            clock,
        })
    }

    pub(super) async fn run(mut self) {
        let queue = Arc::clone(&self.queue);
        let mut handful = Vec::with_capacity(HANDFUL);
        loop {
            let sending = self.traces.as_ref().is_some_and(|line| line.sending.is_some());
            let has_spans = sending || !self.waiting.is_empty();
            tokio::select! {
                () = queue.closed() => break,
                _ = self.heard.recv_many(&mut handful, HANDFUL) => {
                    for span in handful.drain(..) {
                        self.hear(span);
                    }
                }
                step = step(self.traces.as_mut()), if has_spans => match step {
                    Step::Sent(sent) => self.sent_spans(&sent),
                    Step::Due => self.send_spans(),
                },
                step = step(self.metrics.as_mut()) => match step {
                    Step::Sent(sent) => self.sent_metrics(&sent),
                    Step::Due => self.send_metrics(),
                },
            }
            if self.waiting.len() >= self.batch {
                self.send_spans();
            }
        }
        self.finish().await;
    }

    fn hear(&mut self, span: Ended) {
        if self.metrics.is_some() {
            self.histograms.hear(&span);
        }
        if self.traces.is_none() || !span.context.is_sampled() {
            return;
        }
        match self.waiting.len() < self.most_waiting {
            true => self.waiting.push(span),
            false => self.queue.lose(1),
        }
    }

    fn send_spans(&mut self) {
        let Some(line) = self.traces.as_mut().filter(|line| line.sending.is_none()) else { return };
        let batch: Vec<Ended> = self.waiting.drain(..self.waiting.len().min(self.batch)).collect();
        line.aboard = batch.len();
        line.send(&spans::request(&self.resource, &batch), self.clock.now());
    }

    fn sent_spans(&mut self, sent: &Result<(), String>) {
        let Some(line) = &mut self.traces else { return };
        if sent.is_err() {
            self.queue.lose(line.aboard);
        }
        line.over(sent, self.clock.now());
    }

    fn sent_metrics(&mut self, sent: &Result<(), String>) {
        if let Some(line) = &mut self.metrics {
            line.over(sent, self.clock.now());
        }
    }

    fn send_metrics(&mut self) {
        self.lost.spans = self.queue.lost();
        let Some(line) = self.metrics.as_mut().filter(|line| line.sending.is_none()) else {
            return;
        };
        let request = self.histograms.request(&self.resource, self.clock.wall(), &self.lost);
        line.send(&request, self.clock.now());
    }

    /// What is still there, once; whoever ends the program waits a while for it.
    async fn finish(mut self) {
        while let Ok(span) = self.heard.try_recv() {
            self.hear(span);
        }
        let Self { traces, metrics, waiting, batch, resource, queue, clock, .. } = self;
        let lost = Lost { spans: queue.lost(), ..self.lost };
        let figures = self.histograms.request(&resource, clock.wall(), &lost);
        let last_spans = async {
            let Some(mut line) = traces else { return };
            if !line.arrived(clock.now()).await {
                queue.lose(line.aboard);
            }
            let mut batches = waiting.chunks(batch);
            while let Some(batch) = batches.next() {
                if !line.last(&spans::request(&resource, batch), clock.now()).await {
                    let rest: usize = batches.map(<[Ended]>::len).sum();
                    return queue.lose(batch.len() + rest);
                }
            }
        };
        let last_figures = async {
            if let Some(mut line) = metrics {
                line.last(&figures, clock.now()).await;
            }
        };
        // Beside each other: one collector may be away while the other is there.
        tokio::join!(last_spans, last_figures);
        let spans = queue.lost() - lost.spans;
        if spans > 0 {
            tracing::warn!(spans, "the last spans were dropped");
        }
    }
}

impl Line {
    fn new(
        what: &'static str,
        target: &super::settings::Target,
        (every, now): (Duration, Instant),
    ) -> Result<Self, String> {
        let post = Arc::new(Post::new(target)?);
        let (sending, complained) = (None, None);
        Ok(Self { what, post, every, due: now + every, sending, aboard: 0, complained })
    }

    fn send(&mut self, message: &Message, now: Instant) {
        let (post, body) = (Arc::clone(&self.post), self.post.written(message));
        self.sending = Some(async move { post.send(body).await }.boxed());
        self.due = now + self.every;
    }

    /// Waits a while for what is on its way; says whether it is not lost.
    async fn arrived(&mut self, now: Instant) -> bool {
        let Some(sending) = self.sending.take() else { return true };
        let late = || Err("it was to be sent again when the program ended".to_owned());
        let sent = tokio::time::timeout(ARRIVAL, sending).await.unwrap_or_else(|_| late());
        self.over(&sent, now);
        sent.is_ok()
    }

    /// Sends once; says whether it was taken.
    async fn last(&mut self, message: &Message, now: Instant) -> bool {
        let sent = self.post.send_last(self.post.written(message)).await;
        self.over(&sent, now);
        sent.is_ok()
    }

    fn over(&mut self, sent: &Result<(), String>, now: Instant) {
        self.sending = None;
        let Err(error) = sent else { return };
        let is_new = self.complained.is_none_or(|at| now.saturating_duration_since(at) > SAY_AGAIN);
        if is_new {
            self.complained = Some(now);
            tracing::warn!(what = self.what, error, "telemetry was dropped: it cannot be sent");
        }
    }
}

/// What is next for a line.
enum Step {
    Sent(Result<(), String>),
    Due,
}

/// Cancel-safe.
async fn step(line: Option<&mut Line>) -> Step {
    match line {
        None => std::future::pending().await,
        Some(line) => match &mut line.sending {
            Some(sending) => Step::Sent(sending.await),
            None => {
                tokio::time::sleep_until(line.due.into()).await;
                Step::Due
            }
        },
    }
}

#[cfg(test)]
mod tests;
