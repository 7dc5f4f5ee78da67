//! Resource subscriptions, reference-counted: a server is subscribed to once, and unsubscribed from
//! when the last watcher is gone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_core::id::ServerId;

/// Distinct resources of one server that can be watched.
pub(crate) const MAX_WATCHED_RESOURCES: usize = 1_000;

/// Receives the full set of a server's watched URIs whenever it changes. Must not block.
pub(crate) trait WatchTarget: Send + Sync {
    fn watch_resources(&self, uris: Vec<String>);
}

pub struct ResourceWatches {
    state: Mutex<ResourceWatchesState>,
}

#[derive(Default)]
struct ResourceWatchesState {
    servers: HashMap<ServerId, Arc<dyn WatchTarget>>,
    held: HashMap<ServerId, BTreeMap<String, usize>>,
}

/// Keeps the resource watched until dropped.
pub struct ResourceWatch {
    watches: Arc<ResourceWatches>,
    server: ServerId,
    uri: String,
}

impl ResourceWatches {
    pub(crate) fn new(servers: HashMap<ServerId, Arc<dyn WatchTarget>>) -> Self {
        Self {
            state: Mutex::new(ResourceWatchesState { servers, ..ResourceWatchesState::default() }),
        }
    }

    /// Replaces the servers; new ones get the URIs that are watched.
    pub(crate) fn replace(&self, servers: HashMap<ServerId, Arc<dyn WatchTarget>>) {
        let mut state = self.state.lock();
        state.servers = servers;
        for (server, held) in &state.held {
            if let Some(watched) = state.servers.get(server) {
                watched.watch_resources(held.keys().cloned().collect());
            }
        }
    }

    /// `None` if too many resources of the server are watched.
    pub(crate) fn hold(self: &Arc<Self>, server: &ServerId, uri: &str) -> Option<ResourceWatch> {
        let mut has_room = true;
        self.change(server, |held| {
            has_room = held.len() < MAX_WATCHED_RESOURCES || held.contains_key(uri);
            if has_room {
                *held.entry(uri.to_owned()).or_default() += 1;
            }
        });
        let watches = Arc::clone(self);
        let server = server.clone();
        let uri = uri.to_owned();
        has_room.then(|| ResourceWatch { watches, server, uri })
    }

    /// Notifies under the lock, to keep changes in order.
    fn change(&self, server: &ServerId, change: impl FnOnce(&mut BTreeMap<String, usize>)) {
        let ResourceWatchesState { servers, held } = &mut *self.state.lock();
        let held = held.entry(server.clone()).or_default();
        let before = held.len();
        change(held);
        if held.len() != before
            && let Some(watched) = servers.get(server)
        {
            watched.watch_resources(held.keys().cloned().collect());
        }
    }
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        self.watches.change(&self.server, |held| {
            if let Some(count) = held.get_mut(&self.uri) {
                *count -= 1;
                if *count == 0 {
                    held.remove(&self.uri);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Arc, HashMap, MAX_WATCHED_RESOURCES, Mutex, ResourceWatches, ServerId, WatchTarget,
    };

    #[derive(Default)]
    struct RecordingWatchTarget(Mutex<Vec<String>>);

    impl WatchTarget for RecordingWatchTarget {
        fn watch_resources(&self, uris: Vec<String>) {
            self.0.lock().push(uris.join(" "));
        }
    }

    #[test]
    fn a_server_is_told_when_the_first_comes_and_the_last_leaves() {
        let server = ServerId::parse("docs").unwrap();
        let recorder = Arc::new(RecordingWatchTarget::default());
        let watched: Arc<dyn WatchTarget> = Arc::<RecordingWatchTarget>::clone(&recorder);
        let watches = Arc::new(ResourceWatches::new(HashMap::from([(server.clone(), watched)])));
        let first = watches.hold(&server, "a:1").unwrap();
        let second = watches.hold(&server, "a:1").unwrap();
        let other = watches.hold(&server, "b:2").unwrap();
        drop(first);
        drop(other);
        drop(second);
        assert_eq!(*recorder.0.lock(), ["a:1", "a:1 b:2", "a:1", ""]);
    }

    #[test]
    fn the_resources_of_one_server_are_bounded() {
        let server = ServerId::parse("docs").unwrap();
        let watches = Arc::new(ResourceWatches::new(HashMap::new()));
        let mut held: Vec<_> = (0..MAX_WATCHED_RESOURCES)
            .map(|at| watches.hold(&server, &format!("a:{at}")).unwrap())
            .collect();
        assert!(watches.hold(&server, "b:1").is_none());
        assert!(watches.hold(&server, "a:1").is_some(), "one that is watched already");
        held.pop();
        assert!(watches.hold(&server, "b:1").is_some());
    }
}
