//! Change notifications: modern clients get them on `subscriptions/listen`, legacy clients on the
//! stream of their session. A list change is notified only if this client would see a different
//! list.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};
use tollgate_core::json::{self, Object};
use tollgate_core::turn::Turn;
use tollgate_engine::gate::Gate;
use tollgate_engine::resource_watches::ResourceWatch;
use tollgate_mcp::envelope::{JsonRpcId, write};
use tollgate_mcp::meta::SUBSCRIPTION_ID;

use super::encode::{self, EncodedMessage, ModernResultShape};
use super::exchange::ExchangeChannel;
use super::legacy::SessionClient;
use super::notifications::{self, with_subscription_id};
use crate::app_state::AppState;
use crate::error_mapping::McpRequestError;
use crate::mcp_session::ListDigests;
use crate::request_context::RequestContext;

impl ListDigests {
    fn changes(self, next: Self) -> Vec<ChangeNotification> {
        let lists = [
            (self.tools != next.tools, ChangeNotification::Tools),
            (self.prompts != next.prompts, ChangeNotification::Prompts),
            (self.resources != next.resources, ChangeNotification::Resources),
        ];
        lists.into_iter().filter(|(changed, _)| *changed).map(|(_, news)| news).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ChangeNotification {
    Tools,
    Prompts,
    Resources,
    Updated(Arc<str>),
    /// The queue of updates overflowed: any resource may have changed.
    SomeUpdated,
}

impl ChangeNotification {
    fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Updated(_) | Self::SomeUpdated => "notifications/resources/updated",
        }
    }

    fn message(&self, subscription: Option<&RawValue>) -> String {
        let mut params = Object::new();
        if let Self::Updated(uri) = self {
            params.set_string("uri", uri);
        }
        write::notification(self.method(), &with_subscription_id(params, subscription))
    }
}

/// Waits for changes that concern one client.
struct ChangeWatcher {
    gate: Arc<Gate>,
    who: RequestContext,
    digests: ListDigests,
    changes: watch::Receiver<u64>,
    updates: broadcast::Receiver<Arc<str>>,
}

impl ChangeWatcher {
    fn new(gate: &Arc<Gate>, who: RequestContext, digests: ListDigests) -> Self {
        let mut changes = gate.changes();
        // First check for changes since the client was last notified.
        changes.mark_changed();
        Self { gate: Arc::clone(gate), who, digests, changes, updates: gate.resource_updates() }
    }

    /// `None` at the end. Cancel-safe.
    async fn next(&mut self) -> Option<Vec<ChangeNotification>> {
        loop {
            tokio::select! {
                changed = self.changes.changed() => {
                    changed.ok()?;
                    let Ok(turn) = self.who.turn::<McpRequestError>(&self.gate) else { continue };
                    let now = ListDigests::of(&turn.view);
                    let news = self.digests.changes(now);
                    self.digests = now;
                    if !news.is_empty() {
                        return Some(news);
                    }
                }
                update = self.updates.recv() => match update {
                    Ok(uri) => return Some(vec![ChangeNotification::Updated(uri)]),
                    Err(RecvError::Lagged(_)) => return Some(vec![ChangeNotification::SomeUpdated]),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }
}

/// The accepted part of a modern client's subscription.
struct Subscription {
    lists: Vec<ChangeNotification>,
    watched: HashMap<String, ResourceWatch>,
}

const LIST_FLAGS: &[(&str, ChangeNotification)] = &[
    ("toolsListChanged", ChangeNotification::Tools),
    ("promptsListChanged", ChangeNotification::Prompts),
    ("resourcesListChanged", ChangeNotification::Resources),
];

impl Subscription {
    fn accept(
        front: &AppState,
        turn: &Turn,
        requested: &Object<'_>,
    ) -> Result<Self, McpRequestError> {
        let is_wanted = |flag: &str| requested.get(flag).is_some_and(|raw| raw.get() == "true");
        let lists = LIST_FLAGS.iter().filter(|(flag, _)| is_wanted(flag));
        let lists = lists.map(|(_, news)| news.clone()).collect();
        let uris: Vec<String> = match requested.get("resourceSubscriptions") {
            None => Vec::new(),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| {
                McpRequestError::bad_params("`resourceSubscriptions` must be a list of strings")
            })?,
        };
        let mut watched = HashMap::new();
        for uri in uris.into_iter().take(front.limits.watched_resources) {
            // Resources that do not exist for this client are left out of the acknowledgement.
            if let Ok(watch) = front.gate.watch_resource(turn, &uri) {
                watched.insert(uri, watch);
            }
        }
        Ok(Self { lists, watched })
    }

    fn acknowledgement(&self) -> Object<'static> {
        let mut accepted = Object::new();
        for (flag, news) in LIST_FLAGS {
            if self.lists.contains(news) {
                accepted.set(*flag, json::raw("true".to_owned()));
            }
        }
        if !self.watched.is_empty() {
            let mut uris: Vec<&String> = self.watched.keys().collect();
            uris.sort_unstable();
            accepted.set("resourceSubscriptions", json::raw_value(&serde_json::json!(uris)));
        }
        let mut params = Object::new();
        params.set("notifications", accepted.to_raw());
        params
    }

    fn messages(&self, news: &ChangeNotification, subscription: Option<&RawValue>) -> Vec<String> {
        match news {
            ChangeNotification::Updated(uri) if !self.watched.contains_key(&**uri) => Vec::new(),
            ChangeNotification::Updated(_) => vec![news.message(subscription)],
            ChangeNotification::SomeUpdated => every(self.watched.keys(), subscription),
            list if self.lists.contains(list) => vec![news.message(subscription)],
            _ => Vec::new(),
        }
    }
}

fn every<'u>(
    uris: impl Iterator<Item = &'u String>,
    subscription: Option<&RawValue>,
) -> Vec<String> {
    uris.map(|uri| ChangeNotification::Updated(uri.as_str().into()).message(subscription)).collect()
}

/// `subscriptions/listen`: runs until the client or the server stops.
pub(super) async fn listen(
    front: &AppState,
    who: RequestContext,
    turn: &Turn,
    id: &JsonRpcId,
    params: &Object<'_>,
    line: &ExchangeChannel,
) -> Result<EncodedMessage, McpRequestError> {
    let Some(requested) = params.object("notifications") else {
        return Err(McpRequestError::bad_params("`notifications` must be an object"));
    };
    front.pressure.take_stream()?;
    let subscription = Subscription::accept(front, turn, &requested)?;
    let sender = line.messages().ok_or_else(|| {
        McpRequestError::invalid("`subscriptions/listen` needs `text/event-stream`")
    })?;
    let mut watcher = ChangeWatcher::new(&front.gate, who, ListDigests::of(&turn.view));
    let tag = id.to_raw();
    let acknowledged = with_subscription_id(subscription.acknowledgement(), Some(&tag));
    let first = write::notification("notifications/subscriptions/acknowledged", &acknowledged);
    let mut is_open = sender.send(first).await.is_ok();
    while is_open {
        let news = tokio::select! {
            biased;
            why = turn.lease.wait() => return Err(McpRequestError::from_revocation(&why)),
            news = watcher.next() => news,
            () = front.stop.cancelled() => None,
            () = sender.closed() => None,
        };
        let Some(news) = news else { break };
        for text in news.into_iter().flat_map(|news| subscription.messages(&news, Some(&tag))) {
            is_open &= sender.send(text).await.is_ok();
        }
    }
    let end = json::raw(format!("{{\"_meta\":{{\"{SUBSCRIPTION_ID}\":{tag}}}}}"));
    Ok(EncodedMessage::Whole(encode::modern_result(id, &end, None, ModernResultShape::Complete)))
}

/// Notifies a legacy session of changes, until it ends, the server stops, or another stream of the
/// same session takes over.
pub(super) async fn tell(
    front: &AppState,
    speaker: SessionClient<'_>,
    sender: mpsc::Sender<String>,
) {
    let session = speaker.session;
    let mut over = session.take_stream();
    let who = speaker.listening();
    // With filters other than those of `initialize`, other lists must be watched.
    let is_as_opened = who.narrow == session.who.narrow && who.tier == session.who.tier;
    let Ok(turn) = who.turn::<McpRequestError>(&front.gate) else { return };
    let digests = if is_as_opened { session.last_digests() } else { ListDigests::of(&turn.view) };
    let mut watcher = ChangeWatcher::new(&front.gate, who, digests);
    loop {
        let news = tokio::select! {
            biased;
            why = turn.lease.wait() => {
                // The protocol has no better message for this.
                let _ = sender.send(notifications::closing(&why)).await;
                return;
            }
            news = watcher.next() => news,
            () = front.stop.cancelled() => None,
            () = sender.closed() => None,
            _ = &mut over => None,
        };
        let Some(news) = news else { return };
        if is_as_opened {
            session.set_last_digests(watcher.digests);
        }
        for news in news {
            let messages = match &news {
                ChangeNotification::Updated(uri) if !session.watches(uri) => Vec::new(),
                ChangeNotification::SomeUpdated => every(session.watched_uris().iter(), None),
                ChangeNotification::Updated(_)
                | ChangeNotification::Tools
                | ChangeNotification::Prompts
                | ChangeNotification::Resources => {
                    vec![news.message(None)]
                }
            };
            for text in messages {
                if sender.send(text).await.is_err() {
                    return;
                }
            }
        }
    }
}
