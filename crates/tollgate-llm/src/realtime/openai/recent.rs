//! Bounded set of names that keeps the newest: a session lasts for an hour, and either side could
//! send new names without end.

use std::collections::{HashSet, VecDeque};

const MAX_RECENT_NAMES: usize = 1024;

#[derive(Default)]
pub(super) struct RecentNames {
    order: VecDeque<String>,
    known: HashSet<String>,
}

impl RecentNames {
    pub(super) fn insert(&mut self, name: &str) {
        if !self.known.insert(name.to_owned()) {
            return;
        }
        self.order.push_back(name.to_owned());
        if self.order.len() > MAX_RECENT_NAMES
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub(super) fn remove(&mut self, name: &str) {
        if self.known.remove(name) {
            self.order.retain(|known| known != name);
        }
    }
}
