//! A connection that is replaced by one that knows nothing of the conversation.

use serde_json::{Value, json};
use tollgate_core::tool::ToolEffect;

use super::script::*;
use crate::realtime::events::{
    CloseReason, DialectAction, DialectEvent, ProviderFaultKind, ProviderGone, RealtimeDialect,
    RealtimeFrame, SessionRestart, SuccessorState,
};
use crate::realtime::openai::OpenAiRealtime;

/// What the machine does on a new connection.
struct Restarted {
    to_client: Vec<Value>,
    to_provider: Vec<Value>,
    others: Vec<DialectAction>,
}

impl Restarted {
    fn kinds(events: &[Value]) -> Vec<&str> {
        events.iter().map(|event| event["type"].as_str().unwrap()).collect()
    }

    /// Ids of the items that the new connection is told, without the note before them.
    fn told(&self) -> Vec<&str> {
        let items = self.to_provider.iter().filter(|it| it["type"] == "conversation.item.create");
        let ids = items.filter_map(|event| event["item"]["id"].as_str());
        ids.filter(|id| !id.starts_with("tg_")).collect()
    }
}

fn restart(talk: &mut Talk, notice: Option<&str>) -> Restarted {
    let restart = SessionRestart {
        model: "other".to_owned(),
        notice: notice.map(str::to_owned),
        max_history_bytes: 10_000,
    };
    let mut made = Restarted { to_client: Vec::new(), to_provider: Vec::new(), others: Vec::new() };
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    for action in talk.machine.restart(restart, talk.now) {
        match action {
            DialectAction::ToClient(text) => made.to_client.push(parse(&text)),
            DialectAction::ToProvider(text) => made.to_provider.push(parse(&text)),
            other => made.others.push(other),
        }
    }
    made
}

fn gone(talk: &mut Talk, code: u16) -> Option<ProviderFaultKind> {
    let with = CloseReason { code, reason: String::new() };
    match talk.machine.on_provider_gone(&with, talk.now) {
        ProviderGone::Replace(fault) => Some(fault.kind),
        ProviderGone::End => None,
        ProviderGone::Resume(_) => panic!("OpenAI resumes nothing"),
    }
}

fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "type": "message", "role": "user",
        "content": [{ "type": "input_text", "text": text }] })
}

/// The model says this, and is interrupted by the end of the connection.
fn begin_to_speak(talk: &mut Talk, response: &str, item: &str, words: &str) {
    talk.says(make_created_event(response));
    let message = json!({ "id": item, "type": "message", "role": "assistant", "content": [] });
    talk.says(provider(json!({ "type": "response.output_item.added", "event_id": "e",
        "response_id": response, "output_index": 0, "item": message })));
    talk.says(item_added(&message, None));
    let place = json!({ "event_id": "e", "response_id": response, "item_id": item,
        "output_index": 0, "content_index": 0 });
    let mut part = place.clone();
    part["type"] = json!("response.content_part.added");
    part["part"] = json!({ "type": "audio", "transcript": "" });
    talk.says(provider(part));
    let mut delta = place;
    delta["type"] = json!("response.output_audio_transcript.delta");
    delta["delta"] = json!(words);
    talk.says(provider(delta));
}

#[test]
fn what_the_provider_closes_for_decides_who_continues() {
    for (code, kind) in [
        (1000, None),
        (1007, None),
        (1009, None),
        (1001, Some(ProviderFaultKind::Broken)),
        (1006, Some(ProviderFaultKind::Broken)),
        (1011, Some(ProviderFaultKind::Broken)),
        (3000, Some(ProviderFaultKind::Refused)),
        (4000, Some(ProviderFaultKind::Refused)),
    ] {
        assert_eq!(gone(&mut Talk::with("roll"), code), kind, "{code}");
    }
    let mut sideband = Talk::open_session(OpenAiRealtime::sideband(opening(offer("roll"))));
    assert_eq!(gone(&mut sideband, 1011), None, "the call is elsewhere");
}

#[test]
fn a_new_connection_is_told_settings_tools_and_conversation_and_gives_the_answer() {
    let mut talk = Talk::with("roll");
    talk.says(client(json!({ "type": "session.update", "event_id": "u", "session": {
        "type": "realtime", "instructions": "Be kind.", "tools": [function("mine")],
        "audio": { "output": { "voice": "marin" } } } })));
    talk.says(provider(session("session.updated", &json!([]))));
    talk.says(item_added(&user("u1", "Who is there?"), None));
    begin_to_speak(&mut talk, "r1", "a1", "It is ");
    assert_eq!(gone(&mut talk, 1011), Some(ProviderFaultKind::Broken));
    let made = restart(&mut talk, Some("One moment."));
    let client_kinds = Restarted::kinds(&made.to_client);
    assert_eq!(client_kinds.last(), Some(&"response.done"));
    assert_eq!(made.to_client.last().unwrap()["response"]["status"], "cancelled");
    let kinds = Restarted::kinds(&made.to_provider);
    assert_eq!(kinds[..2], ["session.update", "session.update"]);
    assert_eq!(made.to_provider[0]["session"]["audio"]["output"]["voice"], "marin");
    let declared = &made.to_provider[1]["session"];
    assert_eq!(declared["tools"][0]["name"], "mine");
    assert_eq!(declared["tools"][1]["name"], "roll");
    assert_eq!(declared["instructions"], "Be kind.");
    assert_eq!(made.told(), ["u1", "a1"]);
    let cut_off = made.to_provider.iter().find(|it| it["item"]["id"] == "a1").unwrap();
    assert_eq!(cut_off["item"]["content"][0]["text"], "It is  [interrupted]");
    let last = made.to_provider.last().unwrap();
    assert_eq!(last["type"], "response.create");
    let instructions = last["response"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("One moment.") && instructions.contains("Be kind."));
    assert_eq!(made.others, [DialectAction::Reconnected]);
}

#[test]
fn the_client_sees_nothing_of_what_the_new_connection_repeats() {
    let mut talk = Talk::with("roll");
    talk.says(item_added(&user("u1", "Hello."), None));
    let made = restart(&mut talk, None);
    let note = made.to_provider.iter().find(|it| it["item"]["role"] == "system").unwrap();
    talk.check([
        (item_added(&note["item"], None), ""),
        (provider(session("session.created", &json!([]))), ""),
        (provider(session("session.updated", &json!([]))), ""),
        (item_added(&user("u1", "Hello."), None), ""),
        (item_added(&user("u2", "Again."), Some("u1")), "passes"),
    ]);
}

#[test]
fn what_follows_our_items_on_the_new_connection_follows_the_clients_for_the_client() {
    let mut talk = Talk::with("roll");
    talk.says(item_added(&user("u1", "Roll."), None));
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", "c1:roll"));
    talk.says(finish_turn("r1", "completed", "c1:roll"));
    // The connection ends before it has confirmed the output.
    talk.says(answer_of("c1"));
    let made = restart(&mut talk, None);
    let is_output = |event: &&Value| event["item"]["type"] == "function_call_output";
    let output = made.to_provider.iter().find(is_output).unwrap()["item"].clone();
    let id = output["id"].as_str().unwrap();
    assert_eq!(talk.says(item_added(&output, Some("item_c1"))), "");
    let text = talk.says(item_added(&user("u2", "Again."), Some(id)));
    assert_eq!(text, "client: conversation.item.added \"u1\"");
}

#[test]
fn words_of_another_model_that_were_not_spoken_are_spoken_by_the_new_connection() {
    let mut talk = Talk::routed("roll", 300);
    talk.says(speech("committed"));
    talk.says(heard_all("user_1", "think"));
    talk.says(Says::News(DialectEvent::Route));
    let text = talk.says(Says::News(DialectEvent::Speak(Ok("It is late.".to_owned()))));
    assert!(text.contains("provider: create"), "{text}");
    let made = restart(&mut talk, None);
    let last = made.to_provider.last().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["tool_choice"]),
        (&json!("response.create"), &json!("none"))
    );
    let mark = last["event_id"].as_str().unwrap();
    assert_eq!(talk.says(created_by_us("r1", mark)), "client: response.created \"r1\" [] null");
}

#[test]
fn nothing_is_said_if_no_answer_is_due_but_the_notice() {
    let mut talk = Talk::with("roll");
    let made = restart(&mut talk, None);
    assert!(!Restarted::kinds(&made.to_provider).contains(&"response.create"));
    let mut talk = Talk::with("roll");
    let made = restart(&mut talk, Some("One moment."));
    let last = made.to_provider.last().unwrap();
    assert_eq!(last["response"]["conversation"], "none");
    assert!(last.to_string().contains("One moment."));
}

#[test]
fn a_call_that_runs_goes_on_and_its_result_is_for_the_new_model() {
    let mut talk = Talk::with("roll");
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", "c1:roll"));
    let made = restart(&mut talk, None);
    assert_eq!(made.told(), ["item_c1"]);
    assert!(!Restarted::kinds(&made.to_provider).contains(&"response.create"), "it waits");
    talk.check([(
        answer_of("c1"),
        "provider: function_call_output c1 done | provider: create tg-7",
    )]);
}

#[test]
fn a_write_of_a_response_that_never_ended_is_not_made() {
    let mut offered = offer("book");
    offered.tools[0].effect = ToolEffect::Mutating;
    let mut talk = Talk::open_session(OpenAiRealtime::new(opening(offered)));
    talk.says(provider(session("session.created", &json!([]))));
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", "c1:book"));
    let made = restart(&mut talk, None);
    assert!(made.others.contains(&DialectAction::Cancel("c1".to_owned())), "{:?}", made.others);
}

#[test]
fn the_callers_words_that_nobody_has_written_down_are_told_as_audio() {
    let append =
        |audio: &str| client(json!({ "type": "input_audio_buffer.append", "audio": audio }));
    let mut talk = Talk::with("roll");
    talk.says(speech("speech_started"));
    talk.says(append("QUI="));
    talk.says(speech("committed"));
    let spoken = json!({ "id": "user_1", "type": "message", "role": "user",
        "content": [{ "type": "input_audio", "transcript": null }] });
    talk.says(item_added(&spoken, None));
    talk.says(append("Q0Q="));
    let made = restart(&mut talk, None);
    let item = made.to_provider.iter().find(|it| it["item"]["id"] == "user_1").unwrap();
    assert_eq!(item["item"]["content"][0], json!({ "type": "input_audio", "audio": "QUI=" }));
    let kinds = Restarted::kinds(&made.to_provider);
    assert_eq!(kinds[kinds.len() - 2..], ["input_audio_buffer.append", "response.create"]);
    assert_eq!(made.to_provider[kinds.len() - 2]["audio"], "Q0Q=");
}

#[test]
fn items_of_the_old_connection_get_a_benign_answer() {
    let mut talk = Talk::with("roll");
    let long = user("old", &"x".repeat(12_000));
    talk.says(item_added(&long, None));
    talk.says(item_added(&user("u1", "Hello."), Some("old")));
    restart(&mut talk, None);
    let point = |kind: &str, id: &str| {
        client(json!({ "type": format!("conversation.item.{kind}"), "item_id": id,
            "content_index": 0, "audio_end_ms": 10 }))
    };
    talk.check([
        (point("truncate", "u1"), "client: conversation.item.truncated \"u1\""),
        (point("delete", "u1"), "passes"),
        (point("truncate", "old"), "client: conversation.item.truncated \"old\""),
        (point("retrieve", "old"), "client: conversation.item.retrieved"),
        (point("delete", "old"), "client: conversation.item.deleted \"old\""),
    ]);
}

#[test]
fn a_final_error_is_not_told_while_another_provider_may_take_over() {
    let mut talk = Talk::with("roll");
    talk.says(create());
    let text = talk.says(error("mine", "insufficient_quota"));
    assert!(text.starts_with("Replace(") && text.contains("insufficient_quota"), "{text}");
    let made = restart(&mut talk, None);
    assert_eq!(made.to_provider.last().unwrap()["type"], "response.create");
    let mut talk = Talk::with("roll");
    assert_eq!(talk.says(error("mine", "invalid_value")), "passes");
}

#[test]
fn a_session_moves_to_another_connection_before_it_expires_when_nobody_speaks() {
    let mut talk = Talk::fresh("");
    let wall = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    talk.machine.synchronize(talk.now, wall);
    let created = json!({ "type": "session.created", "event_id": "e", "session": {
        "type": "realtime", "expires_at": 1_003_600 } });
    talk.says(provider(created.clone()));
    assert_eq!(talk.says(Says::Wait(3_299_000)), "");
    talk.says(make_created_event("r1"));
    assert_eq!(talk.says(Says::Wait(1_000)), "PrepareReconnect");
    let ready = DialectEvent::Successor(SuccessorState::Ready);
    assert_eq!(talk.says(Says::News(ready)), "", "the model speaks");
    let text = talk.says(finish_turn("r1", "completed", ""));
    assert!(text.contains("Expiring"), "{text}");
    restart(&mut talk, None);
    let mut step = created;
    step["session"]["expires_at"] = json!(1_007_000);
    let step = step.to_string();
    let step = talk.machine.on_provider_message(RealtimeFrame::Text(&step), talk.now);
    assert_eq!(step.actions, []);
    assert!(talk.machine.wakes().is_some(), "the next end is known");
}

#[test]
fn a_session_does_not_move_between_the_end_of_an_utterance_and_its_item() {
    let mut talk = Talk::fresh("");
    let wall = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    talk.machine.synchronize(talk.now, wall);
    talk.says(provider(json!({ "type": "session.created", "session": {
        "type": "realtime", "expires_at": 1_003_600 } })));
    let input = |kind: &str| {
        let kind = format!("input_audio_buffer.{kind}");
        provider(json!({ "type": kind, "event_id": "e", "item_id": "item_1" }))
    };
    talk.says(input("speech_started"));
    assert_eq!(talk.says(Says::Wait(3_300_000)), "PrepareReconnect");
    let ready = DialectEvent::Successor(SuccessorState::Ready);
    assert_eq!(talk.says(Says::News(ready)), "", "the caller speaks");
    for kind in ["speech_stopped", "committed"] {
        let text = talk.says(input(kind));
        assert!(!text.contains("Expiring"), "{kind}: {text}");
    }
    talk.says(make_created_event("r1"));
    let text = talk.says(finish_turn("r1", "completed", ""));
    assert!(text.contains("Expiring"), "{text}");
}

#[test]
fn a_connection_that_could_not_be_opened_is_opened_later() {
    let mut talk = Talk::fresh("");
    let wall = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    talk.machine.synchronize(talk.now, wall);
    talk.says(provider(json!({ "type": "session.created", "session": {
        "type": "realtime", "expires_at": 1_003_600 } })));
    assert_eq!(talk.says(Says::Wait(3_300_000)), "PrepareReconnect");
    let gone = DialectEvent::Successor(SuccessorState::Gone);
    assert_eq!(talk.says(Says::News(gone)), "");
    assert_eq!(talk.says(Says::Wait(20_000)), "PrepareReconnect");
}
