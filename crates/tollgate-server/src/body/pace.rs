//! Minimum rate of a request's body (slowloris): a client that sends a byte now and then is let go
//! long before the timeout of the body.

use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http_body::Frame;
use http_body_util::BodyExt as _;
use tollgate_engine::clock::{Clock as _, SystemClock};

use crate::api_error::ApiError;
use crate::limits::Limits;

/// What arrived of a body buys time for the rest of it.
pub(super) struct BodyPace {
    began: Instant,
    bytes_per_s: u32,
    grace: Duration,
    longest: Duration,
}

impl BodyPace {
    pub(super) fn begin(limits: &Limits) -> Self {
        Self {
            began: SystemClock.now(),
            bytes_per_s: limits.body_bytes_per_s,
            grace: limits.body_grace,
            longest: limits.body_timeout,
        }
    }

    /// Until when more has to come, counted from the beginning, after so many bytes.
    fn allowance(&self, arrived: usize) -> Duration {
        if self.bytes_per_s == 0 {
            return self.longest;
        }
        let bought = arrived as f64 / f64::from(self.bytes_per_s);
        Duration::from_secs_f64(bought).max(self.grace).min(self.longest)
    }

    /// The next part of a body of which so many bytes have arrived.
    pub(super) async fn next(
        &self,
        body: &mut Body,
        arrived: usize,
    ) -> Result<Option<Result<Frame<Bytes>, axum::Error>>, ApiError> {
        let until = self.began + self.allowance(arrived);
        let frame = tokio::time::timeout_at(until.into(), body.frame()).await;
        frame.map_err(|_| too_slow())
    }

    /// Time that we take is not the client's.
    pub(super) async fn pause<T>(&mut self, work: impl Future<Output = T>) -> T {
        let paused = SystemClock.now();
        let done = work.await;
        self.began += SystemClock.now().saturating_duration_since(paused);
        done
    }
}

pub(super) fn too_slow() -> ApiError {
    let detail = "the body did not arrive in time";
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use bytes::Bytes;
    use futures_util::stream;
    use tollgate_engine::clock::{Clock as _, SystemClock};

    use super::BodyPace;
    use crate::body::collect;
    use crate::limits::Limits;

    /// Sends so many bytes every second, and says how much arrived, or why not, after how many seconds.
    async fn send(bytes: usize, parts: usize, limits: &Limits) -> String {
        let began = SystemClock.now();
        let part = Bytes::from(vec![b'x'; bytes]);
        let sent = stream::unfold(0, move |count| {
            let part = part.clone();
            async move {
                (count < parts).then_some(())?;
                tokio::time::sleep(Duration::from_secs(1)).await;
                Some((Ok::<_, std::io::Error>(part), count + 1))
            }
        });
        let whole = collect(Body::from_stream(sent), None, limits).await;
        let took = SystemClock.now().saturating_duration_since(began).as_secs();
        match whole {
            Ok(whole) => format!("{} after {took} s", whole.len()),
            Err(problem) => format!("{} after {took} s", problem.code),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn r_12_a_body_that_trickles_is_given_up_after_the_grace() {
        let limits = Limits::default();
        assert_eq!(send(1, 1_000, &limits).await, "body_too_slow after 5 s");
        assert_eq!(send(1, 4, &limits).await, "4 after 4 s", "a short one has the grace");
        assert_eq!(send(1_000, 1_000, &limits).await, "body_too_slow after 5 s");
        // Ahead of the rate, until it stops.
        assert_eq!(send(2_000, 20, &limits).await, "40000 after 20 s");
        assert_eq!(send(2_000, 1_000, &limits).await, "body_too_slow after 30 s");
        let free = Limits { body_bytes_per_s: 0, ..Limits::default() };
        assert_eq!(send(1, 20, &free).await, "20 after 20 s");
        assert_eq!(send(1, 1_000, &free).await, "body_too_slow after 30 s");
    }

    #[tokio::test(start_paused = true)]
    async fn what_we_take_is_not_counted() {
        let mut pace = BodyPace::begin(&Limits::default());
        pace.pause(tokio::time::sleep(Duration::from_secs(4))).await;
        let mut body = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let began = SystemClock.now();
        assert_eq!(pace.next(&mut body, 0).await.unwrap_err().code, "body_too_slow");
        let waited = SystemClock.now().saturating_duration_since(began);
        assert!(waited >= Duration::from_secs(5), "{waited:?}");
    }
}
