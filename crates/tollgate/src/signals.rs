//! Being told to stop: by SIGTERM, SIGINT (Ctrl-C) or SIGHUP (the terminal is gone).

use tokio::signal::unix::{SignalKind, signal};

/// Returns at the next of them. Where signals cannot be heard, never.
pub async fn asked_to_stop() {
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = signals.map(signal) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
}
