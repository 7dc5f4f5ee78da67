//! The server `music`: `play_track` picks a track for a mood, `stop_music` stops it. Nothing is
//! played here: players (a page, a bot) are notified through `/api/events` and a webhook.
//!
//! The current track is kept per namespace and survives a reload of the library.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tollgate_core::memory::Namespace;

use super::dice::DiceRandom;
use super::document::quote_excerpt;
use super::{BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError};
use crate::notices::{Notice, Notices};
use library::{MusicLibrary, MusicLibraryError, Track};
use webhook::{Webhook, WebhookDelivery};

pub mod library;
mod moods;
pub(crate) mod webhook;

const MAX_MOOD_CHARS: usize = 200;
/// Moods listed to a model.
const MAX_LISTED_MOODS: usize = 40;

/// Current track by namespace.
#[derive(Debug, Clone, Default)]
pub(crate) struct NowPlaying(Arc<Mutex<HashMap<Namespace, Arc<Track>>>>);

/// Shared state of the music tools.
pub(crate) struct MusicContext {
    pub(crate) library: Result<MusicLibrary, MusicLibraryError>,
    pub(crate) webhook: Option<Webhook>,
    pub(crate) playing: NowPlaying,
    pub(crate) notices: Notices,
    pub(crate) random: DiceRandom,
}

pub(crate) fn tools(stage: MusicContext) -> Vec<Box<dyn BuiltinTool>> {
    let stage = Arc::new(stage);
    vec![Box::new(PlayTrack(Arc::clone(&stage))), Box::new(StopMusic(stage))]
}

struct PlayTrack(Arc<MusicContext>);

#[async_trait]
impl BuiltinTool for PlayTrack {
    fn definition(&self) -> Value {
        let moods: Vec<&str> = self.0.library.iter().flat_map(MusicLibrary::moods).collect();
        let listed = moods[..moods.len().min(MAX_LISTED_MOODS)].join(", ");
        json!({
            "name": "play_track",
            "title": "Play music",
            "description": "Plays a track that fits a mood and replaces the current one.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "mood": {
                        "type": "string",
                        "description": format!("The mood or scene. There is music for: {listed}"),
                        "examples": moods.first().into_iter().collect::<Vec<_>>(),
                        "minLength": 1,
                        "maxLength": MAX_MOOD_CHARS,
                    },
                },
                "required": ["mood"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "track": track_schema(),
                    "mood": { "type": "string", "description": "The mood it was chosen for" },
                    "listeners": {
                        "type": "integer",
                        "description": "Number of listeners on the event stream",
                    },
                    "webhook": { "type": "string", "enum": ["none", "told", "pending", "failed"] },
                },
                "required": ["track", "mood", "listeners", "webhook"],
            },
            "annotations": annotations("Play music"),
            "_meta": super::latency(50, 200),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let stage = &*self.0;
        let query = super::text_argument(arguments, "mood")?.trim();
        let library = stage.library.as_ref();
        let library = library.map_err(|error| BuiltinToolError::new(error.to_string()))?;
        let namespace = &asker.scope.namespace;
        let last = stage.playing.0.lock().get(namespace).cloned();
        let pick = library.pick(query, last.as_deref(), &stage.random);
        let (track, mood) = pick.ok_or_else(|| {
            let moods: Vec<&str> = library.moods().take(MAX_LISTED_MOODS).collect();
            let moods = moods.join(", ");
            BuiltinToolError::new(format!(
                "there is no music for `{}`; there is for: {moods}",
                quote_excerpt(query)
            ))
        })?;
        let spread = stage.announce(asker, Some((&track, &mood))).await?;
        stage.playing.0.lock().insert(namespace.clone(), Arc::clone(&track));
        let mut structured = spread.as_json();
        structured["track"] = track.as_json();
        structured["mood"] = json!(mood);
        Ok(BuiltinReply {
            text: format!("Playing “{}”, for the mood {mood}.", track.title),
            structured: Some(structured),
        })
    }
}

struct StopMusic(Arc<MusicContext>);

#[async_trait]
impl BuiltinTool for StopMusic {
    fn definition(&self) -> Value {
        json!({
            "name": "stop_music",
            "title": "Stop the music",
            "description": "Stops the music that plays.",
            "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "stopped": track_schema(),
                    "listeners": { "type": "integer" },
                    "webhook": { "type": "string", "enum": ["none", "told", "pending", "failed"] },
                },
                "required": ["listeners", "webhook"],
            },
            "annotations": annotations("Stop the music"),
            "_meta": super::latency(50, 200),
        })
    }

    async fn call(
        &self,
        _: &Map<String, Value>,
        asker: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let stage = &*self.0;
        // A player may still play after a restart of this process: notify it in any case.
        let spread = stage.announce(asker, None).await?;
        let stopped = stage.playing.0.lock().remove(&asker.scope.namespace);
        let mut structured = spread.as_json();
        let text = match stopped {
            Some(track) => {
                structured["stopped"] = track.as_json();
                format!("Stopped “{}”.", track.title)
            }
            None => "Nothing was playing.".to_owned(),
        };
        Ok(BuiltinReply { text, structured: Some(structured) })
    }
}

/// Who was notified.
struct MusicDelivery {
    listeners: usize,
    webhook: Option<WebhookDelivery>,
}

impl MusicDelivery {
    fn as_json(&self) -> Value {
        let webhook = match &self.webhook {
            None => "none",
            Some(WebhookDelivery::Yes) => "told",
            Some(WebhookDelivery::Pending) => "pending",
            Some(WebhookDelivery::No(_)) => "failed",
        };
        json!({ "listeners": self.listeners, "webhook": webhook })
    }
}

impl MusicContext {
    /// Notifies all listeners. Fails only if there is none.
    async fn announce(
        &self,
        asker: &BuiltinToolContext,
        played: Option<(&Arc<Track>, &str)>,
    ) -> Result<MusicDelivery, BuiltinToolError> {
        let listeners = self.notices.tell(Notice::Music {
            namespace: asker.scope.namespace.clone(),
            principal: asker.principal.clone(),
            played: played.map(|(track, mood)| (track.as_json(), mood.to_owned())),
        });
        let webhook = match &self.webhook {
            None => None,
            Some(webhook) => Some(webhook.tell(event(asker, played)).await),
        };
        match (&webhook, listeners) {
            (None, 0) => Err(BuiltinToolError::new(
                "there is no music player: nothing listens to `/api/events`, and \
                 `builtin.music.webhook` is not set",
            )),
            (Some(WebhookDelivery::No(why)), 0) => Err(BuiltinToolError::new(format!(
                "no player was notified: the webhook failed: {why}"
            ))),
            _ => Ok(MusicDelivery { listeners, webhook }),
        }
    }
}

/// The body of a webhook request.
fn event(asker: &BuiltinToolContext, played: Option<(&Arc<Track>, &str)>) -> Value {
    let namespace = asker.scope.namespace.as_str();
    let by = asker.principal.as_str();
    match played {
        Some((track, mood)) => json!({
            "event": "play",
            "namespace": namespace,
            "by": by,
            "mood": mood,
            "track": track.as_json(),
        }),
        None => json!({ "event": "stop", "namespace": namespace, "by": by }),
    }
}

fn track_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": { "type": "string" },
            "file": { "type": "string" },
            "url": { "type": "string" },
            "moods": { "type": "array", "items": { "type": "string" } },
            "length_s": { "type": "integer" },
        },
        "required": ["title", "moods"],
    })
}

/// Not destructive: other music can be played afterwards. Not read-only: people hear it.
fn annotations(title: &str) -> Value {
    json!({
        "title": title,
        "readOnlyHint": false,
        "destructiveHint": false,
        "idempotentHint": false,
        "openWorldHint": true,
    })
}

#[cfg(test)]
mod tests;
