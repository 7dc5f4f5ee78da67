//! Gemini.

use std::time::Instant;

use super::events::{Action, Frame, News, Opening, RealtimeDialect, Step};

pub struct Gemini {
    opening: Opening,
}

impl Gemini {
    pub fn new(opening: Opening) -> Self {
        Self { opening }
    }
}

impl RealtimeDialect for Gemini {
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
