//! Encodes the parts of a message's content. Called by the writers of messages and responses.

use serde_json::{Map, Value, json};

use super::DIALECT;
use super::media;
use crate::conversation::{ChatMedia, MediaKind, MediaSource};
use crate::dialect::Dialect;
use crate::extra::Extra;

pub(super) fn text(text: &str, extra: &Extra) -> Value {
    with_extra(json!({"type": "text", "text": text}), extra)
}

pub(super) fn refusal(text: &str, extra: &Extra) -> Value {
    with_extra(json!({"type": "refusal", "refusal": text}), extra)
}

/// `None`: the dialect cannot express it.
pub(super) fn media(media: &ChatMedia, extra: &Extra) -> Option<Value> {
    let value = match (media.kind, &media.source) {
        (MediaKind::Image, MediaSource::Url(url)) => {
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        (MediaKind::Image, MediaSource::Base64 { media_type, data }) => {
            let url = media::to_data_url(media_type, data);
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        (MediaKind::Audio, MediaSource::Base64 { media_type, data }) => {
            media::audio_json(media_type, data)
        }
        (MediaKind::Document, MediaSource::File(id)) => {
            file_json("file_id", id.clone(), media.name.as_deref())
        }
        (MediaKind::Document, MediaSource::Base64 { media_type, data }) => {
            let data = media::to_data_url(media_type, data);
            file_json("file_data", data, media.name.as_deref().or(Some("file")))
        }
        (MediaKind::Image, MediaSource::File(_))
        | (MediaKind::Audio, MediaSource::Url(_) | MediaSource::File(_))
        | (MediaKind::Document, MediaSource::Url(_))
        | (MediaKind::Video, _) => return None,
    };
    let mut value = with_extra(value, extra);
    if media.kind == MediaKind::Image
        && let Some(detail) = extra.get(Dialect::OpenAiResponses, "detail")
    {
        value["image_url"]["detail"] = detail.clone();
    }
    Some(value)
}

fn file_json(key: &str, value: String, name: Option<&str>) -> Value {
    let mut file = Map::from_iter([(key.to_owned(), value.into())]);
    if let Some(name) = name {
        file.insert("filename".to_owned(), name.into());
    }
    json!({"type": "file", "file": file})
}

fn with_extra(mut value: Value, extra: &Extra) -> Value {
    if let Value::Object(object) = &mut value {
        extra.write_into(DIALECT, object);
    }
    value
}
