//! OTLP exporter over HTTP: sends spans and histograms to a collector. Wired in `app`. Receives
//! spans by `SpanProcessor`. A call never waits for it: what cannot be sent is dropped and counted.
//!
//! The messages are those of `opentelemetry-proto`; why not the SDK is in
//! `docs/adr/0016-telemetry-libraries.md`.

mod baggage_pairs;
mod error;
mod exporter;
mod histogram;
mod message;
mod queue;
mod sampler;
mod sender;
mod settings;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use tollgate_engine::clock::Clock;
use tollgate_engine::spans::{SpanProcessor, Tracer};
use tollgate_mcp::tasks::{self, Task};

pub use error::OtlpStartError;
pub use settings::{OtlpConfig, OtlpProtocol, OtlpSettings};

use exporter::OtlpExporter;
use queue::SpanQueue;

/// Time limit for the final flush.
const SHUTDOWN_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// The task that sends. Dropping it sends nothing more.
pub struct ExporterHandle {
    queue: Arc<SpanQueue>,
    task: Task,
}

/// Must be called within a runtime. Fails if there can be no HTTP client.
pub fn start(
    settings: &OtlpSettings,
    clock: &Arc<dyn Clock>,
) -> Result<(Tracer, ExporterHandle), OtlpStartError> {
    let (queue, receiver) = SpanQueue::new(settings);
    let queue = Arc::new(queue);
    let exporter = OtlpExporter::new(settings, receiver, Arc::clone(&queue), Arc::clone(clock))?;
    let task = tasks::spawn("otlp", exporter.run());
    let follower = Arc::clone(&queue) as Arc<dyn SpanProcessor>;
    Ok((Tracer::new(follower, Arc::clone(clock)), ExporterHandle { queue, task }))
}

impl ExporterHandle {
    /// Sends what is there, for a while.
    pub async fn finish(mut self) {
        self.queue.close();
        if tokio::time::timeout(SHUTDOWN_FLUSH_TIMEOUT, self.task.wait()).await.is_err() {
            tracing::warn!("the collector was too slow to receive all telemetry before shutdown");
        }
    }
}
