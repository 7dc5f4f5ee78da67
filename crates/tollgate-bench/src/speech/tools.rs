//! The provider's model calls a tool of the gateway, and waits for the answer.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_testkit::realtime::openai::events;
use tollgate_testkit::ws::{RawWebSocketFrame, RawWebSocketRole};

use super::peer::SpeechPeer;
use crate::clock::{self, nanos};
use crate::error::{BenchError, within};
use crate::samples::Samples;

const TOOL_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) const SESSION_CREATED: &str = "{\"type\":\"session.created\",\"event_id\":\"e\",\
    \"session\":{\"type\":\"realtime\",\"object\":\"realtime.session\",\"id\":\"sess_1\"}}";

/// From the call to its answer, one call after the other.
pub(super) async fn call(
    side: &mut SpeechPeer,
    tool: &str,
    count: usize,
) -> Result<Samples, BenchError> {
    let mut took = Vec::with_capacity(count);
    for at in 0..count {
        let response = format!("resp_{at}");
        let id = format!("call_{at}");
        let arguments = json!({"expression": "1d6"}).to_string();
        let mut item = events::call(&format!("item_{at}"), &id, tool, &arguments);
        say(side, &[events::response("created", &response, "in_progress", &[])]).await?;
        say(side, &[events::output_item("added", &response, 0, &item)]).await?;
        item["status"] = json!("completed");
        let done = events::output_item("done", &response, 0, &item);
        let over = events::response("done", &response, "completed", &[item]);
        let began = clock::now();
        say(side, &[done, over]).await?;
        let answer = within(TOOL_ANSWER_TIMEOUT, "a tool's answer", answer(side, &id)).await?;
        took.push(nanos(clock::now() - began));
        let text = answer["item"]["output"].as_str().unwrap_or_default();
        if !text.contains("\"ok\"") {
            return Err(BenchError::wrong("the gateway", "the tool did not run", text.as_bytes()));
        }
        // What the gateway asks for next is given, so that the next call finds the floor free.
        let response = format!("resp_{at}_said");
        let created = events::response("created", &response, "in_progress", &[]);
        say(side, &[created, events::response("done", &response, "completed", &[])]).await?;
    }
    Ok(Samples::of_nanos(took))
}

async fn answer(side: &mut SpeechPeer, id: &str) -> Result<Value, BenchError> {
    loop {
        let event: Value = serde_json::from_str(&side.event().await).unwrap_or_default();
        if event["type"] == "conversation.item.create" && event["item"]["call_id"] == id {
            return Ok(event);
        }
    }
}

/// All in one write.
async fn say(side: &mut SpeechPeer, lines: &[Value]) -> Result<(), BenchError> {
    let frames = lines
        .iter()
        .map(|event| RawWebSocketFrame::text(&event.to_string()).bytes(RawWebSocketRole::Server));
    side.write(&frames.collect::<Vec<_>>().concat()).await
}
