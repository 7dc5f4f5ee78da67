//! Tells spans and histograms to a collector, by OTLP over HTTP. Wired in `app`; hears of spans by
//! `Follower`. A call never waits for it: what cannot be sent is dropped and counted.
//!
//! Written by hand, since the official crates add more than a megabyte to the program.

mod histogram;
mod message;
mod post;
mod queue;
mod resource;
mod sampler;
mod settings;
mod spans;
mod task;

use std::sync::Arc;
use std::time::Duration;

use tollgate_engine::clock::Clock;
use tollgate_engine::spans::{Follower, Tracer};
use tollgate_mcp::tasks::{self, Task};

pub(crate) use settings::Settings;
pub use settings::{Configured, Protocol};

use queue::Queue;
use task::Exporter;

/// For what is left when the gateway ends.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The task that sends. Dropping it sends nothing more.
pub(crate) struct Exporting {
    queue: Arc<Queue>,
    task: Task,
}

/// Must be called within a runtime. Fails, in words, if a collector cannot be reached by any means.
pub(crate) fn start(
    settings: &Settings,
    clock: &Arc<dyn Clock>,
) -> Result<(Tracer, Exporting), String> {
    let (queue, heard) = Queue::new(settings);
    let queue = Arc::new(queue);
    let exporter = Exporter::new(settings, (heard, Arc::clone(&queue)), Arc::clone(clock))?;
    let task = tasks::spawn("otlp", exporter.run());
    let follower = Arc::clone(&queue) as Arc<dyn Follower>;
    Ok((Tracer::new(follower, Arc::clone(clock)), Exporting { queue, task }))
}

impl Exporting {
    /// Sends what is there, for a while.
    pub(crate) async fn finish(mut self) {
        self.queue.close();
        if tokio::time::timeout(LAST_WORDS, self.task.finished()).await.is_err() {
            tracing::warn!("the collector was too slow to hear everything before the end");
        }
    }
}
