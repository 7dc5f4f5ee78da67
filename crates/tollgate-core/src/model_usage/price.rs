//! Prices of models, and what a request costs.

use std::collections::HashMap;

use super::cost::Cost;
use super::totals::{UsageEstimate, UsageTotals};

mod builtin;

const MILLION: u128 = 1_000_000;
const MS_PER_MINUTE: u128 = 60_000;

/// Per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelPrice {
    pub input: Cost,
    pub output: Cost,
    /// Input read from the provider's cache.
    pub cached_input: Cost,
    /// Input written to it.
    pub cache_write: Cost,
    pub speech: SpeechPrice,
}

/// Prices of audio. `None`: that of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpeechPrice {
    /// Per million tokens, as the next two.
    pub audio_input: Option<Cost>,
    pub audio_output: Option<Cost>,
    pub cached_audio_input: Option<Cost>,
    /// For a minute of a session.
    pub per_minute: Cost,
}

impl ModelPrice {
    /// Rounded up to the next billionth of a dollar.
    pub fn cost_of(&self, used: &UsageTotals) -> Cost {
        let speech = &used.speech;
        let price = &self.speech;
        let cached_text = used.cache_read.saturating_sub(speech.audio_cached);
        let new_audio = speech.audio_input.saturating_sub(speech.audio_cached);
        let others = cached_text.saturating_add(used.cache_written);
        let tokens = sum(&[
            (used.input.saturating_sub(speech.audio_input).saturating_sub(others), self.input),
            (cached_text, self.cached_input),
            (used.cache_written, self.cache_write),
            (used.output.saturating_sub(speech.audio_output), self.output),
            (new_audio, price.audio_input.unwrap_or(self.input)),
            (speech.audio_cached, price.cached_audio_input.unwrap_or(self.cached_input)),
            (speech.audio_output, price.audio_output.unwrap_or(self.output)),
        ]);
        let minutes = u128::from(price.per_minute.nano_usd()) * u128::from(speech.live_ms);
        let minutes = u64::try_from(minutes.div_ceil(MS_PER_MINUTE)).unwrap_or(u64::MAX);
        tokens.saturating_add(Cost::from_nano_usd(minutes))
    }

    /// Nothing is known of the provider's cache before it answers: all input is new.
    pub fn estimate(&self, input: u64, output: u64) -> UsageEstimate {
        UsageEstimate {
            input,
            output,
            input_cost: sum(&[(input, self.input)]),
            output_cost: sum(&[(output, self.output)]),
        }
    }
}

fn sum(parts: &[(u64, Cost)]) -> Cost {
    let each =
        parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.nano_usd()));
    let all = each.fold(0_u128, u128::saturating_add).div_ceil(MILLION);
    Cost::from_nano_usd(u64::try_from(all).unwrap_or(u64::MAX))
}

/// The prices of the config, before those that are built in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceList {
    /// By name of a model in the config, or by the provider's name.
    configured: HashMap<String, ModelPrice>,
}

impl PriceList {
    pub fn new(configured: HashMap<String, ModelPrice>) -> Self {
        Self { configured }
    }

    /// `id` is the provider's name of the model. `None`: the price is unknown.
    pub fn find(&self, name: &str, id: &str) -> Option<ModelPrice> {
        let configured = self.configured.get(name).or_else(|| self.configured.get(id));
        configured.copied().or_else(|| builtin::find(id))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::speech::SpeechTotals;
    use super::{Cost, ModelPrice, PriceList, SpeechPrice, UsageTotals};

    fn usd(text: &str) -> Cost {
        Cost::parse(text).unwrap()
    }

    #[test]
    fn cached_input_is_charged_at_its_own_price() {
        let price = PriceList::default().find("claude", "claude-opus-4-8").unwrap();
        let used = UsageTotals {
            input: 1_000_000,
            output: 10_000,
            cache_read: 800_000,
            cache_written: 100_000,
            ..UsageTotals::default()
        };
        // 0.1 M at 5, 0.8 M at 0.5, 0.1 M at 6.25, 0.01 M at 25.
        assert_eq!(price.cost_of(&used), usd("1.775"));
        assert_eq!(price.cost_of(&UsageTotals::default()), Cost::ZERO);
    }

    #[test]
    fn audio_is_charged_at_its_own_price_and_a_session_by_the_minute() {
        let used = UsageTotals {
            input: 100_000,
            output: 20_000,
            cache_read: 60_000,
            speech: SpeechTotals {
                audio_input: 80_000,
                audio_output: 15_000,
                audio_cached: 50_000,
                live_ms: 90_000,
                ..SpeechTotals::default()
            },
            ..UsageTotals::default()
        };
        let realtime = PriceList::default().find("voice", "gpt-realtime-2.1").unwrap();
        // 10 k of text at 4, 10 k cached at 0.4, 5 k answered at 24; 30 k of audio at 32, 50 k
        // cached at 0.4, 15 k spoken at 64.
        assert_eq!(realtime.cost_of(&used), usd("2.104"));
        let by_clock = PriceList::default().find("voice", "gpt-live-1").unwrap();
        let time = SpeechTotals { live_ms: 90_000, ..SpeechTotals::default() };
        let time = UsageTotals { speech: time, ..UsageTotals::default() };
        assert_eq!(by_clock.cost_of(&time), usd("0.075"));
        // Without prices of its own, audio costs what text does.
        let text = PriceList::default().find("x", "gpt-4o").unwrap();
        let all_text = UsageTotals { speech: SpeechTotals::default(), ..used };
        assert_eq!(text.cost_of(&used), text.cost_of(&all_text));
    }

    #[test]
    fn a_single_token_of_the_cheapest_model_is_not_free() {
        let price = PriceList::default().find("x", "gpt-5-nano").unwrap();
        let used = UsageTotals { input: 1, cache_read: 1, ..UsageTotals::default() };
        assert_eq!(price.cost_of(&used).nano_usd(), 5);
    }

    #[test]
    fn the_config_replaces_what_is_built_in() {
        let one = ModelPrice {
            input: usd("1"),
            output: usd("2"),
            cached_input: usd("1"),
            cache_write: usd("1"),
            speech: SpeechPrice::default(),
        };
        let of = |name: &str| PriceList::new(HashMap::from([(name.to_owned(), one)]));
        assert_eq!(of("gpt-5").find("fast", "gpt-5"), Some(one), "by the provider's name");
        assert_eq!(of("fast").find("fast", "gpt-5"), Some(one), "by the name in the config");
        assert_ne!(of("other").find("fast", "gpt-5"), Some(one));
        assert_eq!(of("other").find("fast", "my-finetune"), None);
    }

    #[test]
    fn vendors_spell_a_model_with_dates_and_prefixes() {
        let list = PriceList::default();
        let of = |id: &str| list.find("", id);
        for id in [
            "claude-haiku-4-5-20251001",
            "anthropic/claude-haiku-4-5",
            "us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "claude-haiku-4-5@20251001",
        ] {
            assert_eq!(of(id), of("claude-haiku-4-5"), "{id}");
            assert!(of(id).is_some());
        }
        assert_eq!(of("gpt-5-2025-08-07"), of("gpt-5"));
        assert_eq!(of("models/gemini-2.5-pro"), of("gemini-2.5-pro"));
        for other in ["gpt-5-image", "gpt-5-pro-max", "gpt-50", "ft:gpt-4o:acme", "", "-20251001"] {
            assert_eq!(of(other), None, "{other}: another model is not guessed");
        }
    }
}
