//! Keys that the caller presses, collected into one text for the model.

use std::time::{Duration, Instant};

use crate::phone_lines::DtmfMode;

/// A longer number is told in parts.
const MAX_DIGITS: usize = 32;

#[derive(Debug)]
pub(super) struct DigitCollector {
    mode: DtmfMode,
    pause: Duration,
    digits: String,
    due: Option<Instant>,
}

impl DigitCollector {
    pub(super) fn new(mode: DtmfMode, pause: Duration) -> Self {
        Self { mode, pause, digits: String::new(), due: None }
    }

    /// The digits that are complete with this one.
    pub(super) fn push(&mut self, digit: char, now: Instant) -> Option<String> {
        match self.mode {
            DtmfMode::Ignore => return None,
            DtmfMode::Each => return Some(digit.to_string()),
            DtmfMode::Collect => {}
        }
        if digit == '#' {
            // Alone it is an answer of its own, otherwise the end of one.
            if self.digits.is_empty() {
                self.digits.push(digit);
            }
            return self.take();
        }
        self.digits.push(digit);
        if self.digits.len() >= MAX_DIGITS {
            return self.take();
        }
        self.due = Some(now + self.pause);
        None
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn on_time(&mut self, now: Instant) -> Option<String> {
        if self.due.is_some_and(|due| due <= now) { self.take() } else { None }
    }

    fn take(&mut self) -> Option<String> {
        self.due = None;
        Some(std::mem::take(&mut self.digits)).filter(|digits| !digits.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use tollgate_engine::clock::{Clock as _, SystemClock};

    use super::*;

    const PAUSE: Duration = Duration::from_millis(1_500);

    fn press(collector: &mut DigitCollector, digits: &str, now: Instant) -> Vec<String> {
        digits.chars().filter_map(|digit| collector.push(digit, now)).collect()
    }

    #[test]
    fn digits_are_complete_at_the_hash_or_after_a_pause() {
        let now = SystemClock.now();
        let mut collector = DigitCollector::new(DtmfMode::Collect, PAUSE);
        assert_eq!(press(&mut collector, "12*3#", now), ["12*3"]);
        assert_eq!(collector.due(), None);
        assert_eq!(press(&mut collector, "#", now), ["#"]);
        assert!(press(&mut collector, "5", now).is_empty());
        assert_eq!(collector.on_time(now + PAUSE / 2), None);
        let later = now + PAUSE / 2;
        assert!(press(&mut collector, "6", later).is_empty());
        assert_eq!(collector.on_time(now + PAUSE), None, "each digit begins the pause anew");
        assert_eq!(collector.on_time(later + PAUSE), Some("56".to_owned()));
        assert_eq!(collector.on_time(later + PAUSE), None);
    }

    #[test]
    fn digits_are_bounded_and_may_be_told_one_by_one_or_not_at_all() {
        let now = SystemClock.now();
        let mut collector = DigitCollector::new(DtmfMode::Collect, PAUSE);
        assert_eq!(press(&mut collector, &"7".repeat(40), now), ["7".repeat(32)]);
        let mut each = DigitCollector::new(DtmfMode::Each, PAUSE);
        assert_eq!(press(&mut each, "1#", now), ["1", "#"]);
        let mut ignoring = DigitCollector::new(DtmfMode::Ignore, PAUSE);
        assert!(press(&mut ignoring, "1#", now).is_empty());
        assert_eq!(ignoring.due(), None);
    }
}
