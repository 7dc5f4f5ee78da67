//! What a client sets, and what it becomes with our functions and prompt in it.

use super::{DeepgramVoiceAgent, check, check_begun};
use crate::realtime::transcript;

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
        &mut DeepgramVoiceAgent::new(opening),
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
        &mut DeepgramVoiceAgent::new(opening),
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
          client {"type":"Warning","description":"model `other` is not the model of this session; select it when a session begins","code":"MODEL_NOT_OFFERED"}
        client {"type":"UpdateThink","think":{"provider":{"type":"b","model":"other"}}}
          swallow
          client {"type":"Warning","description":"model `other` is not the model of this session; select it when a session begins","code":"MODEL_NOT_OFFERED"}
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
          client {"type":"Warning","description":"the agent is stored at Deepgram: the gateway does not know its model and adds no tools to it; send `agent.think` in `Settings`, or `UpdateThink`","code":"TOOLS_NOT_ADDED"}
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
