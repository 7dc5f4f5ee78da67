//! Random talks: whatever either side sends, the client sees the order of OpenAI, and the model
//! what its protocol allows.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::order::OrderCheck;
use super::script::{Talk, content, heard, pcm, speech, text_item, words};
use crate::realtime::events::{
    AnswerStage, CallAnswer, DialectAction, DialectEvent, RealtimeDialect,
};
use tollgate_core::tool::ResultDelivery;

#[derive(Debug, Clone)]
enum Move {
    Client(Value),
    Provider(Value),
    AnswerCall,
    RunsDone,
    Wait(u64),
}

fn moves() -> impl Strategy<Value = Move> {
    let client = prop_oneof![
        Just(text_item("Hello.")),
        Just(json!({"type": "response.create"})),
        Just(json!({"type": "response.create", "response": {"instructions": "Be brief."}})),
        Just(json!({"type": "response.cancel"})),
        Just(json!({"type": "input_audio_buffer.append", "audio": "AAAAAAAA"})),
        Just(json!({"type": "input_audio_buffer.append", "audio": "A".repeat(9_600)})),
        Just(json!({"type": "input_audio_buffer.commit"})),
        Just(json!({"type": "input_audio_buffer.clear"})),
        Just(json!({"type": "session.update", "session": {"instructions": "Be kind."}})),
        Just(json!({"type": "session.update", "session": {"audio": {"input": {
            "turn_detection": null}}}})),
        Just(json!({"type": "session.update", "session": {"output_modalities": ["text"]}})),
        Just(json!({"type": "conversation.item.retrieve", "item_id": "x"})),
        Just(json!({"type": "tollgate.tier", "tier": "fast"})),
        Just(json!({"type": 3})),
    ];
    let call = |id: &str, name: &str| json!({"toolCall": {"functionCalls": [{"id": id, "name": name, "args": {}}]}});
    let provider = prop_oneof![
        Just(json!({"setupComplete": {}})),
        Just(speech(&pcm(24_000, 10))),
        Just(words("Well.")),
        Just(heard("Yes.")),
        Just(json!({"serverContent": {"inputTranscription": {"text": "No.", "finished": true}}})),
        Just(content("interrupted")),
        Just(content("generationComplete")),
        Just(content("turnComplete")),
        Just(json!({"serverContent": {"turnComplete": true},
            "usageMetadata": {"promptTokenCount": 1, "responseTokenCount": 1}})),
        Just(json!({"serverContent": {"modelTurn": {"parts": [{"text": "Hm.", "thought": true},
            {"text": "Hm."}]}}})),
        Just(call("f1", "lights")),
        Just(call("f2", "look_up")),
        Just(json!({"toolCallCancellation": {"ids": ["f1", "f2"]}})),
        Just(json!({"voiceActivity": {"voiceActivityType": "ACTIVITY_START"}})),
        Just(json!({"voiceActivity": {"voiceActivityType": "ACTIVITY_END"}})),
        Just(json!({"goAway": {"timeLeft": "5s"}})),
        Just(json!({"sessionResumptionUpdate": {"newHandle": "h", "resumable": true}})),
        Just(json!({"serverContent": 3, "toolCall": []})),
    ];
    prop_oneof![
        4 => client.prop_map(Move::Client),
        6 => provider.prop_map(Move::Provider),
        1 => Just(Move::AnswerCall),
        1 => Just(Move::RunsDone),
        1 => (0..2_000_u64).prop_map(Move::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_order_of_messages_is_a_valid_session(
        model in prop_oneof![
            Just("gemini-2.5-live"), Just("gemini-3.1-live"), Just("gemini-3.8-live"),
            Just("gemini-3.8-live-extended-thinking"),
        ],
        moves in prop::collection::vec(moves(), 0..60),
    ) {
        let mut talk = Talk::fresh(model);
        let mut order = OrderCheck::default();
        let mut running = Vec::new();
        let begun = talk.begin();
        for event in talk.events(&begun) {
            order.check(&event);
        }
        for one in moves {
            let actions = match one {
                Move::Client(event) => talk.client(&event),
                Move::Provider(message) => talk.provider(&message),
                Move::AnswerCall => match order.call() {
                    Some(call_id) => talk.client(&json!({"type": "conversation.item.create",
                        "item": {"type": "function_call_output", "call_id": call_id,
                            "output": "on"}})),
                    None => Vec::new(),
                },
                Move::RunsDone => match running.pop() {
                    Some(id) => {
                        let answer = CallAnswer { id, answered: AnswerStage::Done,
                            outcome: r#"{"status":"ok"}"#.to_owned(),
                            delivery: ResultDelivery::Wait };
                        talk.machine.on_event(DialectEvent::Answer(answer), talk.now)
                    }
                    None => Vec::new(),
                },
                Move::Wait(millis) => talk.wait(millis),
            };
            for event in talk.events(&actions) {
                prop_assert!(!event.to_string().contains("look_up"), "{event}");
                order.check(&event);
            }
            running.extend(actions.iter().filter_map(|action| match action {
                DialectAction::Run(call) => Some(call.id.clone()),
                _ => None,
            }));
        }
    }
}
