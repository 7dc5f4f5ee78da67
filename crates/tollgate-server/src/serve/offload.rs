//! Moves requests with large bodies off the workers.

use std::future::{Future, poll_fn};
use std::task::Poll;

use tollgate_mcp::offload;

use crate::body::BodyAdmission;

/// Polls a request on the worker until its body proves to be large, and from then on the threads
/// for large work: everything done with such a body takes long, from parsing to the audit digest.
pub(super) async fn offloaded_if_large<F>(handled: F, admission: &BodyAdmission) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let mut handled = Box::pin(handled);
    let here = poll_fn(|context| match handled.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if admission.is_large() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    match here.await {
        Some(output) => output,
        None => offload::offload(handled).await,
    }
}
