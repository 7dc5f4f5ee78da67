//! Change subscriptions: one `subscriptions/listen` held open (modern), or incremental
//! `resources/subscribe` (legacy). After a gap, changes are announced that may have been missed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tollgate_core::json::{self, Object};

use super::dispatch::{Dispatch, OnDrop};
use super::in_flight_table::{InFlightEntry, InFlightRequestKind};
use super::{
    McpConnection, OutgoingRequest, RequestError, ServerFacts, ServerListener, handshake, outgoing,
};
use crate::error_code::METHOD_NOT_FOUND;
use crate::tasks::{self, Task};

const BACKOFF_FIRST: Duration = Duration::from_millis(250);
const BACKOFF_LAST: Duration = Duration::from_secs(30);
/// A server that does not acknowledge within this time is assumed to be listening.
const ACKNOWLEDGE: Duration = Duration::from_secs(5);

/// A connection that can hold a subscription open.
#[async_trait]
pub(super) trait SubscriptionTransport: Send + Sync {
    /// Opens a subscription, resolves `opened` once it is acknowledged, and returns when it ends.
    /// Dropping the future closes it.
    async fn listen(&self, params: &str, opened: oneshot::Sender<()>) -> Result<(), RequestError>;
}

pub(super) struct SubscriptionWatch {
    listener: Arc<dyn ServerListener>,
    /// Serializes changes. Held across requests to the server, so nothing else may wait for it.
    turn: tokio::sync::Mutex<()>,
    watched: Mutex<WatchedResources>,
}

#[derive(Default)]
struct WatchedResources {
    resources: BTreeSet<String>,
    task: Option<Task>,
}

impl SubscriptionWatch {
    pub(super) fn new(listener: Arc<dyn ServerListener>) -> Self {
        Self { listener, turn: tokio::sync::Mutex::default(), watched: Mutex::default() }
    }

    /// Modern: a new subscription replaces the old one, which is closed once the new one is open.
    pub(super) async fn listen(
        &self,
        facts: &ServerFacts,
        resources: &[String],
        subscriber: Arc<dyn SubscriptionTransport>,
    ) -> Result<(), RequestError> {
        let requested = BTreeSet::from_iter(resources.iter().cloned());
        let _turn = self.turn.lock().await;
        if self.watched.lock().is_listening_to(&requested) {
            return Ok(());
        }
        let Some(filter) = filter(facts, &requested) else {
            *self.watched.lock() = WatchedResources { resources: requested, task: None };
            return Ok(());
        };
        let (first, stands) = oneshot::channel();
        let held = HeldSubscription {
            subscriber,
            filter,
            missed: missed_notifications(facts),
            listener: Arc::clone(&self.listener),
        };
        let task = tasks::spawn("subscription", held.run(first));
        let ended = |_| Err(RequestError::Lost("the subscription ended".to_owned()));
        stands.await.unwrap_or_else(ended)?;
        *self.watched.lock() = WatchedResources { resources: requested, task: Some(task) };
        Ok(())
    }

    /// Legacy: subscribes to added resources and unsubscribes from removed ones.
    pub(super) async fn subscribe(
        &self,
        connection: &dyn McpConnection,
        resources: &[String],
    ) -> Result<(), RequestError> {
        if !connection.facts().flag("resources", "subscribe") {
            return Ok(());
        }
        let requested = BTreeSet::from_iter(resources.iter().cloned());
        let _turn = self.turn.lock().await;
        let known = self.resources();
        for uri in known.difference(&requested) {
            // If the server cannot unsubscribe, its notifications are ignored.
            let _ = ask(connection, "resources/unsubscribe", uri).await;
            self.watched.lock().resources.remove(uri);
        }
        for uri in requested.difference(&known) {
            ask(connection, "resources/subscribe", uri).await?;
            self.watched.lock().resources.insert(uri.clone());
        }
        Ok(())
    }

    /// The subscribed resources, for a session that is reopened.
    pub(super) fn resources(&self) -> BTreeSet<String> {
        self.watched.lock().resources.clone()
    }

    pub(super) fn stop(&self) {
        self.watched.lock().task = None;
    }
}

impl WatchedResources {
    fn is_listening_to(&self, resources: &BTreeSet<String>) -> bool {
        let runs = self.task.as_ref().is_some_and(|task| !task.is_finished());
        runs && self.resources == *resources
    }
}

async fn ask(connection: &dyn McpConnection, method: &str, uri: &str) -> Result<(), RequestError> {
    let mut params = Object::new();
    params.set_string("uri", uri);
    let client = handshake::identity();
    let request = OutgoingRequest::plain(method, params, &client);
    connection.request(request).await.map(drop)
}

/// A subscription that is reopened whenever it ends.
struct HeldSubscription {
    subscriber: Arc<dyn SubscriptionTransport>,
    filter: Box<RawValue>,
    missed: Vec<&'static str>,
    listener: Arc<dyn ServerListener>,
}

impl HeldSubscription {
    /// `first` receives the result of the first attempt; if it failed, there is no second.
    async fn run(self, first: oneshot::Sender<Result<(), RequestError>>) {
        let mut first = Some(first);
        let mut backoff = BACKOFF_FIRST;
        loop {
            let mut params = Object::new();
            params.set("notifications", self.filter.to_owned());
            let client = handshake::identity();
            let hop = outgoing::HopMeta { client: &client, progress_token: None, trace: None };
            let params = outgoing::params(params, crate::Revision::NEWEST, &hop);
            let (opened, stands) = oneshot::channel();
            let mut listening = self.subscriber.listen(&params, opened);
            let ended = tokio::select! {
                ended = &mut listening => ended,
                Ok(Ok(())) | Err(_) = timeout(ACKNOWLEDGE, stands) => {
                    backoff = BACKOFF_FIRST;
                    match first.take() {
                        Some(first) => drop(first.send(Ok(()))),
                        None => self.announce_missed(),
                    }
                    listening.await
                }
            };
            if let Some(first) = first.take() {
                let failed = ended.err();
                let failed =
                    failed.unwrap_or_else(|| RequestError::Lost("it ended at once".into()));
                let _ = first.send(Err(failed));
                return;
            }
            if matches!(&ended, Err(RequestError::Refused(error)) if error.code == METHOD_NOT_FOUND)
            {
                return;
            }
            sleep(backoff).await;
            backoff = (backoff * 2).min(BACKOFF_LAST);
        }
    }

    fn announce_missed(&self) {
        for method in &self.missed {
            self.listener.on_notification(method, None);
        }
    }
}

#[async_trait]
impl SubscriptionTransport for Dispatch {
    async fn listen(&self, params: &str, opened: oneshot::Sender<()>) -> Result<(), RequestError> {
        let entry = InFlightEntry {
            kind: InFlightRequestKind::Subscription,
            acknowledged: Some(opened),
            ..InFlightEntry::default()
        };
        let mut sent =
            self.send_entry("subscriptions/listen", params, entry, OnDrop::Cancel).await?;
        sent.answer().await.map(drop)
    }
}

/// List changes that a server may offer, and their notifications.
const LISTS: [(&str, &str, &str); 3] = [
    ("tools", "toolsListChanged", "notifications/tools/list_changed"),
    ("prompts", "promptsListChanged", "notifications/prompts/list_changed"),
    ("resources", "resourcesListChanged", "notifications/resources/list_changed"),
];

/// `None`: this server offers no notifications.
fn filter(facts: &ServerFacts, resources: &BTreeSet<String>) -> Option<Box<RawValue>> {
    let mut filter = Object::new();
    for (capability, key, _) in LISTS {
        if facts.flag(capability, "listChanged") {
            filter.set(key, json::raw("true".to_owned()));
        }
    }
    if !resources.is_empty() && facts.flag("resources", "subscribe") {
        let resources = resources.iter().map(String::as_str).collect();
        filter.set("resourceSubscriptions", json::raw_value(&resources));
    }
    (!filter.is_empty()).then(|| filter.to_raw())
}

/// The lists a client should read again after a gap.
pub(super) fn missed_notifications(facts: &ServerFacts) -> Vec<&'static str> {
    let offered = LISTS.iter().filter(|(capability, ..)| facts.offers(capability));
    offered.map(|(_, _, method)| *method).collect()
}
