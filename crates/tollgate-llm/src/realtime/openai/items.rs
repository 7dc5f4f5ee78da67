//! Items of the conversation in order, those hidden from the client, and those of earlier connections.
//! No message to the client may refer to a hidden item.

use std::collections::HashSet;

use super::recent::RecentNames;

/// Older items are never referred to.
const MAX_REMEMBERED_ITEMS: usize = 1024;

#[derive(Default)]
pub(super) struct ConversationItems {
    order: Vec<String>,
    hidden: RecentNames,
    /// Items of earlier connections that this one was told, and confirms once more.
    replayed: HashSet<String>,
    /// Items of earlier connections that this one does not have.
    lost: RecentNames,
}

/// Position of a new item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemPosition<'a> {
    First,
    After(&'a str),
    Last,
}

impl ConversationItems {
    pub(super) fn put(&mut self, id: &str, place: ItemPosition<'_>) {
        if self.order.iter().rev().any(|known| known == id) {
            return;
        }
        let at = match place {
            ItemPosition::First => 0,
            ItemPosition::After(before) => {
                self.position(before).map_or(self.order.len(), |at| at + 1)
            }
            ItemPosition::Last => self.order.len(),
        };
        self.order.insert(at, id.to_owned());
        if self.order.len() > MAX_REMEMBERED_ITEMS {
            let oldest = self.order.remove(0);
            self.hidden.remove(&oldest);
        }
    }

    /// Another connection begins, which is told these items.
    pub(super) fn restart(&mut self, replayed: Vec<String>) {
        self.replayed = replayed.iter().cloned().collect();
        for id in std::mem::replace(&mut self.order, replayed) {
            if !self.replayed.contains(&id) {
                self.lost.insert(&id);
            }
        }
    }

    /// Whether this connection was told any items.
    pub(super) fn any_replayed(&self) -> bool {
        !self.replayed.is_empty()
    }

    pub(super) fn is_replayed(&self, id: &str) -> bool {
        self.replayed.contains(id)
    }

    /// This connection does not have the item.
    pub(super) fn lose(&mut self, id: &str) {
        self.lost.insert(id);
    }

    pub(super) fn is_lost(&self, id: &str) -> bool {
        self.lost.contains(id)
    }

    pub(super) fn hide(&mut self, id: &str) {
        self.hidden.insert(id);
    }

    pub(super) fn is_hidden(&self, id: &str) -> bool {
        self.hidden.contains(id)
    }

    pub(super) fn none_hidden(&self) -> bool {
        self.hidden.is_empty()
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.order.retain(|known| known != id);
        self.replayed.remove(id);
        self.hidden.remove(id);
    }

    /// The item itself if it is visible to the client, otherwise the nearest visible one before it.
    pub(super) fn seen_at_or_before<'s>(&'s self, id: &'s str) -> Option<&'s str> {
        if !self.is_hidden(id) {
            return Some(id);
        }
        let at = self.position(id)?;
        self.order[..at].iter().rev().map(String::as_str).find(|id| !self.is_hidden(id))
    }

    /// The last hidden item directly after this one, or the item itself: what follows the item for
    /// the client follows that one for the provider.
    pub(super) fn end_of<'s>(&'s self, id: &'s str) -> &'s str {
        let behind = self.position(id).map_or(&[][..], |at| &self.order[at + 1..]);
        behind.iter().map(String::as_str).take_while(|id| self.is_hidden(id)).last().unwrap_or(id)
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.order.iter().rposition(|known| known == id)
    }
}
