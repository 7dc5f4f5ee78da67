//! Limits on the use of models, and their prices.

use tollgate_core::id::AgentId;
use tollgate_core::model_usage::{Cost, ModelLimit, SpeechPrice};

use super::{check, good};

fn texts(limits: &[ModelLimit]) -> Vec<String> {
    limits.iter().map(ToString::to_string).collect()
}

#[test]
fn limits_of_keys_agents_and_models_and_prices_are_read() {
    let config = good(
        r#"
limits: { model_limits: [60 requests/min, 5 USD/day] }
providers: { p: { kind: openai } }
models: { m: { provider: p, model_limits: [1000000 tokens/day] } }
prices:
  m: { input: 1.25, output: 10 }
  own: { input: 0, output: 0, cached_input: 0.5, cache_write: "2" }
  voice: { input: 4, output: 16, audio_input: 32, audio_output: 64, cached_audio_input: 0.4, per_minute: 0.05 }
agents: { sage: { tools: ["*"], models: [m], model_limits: [10 requests/h] } }
keys:
  - { name: bot, key: bot-0123456789-0123456789, model_limits: [] }
  - { name: cat, key: cat-0123456789-0123456789 }
"#,
    );
    let usage = &config.settings.model_usage;
    assert_eq!(texts(&usage.per_key), ["60 requests/min", "5 USD/day"]);
    assert_eq!(texts(&usage.agents[&AgentId::parse("sage").unwrap()]), ["10 requests/h"]);
    assert_eq!(texts(&usage.models["m"]), ["1000000 tokens/day"]);
    let price = usage.prices.find("m", "gpt-5").unwrap();
    let usd = |text: &str| Cost::parse(text).unwrap();
    assert_eq!((price.input, price.output), (usd("1.25"), usd("10")));
    assert_eq!((price.cached_input, price.cache_write), (usd("1.25"), usd("1.25")));
    let own = usage.prices.find("x", "own").unwrap();
    assert_eq!((own.cached_input, own.cache_write), (usd("0.5"), usd("2")));
    assert_eq!(own.speech, SpeechPrice::default(), "audio costs what text does");
    let voice = usage.prices.find("voice", "x").unwrap().speech;
    assert_eq!((voice.audio_input, voice.audio_output), (Some(usd("32")), Some(usd("64"))));
    assert_eq!((voice.cached_audio_input, voice.per_minute), (Some(usd("0.4")), usd("0.05")));
    assert_eq!(config.keys[0].grant.model_limits, Some(Vec::new()), "unlimited, unlike the others");
    assert_eq!(config.keys[1].grant.model_limits, None);
}

#[test]
fn built_in_prices_hold_until_the_config_replaces_them() {
    let input_of = |text: &str, id: &str| {
        let found = good(text).settings.model_usage.prices.find("fast", id);
        found.map(|price| price.input.to_string())
    };
    let usual = "limits: {}\n";
    let own = "prices: { gpt-5: { input: 7, output: 8 } }\n";
    let price = |text: &str| Some(Cost::parse(text).unwrap().to_string());
    assert_eq!(input_of(usual, "gpt-5"), price("1.25"));
    assert_eq!(input_of(own, "gpt-5"), price("7"));
    assert_eq!(input_of(own, "gpt-5-mini"), price("0.25"), "the others stay");
    assert_eq!(input_of(usual, "my-finetune"), None);
}

#[test]
fn a_limit_or_price_that_cannot_be_read_is_pointed_out() {
    check(
        r#"
limits: { model_limits: [60/min, 5 USD/day, 6 USD/day] }
prices: { m: { input: "$1", output: 10 } }
"#,
        r#"
error: a limit must be like `60 requests/min`, not `60/min`
 --> t.yaml:1:26
   |
 1 | limits: { model_limits: [60/min, 5 USD/day, 6 USD/day] }
   |                          ^^^^^^
   = a number of `requests`, `tokens`, `input_tokens`, `output_tokens` or `USD`, then `/min`, `/h` or `/day`

error: `6 USD/day` is limited twice
 --> t.yaml:1:45
   |
 1 | limits: { model_limits: [60/min, 5 USD/day, 6 USD/day] }
   |                                             ^^^^^^^^^
   = keep one limit for each unit and period

error: `input` must be an amount in US dollars, not `$1`
 --> t.yaml:2:23
   |
 2 | prices: { m: { input: "$1", output: 10 } }
   |                       ^^^^
   = for a million tokens, like `1.25`; `0` for a model of your own

3 errors in t.yaml
"#,
    );
}
