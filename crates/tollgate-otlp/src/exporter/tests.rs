use std::future::{pending, ready};
use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderMap, Uri};
use tollgate_engine::clock::{Clock as _, SystemClock};

use super::super::settings::{OtlpProtocol, OtlpTarget};
use super::{DELIVERY_TIMEOUT, ExportError, ExportPipeline};

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_a_collector_that_is_to_be_asked_again() {
    let target = OtlpTarget {
        url: Uri::from_static("http://127.0.0.1:9/v1/traces"),
        headers: HeaderMap::new(),
        protocol: OtlpProtocol::Json,
        timeout: Duration::from_secs(10),
    };
    let now = SystemClock.now();
    let mut line = ExportPipeline::new("spans", &target, Duration::from_secs(1), now).unwrap();
    assert!(line.wait_for_delivery(now).await, "nothing was on its way");
    for (sending, arrives) in [
        (ready(Ok(())).boxed(), true),
        (ready(Err(ExportError::PendingAtShutdown)).boxed(), false),
        (pending().boxed(), false),
    ] {
        line.sending = Some(sending);
        let begun = SystemClock.now();
        assert_eq!(line.wait_for_delivery(now).await, arrives);
        assert!(SystemClock.now() - begun <= DELIVERY_TIMEOUT);
    }
}
