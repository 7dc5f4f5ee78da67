//! Deliveries of tool calls by telephone platforms. A call that is delivered again gets the result
//! of the first delivery, also while that one still runs.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use tokio::sync::watch;

/// How long a delivery is remembered: longer than a signature is valid.
const REMEMBER: Duration = Duration::from_secs(600);
/// Deliveries of one line that are remembered.
const MAX_REMEMBERED: usize = 1_024;

/// Digest of what identifies a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DeliveryKey([u8; 32]);

impl DeliveryKey {
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        let mut text = Vec::new();
        for part in parts {
            // The length keeps parts apart.
            text.extend_from_slice(&(part.len() as u64).to_be_bytes());
            text.extend_from_slice(part);
        }
        let digest = digest(&SHA256, &text);
        Self(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

/// The answer to a call: what the platform's agent reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolAnswer {
    pub(crate) message: String,
    pub(crate) is_error: bool,
}

impl ToolAnswer {
    pub(crate) fn failure(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_error: true }
    }
}

pub(crate) type AnswerReceiver = watch::Receiver<Option<Arc<ToolAnswer>>>;
pub(crate) type AnswerSender = watch::Sender<Option<Arc<ToolAnswer>>>;

/// Deliveries of one line.
#[derive(Debug, Default)]
pub(crate) struct ToolDeliveries(Mutex<RememberedCalls>);

#[derive(Debug, Default)]
struct RememberedCalls {
    answers: HashMap<DeliveryKey, AnswerReceiver>,
    /// Oldest first.
    order: VecDeque<(Instant, DeliveryKey)>,
}

/// What becomes of a delivery.
#[derive(Debug)]
pub(crate) enum Delivery {
    First(AnswerSender, AnswerReceiver),
    Repeated(AnswerReceiver),
    /// Too many calls run.
    Refused,
}

impl ToolDeliveries {
    pub(crate) fn deliver(&self, key: DeliveryKey, now: Instant) -> Delivery {
        let mut calls = self.0.lock();
        calls.forget_old(now);
        if let Some(answer) = calls.answers.get(&key).filter(|answer| !is_lost(answer)) {
            return Delivery::Repeated(answer.clone());
        }
        calls.forget(key);
        if calls.order.len() >= MAX_REMEMBERED && !calls.forget_oldest_finished() {
            return Delivery::Refused;
        }
        let (sender, receiver) = watch::channel(None);
        calls.answers.insert(key, receiver.clone());
        calls.order.push_back((now, key));
        Delivery::First(sender, receiver)
    }
}

fn is_running(answer: &AnswerReceiver) -> bool {
    answer.borrow().is_none() && answer.has_changed().is_ok()
}

/// Whether the call ended without an answer, because it could not be started or it panicked.
fn is_lost(answer: &AnswerReceiver) -> bool {
    answer.borrow().is_none() && answer.has_changed().is_err()
}

impl RememberedCalls {
    fn forget_old(&mut self, now: Instant) {
        while let Some((at, key)) = self.order.front().copied() {
            let is_running = self.answers.get(&key).is_some_and(is_running);
            if now.saturating_duration_since(at) < REMEMBER || is_running {
                return;
            }
            self.forget(key);
        }
    }

    fn forget_oldest_finished(&mut self) -> bool {
        let mut keys = self.order.iter().map(|(_, key)| *key);
        let finished = keys.find(|key| !self.answers.get(key).is_some_and(is_running));
        finished.inspect(|key| self.forget(*key)).is_some()
    }

    fn forget(&mut self, key: DeliveryKey) {
        if self.answers.remove(&key).is_some() {
            self.order.retain(|(_, known)| *known != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_engine::clock::{Clock as _, SystemClock};

    use super::*;

    fn key(number: usize) -> DeliveryKey {
        DeliveryKey::of(&[&number.to_be_bytes()])
    }

    fn deliver(cache: &ToolDeliveries, number: usize, now: Instant) -> AnswerSender {
        match cache.deliver(key(number), now) {
            Delivery::First(sender, _) => sender,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_repeated_delivery_waits_for_the_first() {
        let now = SystemClock.now();
        let cache = ToolDeliveries::default();
        let sender = deliver(&cache, 1, now);
        let Delivery::Repeated(receiver) = cache.deliver(key(1), now) else {
            panic!("it is known")
        };
        assert_eq!(*receiver.borrow(), None);
        let answer = ToolAnswer { message: "5".to_owned(), is_error: false };
        sender.send_replace(Some(Arc::new(answer.clone())));
        assert_eq!(receiver.borrow().as_deref(), Some(&answer));
        drop(deliver(&cache, 2, now));
        drop(deliver(&cache, 2, now));
        assert_eq!(cache.0.lock().order.len(), 2, "a call that was lost is run again");
        let later = now + REMEMBER;
        assert!(matches!(cache.deliver(key(1), later), Delivery::First(..)), "it is forgotten");
    }

    #[test]
    fn parts_of_a_key_do_not_run_into_each_other() {
        assert_ne!(DeliveryKey::of(&[b"ab", b"c"]), DeliveryKey::of(&[b"a", b"bc"]));
        assert_eq!(DeliveryKey::of(&[b"ab", b"c"]), DeliveryKey::of(&[b"ab", b"c"]));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_running_calls_are_not_forgotten() {
        let now = SystemClock.now();
        let cache = ToolDeliveries::default();
        let running: Vec<AnswerSender> =
            (0..MAX_REMEMBERED).map(|number| deliver(&cache, number, now)).collect();
        assert!(matches!(cache.deliver(key(9_999), now), Delivery::Refused));
        assert!(matches!(cache.deliver(key(9_999), now + REMEMBER), Delivery::Refused));
        running[7].send_replace(Some(Arc::new(ToolAnswer::failure("no"))));
        let _running = deliver(&cache, 9_999, now);
        assert!(matches!(cache.deliver(key(7), now), Delivery::Refused), "it made room");
        assert!(matches!(cache.deliver(key(8), now), Delivery::Repeated(_)));
    }
}
