//! Requests with large bodies, which are answered where nobody else has to wait.

use std::future::{Future, poll_fn};
use std::task::Poll;

use tollgate_mcp::offload;

use crate::body::BodyAdmission;

/// Answers a request here until its body turns out to be large, and from then on by the threads for
/// large work: all that is made of such a body takes long, from parsing to the audit's digest.
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
