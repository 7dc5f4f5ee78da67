//! GptLive.

use std::time::Instant;

use super::events::{Action, Frame, News, Opening, RealtimeDialect, Step};

pub struct GptLive {
    opening: Opening,
}

impl GptLive {
    pub fn new(opening: Opening) -> Self {
        Self { opening }
    }
}

impl RealtimeDialect for GptLive {
    fn client_said(&mut self, _frame: Frame<'_>, _now: Instant) -> Step {
        Step::forward()
    }

    fn provider_said(&mut self, _frame: Frame<'_>, _now: Instant) -> Step {
        Step::forward()
    }

    fn news(&mut self, news: News, _now: Instant) -> Vec<Action> {
        if let News::Offer(offer) = news {
            self.opening.offer = offer;
        }
        Vec::new()
    }

    fn wakes(&self) -> Option<Instant> {
        None
    }
}
