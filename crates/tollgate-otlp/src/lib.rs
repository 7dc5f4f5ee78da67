//! OTLP exporter over HTTP: sends spans and histograms to a collector. Wired in `app`. Receives
//! spans by `SpanProcessor`. A call never waits for it: what cannot be sent is dropped and counted.
//!
//! Written by hand, because the official crates add more than a megabyte to the binary.

mod exporter;
mod histogram;
mod message;
mod queue;
mod resource;
mod sampler;
mod sender;
mod settings;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use tollgate_engine::clock::Clock;
use tollgate_engine::spans::{SpanProcessor, Tracer};
use tollgate_mcp::tasks::{self, Task};

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

/// Must be called within a runtime. Fails, in words, if a collector cannot be reached by any means.
pub fn start(
    settings: &OtlpSettings,
    clock: &Arc<dyn Clock>,
) -> Result<(Tracer, ExporterHandle), String> {
    let (queue, heard) = SpanQueue::new(settings);
    let queue = Arc::new(queue);
    let exporter = OtlpExporter::new(settings, (heard, Arc::clone(&queue)), Arc::clone(clock))?;
    let task = tasks::spawn("otlp", exporter.run());
    let follower = Arc::clone(&queue) as Arc<dyn SpanProcessor>;
    Ok((Tracer::new(follower, Arc::clone(clock)), ExporterHandle { queue, task }))
}

impl ExporterHandle {
    /// Sends what is there, for a while.
    pub async fn finish(mut self) {
        self.queue.close();
        if tokio::time::timeout(SHUTDOWN_FLUSH_TIMEOUT, self.task.finished()).await.is_err() {
            tracing::warn!("the collector was too slow to receive all telemetry before shutdown");
        }
    }
}
