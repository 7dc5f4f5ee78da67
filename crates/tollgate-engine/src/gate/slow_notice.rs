//! The notice of a slow call: sent once, to its caller and to subscribers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tollgate_core::policy::Permitted;
use tollgate_core::turn::Turn;
use tollgate_mcp::client::Event;

use crate::caller::{CallPurpose, Caller};
use crate::notices::{Notice, NoticeCall, Notices};

/// Waits for `running`, and sends the tool's slow message if that takes too long. Takes it pinned:
/// by value it would be in the future of each call three times.
pub(super) async fn announce_if_slow<T>(
    notices: &Notices,
    turn: &Turn,
    request: &Permitted<'_>,
    caller: &Caller<'_>,
    mut running: Pin<&mut impl Future<Output = T>>,
) -> T {
    let tool = request.tool().filter(|_| caller.purpose == CallPurpose::Serve);
    let Some((tool, slow)) = tool.and_then(|tool| Some((tool, tool.terms.slow.as_ref()?))) else {
        return running.await;
    };
    if let Ok(done) = tokio::time::timeout(slow.threshold, running.as_mut()).await {
        return done;
    }
    if let Some(events) = &caller.events {
        // A full queue means that the caller does not read.
        let _ = events.try_send(Event::Announcement(Arc::clone(&slow.message)));
    }
    let call = NoticeCall {
        principal: turn.principal.clone(),
        agent: turn.view.agent.clone(),
        tool: tool.id.clone(),
        exposed: tool.exposed.to_string(),
    };
    notices.tell(Notice::Slow { call, message: Arc::clone(&slow.message) });
    running.await
}
