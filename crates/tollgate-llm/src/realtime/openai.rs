//! OpenAi.

use std::time::Instant;

use super::events::{Action, Frame, News, Opening, RealtimeDialect, Step};

pub struct OpenAi {
    opening: Opening,
}

impl OpenAi {
    pub fn new(opening: Opening) -> Self {
        Self { opening }
    }

    /// On a call that somebody else holds.
    pub fn sideband(opening: Opening) -> Self {
        Self::new(opening)
    }
}

impl RealtimeDialect for OpenAi {
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
