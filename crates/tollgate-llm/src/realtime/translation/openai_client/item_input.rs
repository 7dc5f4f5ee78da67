//! Items that a client adds to the conversation, as parts for the model.

use serde_json::{Map, Value};

use super::events::EventRefusal;
use super::pending::{ItemRole, PartContent, PendingPart};

/// The parts of a message item; all of them can be translated, or it is refused.
pub(super) fn message_parts(
    item: &Map<String, Value>,
    item_id: &str,
) -> Result<Vec<PendingPart>, EventRefusal> {
    let role = match item.get("role").and_then(Value::as_str) {
        Some("user") => ItemRole::User,
        Some("assistant") => ItemRole::Assistant,
        Some("system") => ItemRole::System,
        _ => {
            return Err(EventRefusal::of(
                "item.role",
                "invalid_value",
                "Invalid value: 'item.role' must be `user`, `assistant` or `system`.",
            ));
        }
    };
    let Some(Value::Array(content)) = item.get("content") else {
        return Err(EventRefusal::of(
            "item.content",
            "missing_required_parameter",
            "Missing required parameter: 'item.content'.",
        ));
    };
    let parts = content.iter().enumerate().map(|(at, part)| {
        let content = part_content(part, &format!("item.content[{at}]"))?;
        Ok(PendingPart { item_id: item_id.to_owned(), role, content })
    });
    parts.collect()
}

fn part_content(part: &Value, place: &str) -> Result<PartContent, EventRefusal> {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    match text("type") {
        Some("input_text" | "output_text" | "text") => {
            Ok(PartContent::Text(text("text").unwrap_or_default().to_owned()))
        }
        Some("output_audio") => {
            // The model cannot hear its own voice; its words are enough.
            Ok(PartContent::Text(text("transcript").unwrap_or_default().to_owned()))
        }
        Some("input_image") => match text("image_url").and_then(data_url) {
            Some((mime, data)) => {
                Ok(PartContent::Image { mime: mime.to_owned(), data: data.to_owned() })
            }
            None => Err(EventRefusal::untranslatable(format!("{place}.image_url"))),
        },
        Some("input_audio") => Err(EventRefusal::untranslatable(format!("{place}.type"))),
        _ => Err(EventRefusal::of(
            format!("{place}.type"),
            "invalid_value",
            format!("Invalid value: '{place}.type'."),
        )),
    }
}

/// Type and base64 data of a `data:` URL.
fn data_url(url: &str) -> Option<(&str, &str)> {
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    mime.starts_with("image/").then_some((mime, data))
}
