//! Models for live sessions, and who can speak by them.

use std::time::Duration;

use tollgate_core::agent::Engine;

use super::{check, good, mistakes, refusal_of};

const PROVIDERS: &str = "
providers:
  oa: { kind: openai, api_key: k }
  cl: { kind: anthropic, api_key: k }
  ge: { kind: gemini, api_key: k }
  dg: { kind: deepgram, api_key: k }
  demo: { kind: offline }
";

#[test]
fn agents_that_speak_have_a_model_that_can() {
    let with = |models: &str, agent: &str| {
        format!(
            "{PROVIDERS}models: {{ {models} }}\nagents: {{ a: {{ tools: [roll], {agent} }} }}\n"
        )
    };
    for (models, agent) in [
        ("voice: { provider: oa, api: realtime }", "engine: s2s, models: [voice]"),
        (
            "voice: { provider: ge, api: realtime }, chat: { provider: oa }",
            "engine: s2s, models: [chat, voice]",
        ),
        ("voice: { provider: dg }", "engine: s2s, models: [voice]"),
        // The model built in stands in for every other one.
        ("chat: { provider: oa }", "engine: s2s"),
        ("chat: { provider: oa }", "engine: s2s, models: [offline]"),
        // Only live sessions, without a word of an engine.
        ("voice: { provider: oa, api: realtime }", "models: [voice]"),
    ] {
        assert_eq!(mistakes(&with(models, agent)), [""; 0], "{models} {agent}");
    }
    let config = good(&with("voice: { provider: dg }", "engine: s2s, models: [voice]"));
    assert_eq!(config.settings.agents[0].persona.engine, Engine::SpeechToSpeech);
    assert!(config.llm.is_live("voice"));
    refusal_of(
        &with("chat: { provider: oa }", "engine: s2s, models: [chat]"),
        "9:39 `engine: s2s` needs a model for live sessions",
    );
    refusal_of(
        &with(
            "voice: { provider: oa, api: realtime }, chat: { provider: oa }",
            "models: [chat], engine: sentence_cascade, opener_model: voice",
        ),
        "9:87 `voice` is for live sessions, and cannot open a chat",
    );
}

#[test]
fn an_agent_that_speaks_says_how_long_it_waits_and_what_it_says_meanwhile() {
    let with = |agent: &str| {
        format!(
            "{PROVIDERS}models: {{ voice: {{ provider: dg }} }}\nagents: {{ a: {{ tools: [roll], {agent} }} }}\n"
        )
    };
    let policy = |agent: &str| {
        let agent = format!("engine: s2s, models: [voice], {agent}");
        good(&with(&agent)).settings.agents[0].persona.deep_turns.clone()
    };
    let usual = policy("max_depth: 3");
    assert_eq!(usual.hold, Duration::from_millis(300));
    let slow = usual.slow_response.unwrap();
    assert_eq!((slow.threshold, &*slow.message), (Duration::from_secs(1), "One moment, please."));
    let later = policy("realtime: { slow_response_threshold_ms: 2000 }").slow_response.unwrap();
    assert_eq!((later.threshold, later.message), (Duration::from_secs(2), slow.message));
    assert_eq!(policy("realtime: { hold_ms: 0 }").hold, Duration::ZERO);
    let slow = policy("realtime: { slow_response_message: Wait. }").slow_response.unwrap();
    assert_eq!((slow.threshold, &*slow.message), (Duration::from_secs(1), "Wait."));
    assert_eq!(policy("realtime: { slow_response_message: '' }").slow_response, None);
    refusal_of(
        &with("engine: s2s, models: [voice], realtime: { hold_ms: 5001 }"),
        "9:82 `hold_ms` must be a whole number from 0 to 5000 milliseconds, not `5001`",
    );
}

#[test]
fn a_provider_has_the_api_that_is_asked_of_it() {
    check(
        "
providers: { cl: { kind: anthropic, api_key: k }, demo: { kind: offline }, dg: { kind: deepgram, api_key: k } }
models:
  a: { provider: cl, api: realtime }
  b: { provider: demo, api: realtime }
  c: { provider: dg, api: chat }
",
        "
error: provider `cl` has no API `realtime`
 --> t.yaml:3:27
   |
 3 |   a: { provider: cl, api: realtime }
   |                           ^^^^^^^^
   = live sessions are for providers of kind `openai`, `gemini` and `deepgram`

error: provider `demo` has no API `realtime`
 --> t.yaml:4:29
   |
 4 |   b: { provider: demo, api: realtime }
   |                             ^^^^^^^^
   = live sessions are for providers of kind `openai`, `gemini` and `deepgram`

error: provider `dg` has no API `chat`
 --> t.yaml:5:27
   |
 5 |   c: { provider: dg, api: chat }
   |                           ^^^^
   = providers of kind `deepgram` only have live sessions: remove `api`

3 errors in t.yaml
",
    );
    assert_eq!(
        mistakes(&format!("{PROVIDERS}models: {{ a: {{ provider: dg, api: realtime }} }}\n")),
        [""; 0]
    );
}

#[test]
fn live_sessions_have_limits_and_connections_enough() {
    let front = good("limits: { live_sessions: 9000, live_per_key: 7 }").front;
    assert_eq!((front.live_sessions, front.live_per_key), (9_000, 7));
    assert!(front.connections > 9_000, "{}", front.connections);
    let usual = good("environment: a").front;
    assert_eq!((usual.live_sessions, usual.connections), (2_000, 4_096));
    refusal_of(
        "limits: { live_sessions: 0 }",
        "1:26 `live_sessions` must be a whole number from 1 to 1000000 sessions, not `0`",
    );
}
