//! Flood control for servers that send many messages without answering: limits how much is read at
//! a time and how fast, so that other work on this thread is not delayed.

use std::time::Duration;

/// Minimum cost of a message.
const MIN_MESSAGE_COST: usize = 64;
/// Bytes read before yielding to other tasks.
const AT_A_TIME: usize = 32 << 10;
/// Bytes beside an answer that are considered normal.
const USUAL: usize = 256 << 10;
/// Pause after each [`AT_A_TIME`] above the normal amount.
const FLOOD_PAUSE: Duration = Duration::from_millis(1);

/// The amount read since the last answer.
#[derive(Debug, Default)]
pub(crate) struct FloodControl {
    messages: usize,
    in_a_row: usize,
}

impl FloodControl {
    /// Records a message that is not an answer. Cancel-safe.
    pub(crate) async fn record_message(&mut self, bytes: usize) {
        let bytes = bytes.max(MIN_MESSAGE_COST);
        self.messages = self.messages.saturating_add(bytes);
        self.in_a_row = self.in_a_row.saturating_add(bytes);
        if self.in_a_row < AT_A_TIME {
            return;
        }
        let times = u32::try_from(self.in_a_row / AT_A_TIME).unwrap_or(u32::MAX);
        self.in_a_row = 0;
        if self.messages > USUAL {
            tokio::time::sleep(FLOOD_PAUSE.saturating_mul(times)).await;
        } else {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn reset(&mut self) {
        self.messages = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::FloodControl;

    /// Whether this many messages are read within the time.
    async fn is_read(bytes: usize, times: usize, within: Duration) -> bool {
        let reading = async {
            let mut flood = FloodControl::default();
            for _ in 0..times {
                flood.record_message(bytes).await;
            }
        };
        timeout(within, reading).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn usual_talk_is_not_held_up_and_a_flood_is() {
        assert!(is_read(100, 2_000, Duration::from_micros(1)).await);
        assert!(!is_read(1_000, 100_000, Duration::from_secs(2)).await, "100 MB in two seconds");
        assert!(is_read(1_000, 100_000, Duration::from_secs(20)).await, "but it goes on");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_makes_the_server_a_good_one_again() {
        let reading = async {
            let mut flood = FloodControl::default();
            for _ in 0..1_000 {
                flood.record_message(10_000).await;
                flood.reset();
            }
        };
        assert!(timeout(Duration::from_micros(1), reading).await.is_ok());
    }
}
