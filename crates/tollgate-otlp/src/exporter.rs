//! Exporter task: batches spans, counts them into histograms, and sends both, one request of each
//! at a time. When the queue is full, spans are dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use serde::Serialize;
use tokio::sync::mpsc;
use tollgate_engine::clock::Clock;
use tollgate_engine::spans::FinishedSpan;

use super::error::{ExportError, OtlpStartError};
use super::histogram::{DroppedSpans, Histograms};
use super::queue::SpanQueue;
use super::sender::OtlpSender;
use super::settings::{OtlpSettings, OtlpTarget};
use super::{message, spans};

/// Minimum interval between warnings about one collector.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(60);
/// At shutdown, a request in progress may take this long. Between two attempts it is given up.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(1);
/// Spans taken from the queue at a time.
const HANDFUL: usize = 256;

pub(super) struct OtlpExporter {
    spans: mpsc::Receiver<FinishedSpan>,
    queue: Arc<SpanQueue>,
    clock: Arc<dyn Clock>,
    resource: Resource,
    traces: Option<ExportPipeline>,
    metrics: Option<ExportPipeline>,
    histograms: Histograms,
    lost: DroppedSpans,
    /// Spans to be sent.
    waiting: Vec<FinishedSpan>,
    most_waiting: usize,
    batch: usize,
}

/// One of the two signals: traces or metrics.
struct ExportPipeline {
    what: &'static str,
    post: Arc<OtlpSender>,
    every: Duration,
    due: Instant,
    sending: Option<BoxFuture<'static, Result<(), ExportError>>>,
    /// Number of spans in the current request.
    aboard: usize,
    complained: Option<Instant>,
}

impl OtlpExporter {
    pub(super) fn new(
        settings: &OtlpSettings,
        spans: mpsc::Receiver<FinishedSpan>,
        queue: Arc<SpanQueue>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OtlpStartError> {
        let now = clock.now();
        let line = |what, target: &Option<_>, every| {
            target.as_ref().map(|target| ExportPipeline::new(what, target, every, now)).transpose()
        };
        Ok(Self {
            traces: line("spans", &settings.traces, settings.spans_every)?,
            metrics: line("metrics", &settings.metrics, settings.metrics_every)?,
            resource: message::resource(&settings.resource),
            histograms: Histograms::default(),
            lost: DroppedSpans { since: clock.wall(), spans: 0 },
            waiting: Vec::new(),
            most_waiting: settings.queue,
            batch: settings.batch,
            spans,
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
                () = queue.wait_closed() => break,
                _ = self.spans.recv_many(&mut handful, HANDFUL) => {
                    for span in handful.drain(..) {
                        self.hear(span);
                    }
                }
                step = step(self.traces.as_mut()), if has_spans => match step {
                    PipelineEvent::Sent(sent) => self.sent_spans(&sent),
                    PipelineEvent::Due => self.send_spans(),
                },
                step = step(self.metrics.as_mut()) => match step {
                    PipelineEvent::Sent(sent) => self.sent_metrics(&sent),
                    PipelineEvent::Due => self.send_metrics(),
                },
            }
            if self.waiting.len() >= self.batch {
                self.send_spans();
            }
        }
        self.finish().await;
    }

    fn hear(&mut self, span: FinishedSpan) {
        if self.metrics.is_some() {
            self.histograms.hear(&span);
        }
        if self.traces.is_none() || !span.context.is_sampled() {
            return;
        }
        if self.waiting.len() < self.most_waiting {
            self.waiting.push(span);
        } else {
            self.queue.lose(1);
        }
    }

    fn send_spans(&mut self) {
        let Some(line) = self.traces.as_mut().filter(|line| line.sending.is_none()) else { return };
        let batch: Vec<FinishedSpan> =
            self.waiting.drain(..self.waiting.len().min(self.batch)).collect();
        line.aboard = batch.len();
        line.send(&spans::request(&self.resource, &batch), self.clock.now());
    }

    fn sent_spans(&mut self, sent: &Result<(), ExportError>) {
        let Some(line) = &mut self.traces else { return };
        if sent.is_err() {
            self.queue.lose(line.aboard);
        }
        line.over(sent, self.clock.now());
    }

    fn sent_metrics(&mut self, sent: &Result<(), ExportError>) {
        if let Some(line) = &mut self.metrics {
            line.over(sent, self.clock.now());
        }
    }

    fn send_metrics(&mut self) {
        self.lost.spans = self.queue.lost_spans();
        let Some(line) = self.metrics.as_mut().filter(|line| line.sending.is_none()) else {
            return;
        };
        let request = self.histograms.request(&self.resource, self.clock.wall(), &self.lost);
        line.send(&request, self.clock.now());
    }

    /// Sends the rest once, at shutdown.
    async fn finish(mut self) {
        while let Ok(span) = self.spans.try_recv() {
            self.hear(span);
        }
        let Self { traces, metrics, waiting, batch, resource, queue, clock, .. } = self;
        let lost = DroppedSpans { spans: queue.lost_spans(), ..self.lost };
        let figures = self.histograms.request(&resource, clock.wall(), &lost);
        let last_spans = async {
            let Some(mut line) = traces else { return };
            if !line.wait_for_delivery(clock.now()).await {
                queue.lose(line.aboard);
            }
            let mut batches = waiting.chunks(batch);
            while let Some(batch) = batches.next() {
                if !line.last(&spans::request(&resource, batch), clock.now()).await {
                    let rest: usize = batches.map(<[FinishedSpan]>::len).sum();
                    return queue.lose(batch.len() + rest);
                }
            }
        };
        let last_figures = async {
            if let Some(mut line) = metrics {
                line.last(&figures, clock.now()).await;
            }
        };
        // Concurrently: one of the collectors may be unreachable.
        tokio::join!(last_spans, last_figures);
        let spans = queue.lost_spans() - lost.spans;
        if spans > 0 {
            tracing::warn!(spans, "the last spans were dropped");
        }
    }
}

impl ExportPipeline {
    fn new(
        what: &'static str,
        target: &OtlpTarget,
        every: Duration,
        now: Instant,
    ) -> Result<Self, OtlpStartError> {
        let post = Arc::new(OtlpSender::new(target)?);
        let due = now + every;
        Ok(Self { what, post, every, due, sending: None, aboard: 0, complained: None })
    }

    fn send(&mut self, message: &(impl Message + Serialize), now: Instant) {
        let post = Arc::clone(&self.post);
        let body = post.encode(message);
        self.sending = Some(async move { post.send(body).await }.boxed());
        self.due = now + self.every;
    }

    /// Waits for the request in progress, with a timeout. Returns whether it was delivered.
    async fn wait_for_delivery(&mut self, now: Instant) -> bool {
        let Some(sending) = self.sending.take() else { return true };
        let sent = tokio::time::timeout(DELIVERY_TIMEOUT, sending).await;
        let sent = sent.unwrap_or(Err(ExportError::PendingAtShutdown));
        self.over(&sent, now);
        sent.is_ok()
    }

    /// Sends once. Returns whether it was accepted.
    async fn last(&mut self, message: &(impl Message + Serialize), now: Instant) -> bool {
        let sent = self.post.send_last(self.post.encode(message)).await;
        self.over(&sent, now);
        sent.is_ok()
    }

    fn over(&mut self, sent: &Result<(), ExportError>, now: Instant) {
        self.sending = None;
        let Err(error) = sent else { return };
        let is_new =
            self.complained.is_none_or(|at| now.saturating_duration_since(at) > COMPLAINT_INTERVAL);
        if is_new {
            self.complained = Some(now);
            tracing::warn!(what = self.what, %error, "telemetry was dropped: it could not be sent");
        }
    }
}

/// Next event of a pipeline.
enum PipelineEvent {
    Sent(Result<(), ExportError>),
    Due,
}

/// Cancel-safe.
async fn step(line: Option<&mut ExportPipeline>) -> PipelineEvent {
    match line {
        None => std::future::pending().await,
        Some(line) => match &mut line.sending {
            Some(sending) => PipelineEvent::Sent(sending.await),
            None => {
                tokio::time::sleep_until(line.due.into()).await;
                PipelineEvent::Due
            }
        },
    }
}

#[cfg(test)]
mod tests;
