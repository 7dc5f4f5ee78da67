//! Random talks: whatever either side sends, the client sees the order of Gemini.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::order::OrderCheck;
use super::script::{Talk, created, done};
use crate::realtime::events::DialectAction;

#[derive(Debug, Clone)]
enum Move {
    Client(Value),
    Provider(Value),
    Speak(&'static str),
    AnswerCall,
    RunsDone,
    Wait(u64),
}

fn moves() -> impl Strategy<Value = Move> {
    let client = prop_oneof![
        Just(json!({"realtimeInput": {"text": "Hello."}})),
        Just(json!({"realtimeInput": {"audio": {"data": "AAAAAAAA"}}})),
        Just(json!({"realtimeInput": {"audioStreamEnd": true}})),
        Just(json!({"realtimeInput": {"activityStart": {}}})),
        Just(json!({"realtimeInput": {"activityEnd": {}}})),
        Just(json!({"clientContent": {"turns": [{"parts": [{"text": "Hi."}]}],
            "turnComplete": true}})),
        Just(json!({"toolResponse": {"functionResponses": 3}})),
        Just(json!({"contextUpdate": {}})),
        Just(json!({"setup": {}})),
        Just(json!({"tollgate": {"tier": "fast"}})),
        Just(json!({"other": 1})),
    ];
    let call = |id: &str, name: &str| {
        json!({"type": "function_call", "id": id, "call_id": id, "name": name,
            "arguments": "{}", "status": "completed"})
    };
    let ids = prop_oneof![Just("r1"), Just("r2")];
    let statuses =
        prop_oneof![Just("completed"), Just("cancelled"), Just("failed"), Just("incomplete")];
    let outputs = prop_oneof![
        Just(json!([])),
        Just(json!([call("c1", "lights")])),
        Just(json!([call("g1", "look_up")])),
    ];
    let error = |code: &str| {
        json!({"type": "error", "error": {"type": "invalid_request_error", "code": code,
            "message": "no", "event_id": "client_2"}})
    };
    let provider = prop_oneof![
        2 => ids.clone().prop_map(created),
        3 => (ids.clone(), statuses, outputs).prop_map(|(id, status, output)| {
            done(id, status, &output)
        }),
        1 => Just(json!({"type": "session.updated", "session": {}})),
        1 => Just(json!({"type": "input_audio_buffer.speech_started", "item_id": "i"})),
        1 => Just(json!({"type": "input_audio_buffer.committed", "item_id": "i"})),
        1 => Just(error("conversation_already_has_active_response")),
        1 => Just(error("invalid_value")),
    ];
    prop_oneof![
        4 => client.prop_map(Move::Client),
        6 => provider.prop_map(Move::Provider),
        3 => ids.prop_map(Move::Speak),
        1 => Just(Move::AnswerCall),
        1 => Just(Move::RunsDone),
        1 => (0..2_000_u64).prop_map(Move::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_order_of_events_is_a_valid_session(
        moves in prop::collection::vec(moves(), 0..60),
    ) {
        let mut talk = Talk::fresh();
        let mut order = OrderCheck::default();
        let mut running: Vec<String> = Vec::new();
        let setup = json!({"setup": {"tools": [{"functionDeclarations": [{"name": "lights"}]}]}});
        let begun = talk.client(&setup);
        prop_assert!(talk.messages(&begun).is_empty());
        let accepted = talk.accept_setup();
        talk.messages(&accepted).iter().for_each(|message| order.check(message));
        for one in moves {
            let actions = match one {
                Move::Client(message) => talk.client(&message),
                Move::Provider(event) => talk.provider(&event),
                Move::Speak(id) => talk.speak(id, 100),
                Move::AnswerCall => match order.call() {
                    Some(id) => talk.client(&json!({"toolResponse": {"functionResponses": [
                        {"id": id, "name": "lights", "response": {"output": "on"}}]}})),
                    None => Vec::new(),
                },
                Move::RunsDone => match running.pop() {
                    Some(id) => talk.answer(&id),
                    None => Vec::new(),
                },
                Move::Wait(millis) => talk.wait(millis),
            };
            for message in talk.messages(&actions) {
                prop_assert!(!message.to_string().contains("look_up"), "{message}");
                order.check(&message);
            }
            running.extend(actions.iter().filter_map(|action| match action {
                DialectAction::Run(call) => Some(call.id.clone()),
                _ => None,
            }));
        }
    }
}
