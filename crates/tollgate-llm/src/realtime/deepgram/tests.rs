//! Conversations with the machine as transcripts, and a long random one.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::Deepgram;
use crate::realtime::transcript::{self, told};

#[track_caller]
fn check(offered: &str, text: &str) {
    transcript::check(&mut Deepgram::new(transcript::opening(offered)), text);
}

/// The same after a usual beginning: the client has a function `lamp`, we have `roll` and `book`.
#[track_caller]
fn check_begun(text: &str) {
    transcript::check(&mut begun(), text);
}

fn begun() -> Deepgram {
    let mut machine = Deepgram::new(transcript::opening("roll book!"));
    told(
        &mut machine,
        r#"client {"type":"Settings","agent":{"think":{"functions":[{"name":"lamp"}],"prompt":"Hi"}}}"#,
    );
    told(&mut machine, r#"provider {"type":"SettingsApplied"}"#);
    machine
}

#[test]
fn settings_get_our_functions_and_our_prompt_before_the_clients() {
    check(
        "roll book! | Be brief.",
        r#"
        client {"type":"Settings","audio":{"input":{"encoding":"linear16"}},"agent":{"think":{"provider":{"type":"open_ai","model":"voice","temperature":0.5},"prompt":"You sell boats.","functions":[{"name":"lamp","parameters":{"type":"object"}}]},"greeting":"Ahoy"}}
          replace {"type":"Settings","audio":{"input":{"encoding":"linear16"}},"agent":{"think":{"provider":{"type":"open_ai","model":"real-model","temperature":0.5},"prompt":"Be brief.\n\nYou sell boats.","functions":[{"name":"lamp","parameters":{"type":"object"}},{"name":"roll","description":"does roll"},{"name":"book","description":"does book","defer_until_eot":true}]},"greeting":"Ahoy"}}
        provider {"type":"Welcome","request_id":"r"}
          swallow
        provider {"type":"SettingsApplied"}
          forward
        "#,
    );
}

#[test]
fn settings_without_a_think_block_get_one() {
    check(
        "roll | Be brief.",
        r#"
        client {"type":"Settings","agent":{}}
          replace {"type":"Settings","agent":{"think":{"provider":{"model":"real-model"},"functions":[{"name":"roll","description":"does roll"}],"prompt":"Be brief."}}}
        "#,
    );
}

#[test]
fn the_provider_of_a_model_is_known_where_the_client_cannot_know_it() {
    let mut opening = transcript::opening("");
    opening.model = "claude-sonnet-4-20250514".to_owned();
    transcript::check(
        &mut Deepgram::new(opening),
        r#"
        client {"type":"Settings","agent":{"think":{"provider":{"type":"open_ai","model":"voice"}}}}
          replace {"type":"Settings","agent":{"think":{"provider":{"type":"anthropic","model":"claude-sonnet-4-20250514"}}}}
        "#,
    );
}

#[test]
fn a_model_that_nobody_pinned_is_the_clients() {
    let mut opening = transcript::opening("");
    opening.model.clear();
    transcript::check(
        &mut Deepgram::new(opening),
        r#"
        client {"type":"Settings","agent":{"think":[{"provider":{"type":"open_ai","model":"a"}},{"provider":{"type":"google","model":"b"}}]}}
          replace {"type":"Settings","agent":{"think":[{"provider":{"type":"open_ai","model":"a"}},{"provider":{"type":"google","model":"b"}}]}}
        client {"type":"UpdateThink","think":{"provider":{"type":"google","model":"b"}}}
          replace {"type":"UpdateThink","think":{"provider":{"type":"google","model":"b"}}}
        "#,
    );
}

#[test]
fn every_block_of_a_chain_is_merged_and_other_models_are_left_out() {
    check(
        "roll",
        r#"
        client {"type":"Settings","agent":{"think":[{"provider":{"type":"a","model":"voice"}},{"provider":{"type":"b","model":"other"}},{"provider":{"type":"c","model":"voice"}}]}}
          replace {"type":"Settings","agent":{"think":[{"provider":{"type":"a","model":"real-model"},"functions":[{"name":"roll","description":"does roll"}]},{"provider":{"type":"c","model":"real-model"},"functions":[{"name":"roll","description":"does roll"}]}]}}
          client {"type":"Warning","description":"model `other` is not the one of this session; name it when a session begins","code":"MODEL_NOT_OFFERED"}
        client {"type":"UpdateThink","think":{"provider":{"type":"b","model":"other"}}}
          swallow
          client {"type":"Warning","description":"model `other` is not the one of this session; name it when a session begins","code":"MODEL_NOT_OFFERED"}
        "#,
    );
}

#[test]
fn an_agent_that_is_kept_at_deepgram_stays_as_it_is() {
    check(
        "roll",
        r#"
        client {"type":"Settings","agent":"0d9e-123"}
          forward
          client {"type":"Warning","description":"the agent is kept at Deepgram: what it thinks with is not known to the gateway, which adds no tools to it; send `agent.think` in `Settings`, or `UpdateThink`","code":"TOOLS_NOT_ADDED"}
        provider {"type":"SettingsApplied"}
          forward
        offer roll book!
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          forward
          turn began
        client {"type":"UpdateThink","think":{"provider":{"type":"open_ai","model":"voice"}}}
          replace {"type":"UpdateThink","think":{"provider":{"type":"open_ai","model":"real-model"},"functions":[{"name":"roll","description":"does roll"},{"name":"book","description":"does book","defer_until_eot":true}]}}
        provider {"type":"FunctionCallRequest","functions":[{"id":"c2","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          run c2 roll {}
          confirm c2
        "#,
    );
}

#[test]
fn b_ws_12_an_update_of_the_client_never_removes_our_functions() {
    check_begun(
        r#"
        client {"type":"UpdateThink","think":{"provider":{"type":"open_ai","model":"real-model"},"functions":[]}}
          replace {"type":"UpdateThink","think":{"provider":{"type":"open_ai","model":"real-model"},"functions":[{"name":"roll","description":"does roll"},{"name":"book","description":"does book","defer_until_eot":true}]}}
        provider {"type":"ThinkUpdated"}
          forward
        "#,
    );
}

#[test]
fn the_clients_function_wins_over_ours_of_the_same_name() {
    check(
        "roll",
        r#"
        client {"type":"Settings","agent":{"think":{"provider":{"model":"v"},"functions":[{"name":"roll"}]}}}
          replace {"type":"Settings","agent":{"think":{"provider":{"model":"real-model"},"functions":[{"name":"roll"}]}}}
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          forward
          turn began
        client {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"6"}
          forward
        "#,
    );
}

#[test]
fn a_change_of_the_offer_sends_the_whole_block_and_its_confirmation_is_ours() {
    check_begun(
        r#"
        client {"type":"UpdatePrompt","prompt":"Speak slowly."}
          forward
        provider {"type":"PromptUpdated"}
          forward
        offer roll
          provider {"type":"UpdateThink","think":{"functions":[{"name":"lamp"},{"name":"roll","description":"does roll"}],"prompt":"Hi\nSpeak slowly.","provider":{"model":"real-model"}}}
        offer roll
        client {"type":"UpdateThink","think":{"provider":{"model":"real-model"}}}
          replace {"type":"UpdateThink","think":{"provider":{"model":"real-model"},"functions":[{"name":"roll","description":"does roll"}]}}
        provider {"type":"ThinkUpdated"}
          swallow
        provider {"type":"ThinkUpdated"}
          forward
        "#,
    );
}

#[test]
fn an_offer_waits_until_the_settings_are_applied() {
    check(
        "roll",
        r#"
        offer deal
        client {"type":"Settings","agent":{"think":{"provider":{"model":"v"}}}}
          replace {"type":"Settings","agent":{"think":{"provider":{"model":"real-model"},"functions":[{"name":"deal","description":"does deal"}]}}}
        offer deal roll
        provider {"type":"SettingsApplied"}
          forward
          provider {"type":"UpdateThink","think":{"provider":{"model":"real-model"},"functions":[{"name":"deal","description":"does deal"},{"name":"roll","description":"does roll"}]}}
        "#,
    );
}

#[test]
fn calls_are_split_between_server_client_and_gateway_and_ours_all_answered() {
    check_begun(
        r#"
        provider {"type":"ConversationText","role":"user","content":"Roll and light up."}
          forward
          heard Roll and light up.
          turn began
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{\"dice\":2}","client_side":true},{"id":"c2","name":"lamp","arguments":"{}","client_side":true,"thought_signature":"s"},{"id":"c3","name":"nobody_has_it","arguments":"{}","client_side":true},{"id":"c4","name":"hangup","arguments":"{}","client_side":false}]}
          replace {"type":"FunctionCallRequest","functions":[{"id":"c2","name":"lamp","arguments":"{}","client_side":true,"thought_signature":"s"},{"id":"c4","name":"hangup","arguments":"{}","client_side":false}]}
          run c1 roll {"dice":2}
          run c3 nobody_has_it {}
          confirm c1 c3
        client {"type":"FunctionCallResponse","id":"c2","name":"lamp","content":"on"}
          forward
        answer c3 done {"status":"denied"}
          provider {"type":"FunctionCallResponse","id":"c3","name":"nobody_has_it","content":"{\"status\":\"denied\"}"}
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        provider {"type":"FunctionCallResponse","id":"c4","name":"hangup","content":"bye"}
          forward
        provider {"type":"ConversationText","role":"assistant","content":"Seven."}
          forward
          said Seven.
        provider-audio 640
          forward
        provider {"type":"LatencyReport","total_latency":0.4}
          forward
        provider {"type":"AgentAudioDone"}
          forward
          turn ended
        "#,
    );
}

#[test]
fn a_call_that_comes_twice_runs_once() {
    check_begun(
        r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true},{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
        "#,
    );
}

#[test]
fn a_cancelled_call_is_stopped_and_never_answered() {
    check_begun(
        r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true},{"id":"c2","name":"lamp","arguments":"{}","client_side":true},{"id":"c3","name":"book","arguments":"{}","client_side":true}]}
          replace {"type":"FunctionCallRequest","functions":[{"id":"c2","name":"lamp","arguments":"{}","client_side":true}]}
          turn began
          run c1 roll {}
          run c3 book {}
          confirm c1 c3
        provider {"type":"UserStartedSpeaking"}
          forward
          turn interrupted
        provider {"type":"FunctionCallCancelled","functions":[{"id":"c1","name":"roll"},{"id":"c2","name":"lamp"}]}
          replace {"type":"FunctionCallCancelled","functions":[{"id":"c2","name":"lamp"}]}
          cancel c1
        answer c1 cancelled {"status":"cancelled"}
        answer c3 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c3","name":"book","content":"{\"status\":\"ok\"}"}
        provider {"type":"FunctionCallCancelled","functions":[{"id":"c3","name":"book"}]}
          swallow
        "#,
    );
}

#[test]
fn a_call_that_somebody_else_stopped_is_answered_all_the_same() {
    check_begun(
        r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        answer c1 cancelled {"status":"cancelled"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"cancelled\"}"}
        "#,
    );
}

#[test]
fn speculative_calls_belong_to_the_turn_that_is_then_confirmed() {
    check_begun(
        r#"
        provider {"type":"UserStartedSpeaking"}
          forward
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        provider {"type":"ConversationText","role":"user","content":"Roll."}
          forward
          heard Roll.
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        provider {"type":"ConversationText","role":"assistant","content":"Six."}
          forward
          said Six.
        provider {"type":"AgentAudioDone"}
          forward
          turn ended
        "#,
    );
}

#[test]
fn a_slow_call_is_announced_without_ending_the_turn_unless_the_caller_speaks() {
    check_begun(
        r#"
        provider {"type":"ConversationText","role":"user","content":"Roll."}
          forward
          heard Roll.
          turn began
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          run c1 roll {}
          confirm c1
        slow c1 One moment.
          provider {"type":"InjectAgentMessage","message":"One moment.","behavior":"queue"}
          announced
        provider {"type":"ConversationText","role":"assistant","content":"One moment."}
          forward
          said One moment.
        provider {"type":"AgentAudioDone"}
          forward
        provider {"type":"UserStartedSpeaking"}
          forward
          turn interrupted
        slow c1 Still there?
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        slow c1 Too late.
        "#,
    );
}

#[test]
fn a_late_result_is_said_in_the_next_pause_and_again_if_refused() {
    check_begun(
        r#"
        provider {"type":"ConversationText","role":"user","content":"Roll."}
          forward
          heard Roll.
          turn began
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          run c1 roll {}
          confirm c1
        answer c1 pending {"status":"pending"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"pending\"}"}
        provider {"type":"ConversationText","role":"assistant","content":"It takes a while."}
          forward
          said It takes a while.
        provider {"type":"FunctionCallCancelled","functions":[{"id":"c1","name":"roll"}]}
          swallow
          turn interrupted
        answer c1 late {"status":"ok","message":"You rolled six."}
        provider {"type":"AgentAudioDone"}
          forward
          provider {"type":"InjectAgentMessage","message":"You rolled six.","behavior":"default"}
        provider {"type":"UserStartedSpeaking"}
          forward
        provider {"type":"InjectionRefused","message":"not now"}
          swallow
        provider {"type":"ConversationText","role":"user","content":"And?"}
          forward
          heard And?
          turn began
        provider {"type":"ConversationText","role":"assistant","content":"Wait."}
          forward
          said Wait.
        provider {"type":"AgentAudioDone"}
          forward
          turn ended
          provider {"type":"InjectAgentMessage","message":"You rolled six.","behavior":"default"}
        provider {"type":"ConversationText","role":"assistant","content":"You rolled six."}
          forward
          said You rolled six.
        "#,
    );
}

#[test]
fn a_late_result_interrupts_or_is_not_said_as_its_tool_wishes() {
    let asked = r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        answer c1 pending {"status":"pending"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"pending\"}"}
    "#;
    for rest in [
        "answer c1 late/silent {\"status\":\"ok\",\"message\":\"Six.\"}",
        "answer c1 late/interrupt {\"status\":\"ok\",\"message\":\"Six.\"}\n          provider \
         {\"type\":\"InjectAgentMessage\",\"message\":\"Six.\",\"behavior\":\"interrupt\"}",
        "answer c1 late {\"status\":\"ok\"}",
    ] {
        check_begun(&format!("{asked}\n        {rest}"));
    }
}

#[test]
fn a_refused_injection_of_the_clients_is_told_to_the_client() {
    check_begun(
        r#"
        client {"type":"InjectAgentMessage","message":"Hello."}
          forward
        provider {"type":"InjectionRefused","message":"not now"}
          forward
        provider {"type":"InjectionRefused","message":"out of the blue"}
          forward
        "#,
    );
}

#[test]
fn b_ws_12_a_client_cannot_answer_our_calls() {
    let refused = r#"client {"type":"Warning","description":"function `roll` is not the client's: only its own calls are answered by it","code":"FUNCTION_CALL_NOT_YOURS"}"#;
    check_begun(&format!(
        r#"
        provider {{"type":"FunctionCallRequest","functions":[{{"id":"c1","name":"roll","arguments":"{{}}","client_side":true}}]}}
          swallow
          turn began
          run c1 roll {{}}
          confirm c1
        client {{"type":"FunctionCallResponse","id":"c1","name":"roll","content":"1000"}}
          swallow
          {refused}
        client {{"type":"FunctionCallResponse","name":"roll","content":"1000"}}
          swallow
          {refused}
        client {{"type":"FunctionCallResponse","id":"unknown","name":"lamp","content":"on"}}
          forward
        "#
    ));
}

#[test]
fn history_holds_no_calls_of_ours() {
    check_begun(
        r#"
        provider {"type":"FunctionCallRequest","functions":[{"id":"c1","name":"roll","arguments":"{}","client_side":true}]}
          swallow
          turn began
          run c1 roll {}
          confirm c1
        answer c1 done {"status":"ok"}
          provider {"type":"FunctionCallResponse","id":"c1","name":"roll","content":"{\"status\":\"ok\"}"}
        provider {"type":"History","function_calls":[{"id":"c1","name":"roll","client_side":true,"arguments":"{}","response":"6"}]}
          swallow
        provider {"type":"History","function_calls":[{"id":"c1","name":"roll"},{"id":"c9","name":"lamp"}]}
          replace {"type":"History","function_calls":[{"id":"c9","name":"lamp"}]}
        provider {"type":"History","role":"user","content":"Roll."}
          forward
        "#,
    );
}

#[test]
fn a_client_wishes_for_a_tier_and_is_told() {
    check_begun(
        r#"
        client {"type":"tollgate.tier","tier":"deep"}
          swallow
          tier deep
        client {"type":"tollgate.tier","tier":null}
          swallow
          tier -
        tier deep asked for
          client {"type":"tollgate.tier","tier":"deep","reason":"asked for"}
        "#,
    );
}

#[test]
fn b_ws_11_what_two_readers_could_read_differently_is_told_back() {
    let told_back = |why: &str| {
        json!({
            "type": "Warning",
            "description": format!("the message was not sent on: {why}"),
            "code": "UNPARSABLE_CLIENT_MESSAGE",
        })
    };
    for (sent, why) in [
        ("[]", "it is no JSON object with one `type`"),
        (r#"{"type":"KeepAlive","type":"Settings"}"#, "it is no JSON object with one `type`"),
        (r#"{"type":"UpdateThink","think":{"a":1,"a":2}}"#, "key `a` stands twice"),
    ] {
        let mut machine = begun();
        let expected = ["swallow".to_owned(), format!("client {}", told_back(why))];
        assert_eq!(told(&mut machine, &format!("client {sent}")), expected, "{sent}");
    }
    check_begun(
        r#"
        client {"type":"KeepAlive"}
          forward
        client {"no":"type"}
          forward
        client-audio 640
          forward
        provider garbage
          forward
        provider {"type":"FunctionCallRequest"}
          forward
        provider {"type":"FunctionCallRequest","functions":[{"name":"no id"}]}
          forward
          turn began
        "#,
    );
}

/// What happened to the calls of a long conversation.
#[derive(Default)]
struct Seen {
    running: Vec<String>,
    pending: Vec<String>,
    cancelled: HashSet<String>,
    answers: HashMap<String, u32>,
}

impl Seen {
    fn note(&mut self, lines: &[String]) {
        for line in lines {
            if let Some(id) = line.strip_prefix("run ").and_then(|rest| rest.split(' ').next()) {
                self.running.push(id.to_owned());
            }
            let sent = line.strip_prefix("provider ").map(serde_json::from_str::<Value>);
            if let Some(Ok(sent)) = sent
                && sent["type"] == "FunctionCallResponse"
            {
                let id = sent["id"].as_str().expect("an id").to_owned();
                *self.answers.entry(id).or_default() += 1;
            }
        }
    }
}

/// One line of a conversation that is as bad as it can get.
fn random_line(random: &mut StdRng, seen: &mut Seen, calls: &mut u32) -> String {
    match random.random_range(0..12) {
        0..3 => {
            let mut functions = Vec::new();
            for _ in 0..random.random_range(1..4) {
                *calls += 1;
                let name = ["roll", "book", "lamp", "nobody"].choose(random).expect("a name");
                functions.push(json!({"id": format!("c{calls}"), "name": name, "arguments": "{}", "client_side": true}));
            }
            format!("provider {}", json!({"type": "FunctionCallRequest", "functions": functions}))
        }
        3 => {
            let id = format!("c{}", random.random_range(0..=*calls));
            if seen.running.contains(&id) {
                seen.cancelled.insert(id.clone());
            }
            format!(
                "provider {}",
                json!({"type": "FunctionCallCancelled", "functions": [{"id": id, "name": "x"}]})
            )
        }
        4..8 if !seen.running.is_empty() => {
            let id = seen.running.swap_remove(random.random_range(0..seen.running.len()));
            let how = *["done", "pending", "cancelled"].choose(random).expect("a way");
            if how == "pending" {
                seen.pending.push(id.clone());
            }
            format!("answer {id} {how} {{}}")
        }
        8 if !seen.pending.is_empty() => {
            let id = seen.pending.swap_remove(0);
            format!("answer {id} late {{\"message\":\"late\"}}")
        }
        9 => "provider {\"type\":\"UserStartedSpeaking\"}".to_owned(),
        10 => "provider {\"type\":\"ConversationText\",\"role\":\"user\",\"content\":\"x\"}"
            .to_owned(),
        _ => "provider {\"type\":\"AgentAudioDone\"}".to_owned(),
    }
}

#[test]
fn whatever_the_order_calls_are_answered_once_and_cancelled_ones_never() {
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let (mut machine, mut seen, mut calls) = (begun(), Seen::default(), 0);
        let (mut started, mut written) = (HashSet::new(), String::new());
        for _ in 0..200 {
            let line = random_line(&mut random, &mut seen, &mut calls);
            let lines = told(&mut machine, &line);
            let _ = writeln!(written, "{line}\n  {}", lines.join("\n  "));
            seen.note(&lines);
            started.extend(seen.running.iter().cloned());
        }
        for id in std::mem::take(&mut seen.running) {
            let lines = told(&mut machine, &format!("answer {id} done {{}}"));
            seen.note(&lines);
        }
        for id in &started {
            let expected = u32::from(!seen.cancelled.contains(id));
            let answers = seen.answers.get(id).copied().unwrap_or(0);
            assert_eq!(answers, expected, "seed {seed}, call {id}\n{written}");
        }
        assert!(seen.answers.keys().all(|id| started.contains(id)), "seed {seed}: not ours");
    }
}
