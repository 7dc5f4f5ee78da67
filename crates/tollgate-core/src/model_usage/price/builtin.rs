//! List prices of well-known models, as their vendors published them by August 2026.
//!
//! Without surcharges for long contexts, and without discounts for batches or priority. Other
//! prices are a matter of the config.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::cost::Cost;
use super::{ModelPrice, SpeechPrice};
use crate::agent::OFFLINE;

/// Dollars per million tokens: input, output, input from the cache, input written to it.
const PRICES: &[(&str, [&str; 4])] = &[
    // The model that is built in.
    (OFFLINE, ["0", "0", "0", "0"]),
    ("gpt-4o", ["2.5", "10", "1.25", "2.5"]),
    ("gpt-4o-mini", ["0.15", "0.6", "0.075", "0.15"]),
    ("gpt-4.1", ["2", "8", "0.5", "2"]),
    ("gpt-4.1-mini", ["0.4", "1.6", "0.1", "0.4"]),
    ("gpt-4.1-nano", ["0.1", "0.4", "0.025", "0.1"]),
    ("o3", ["2", "8", "0.5", "2"]),
    ("o3-mini", ["1.1", "4.4", "0.55", "1.1"]),
    ("o3-pro", ["20", "80", "20", "20"]),
    ("o4-mini", ["1.1", "4.4", "0.275", "1.1"]),
    ("gpt-5", ["1.25", "10", "0.125", "1.25"]),
    ("gpt-5-mini", ["0.25", "2", "0.025", "0.25"]),
    ("gpt-5-nano", ["0.05", "0.4", "0.005", "0.05"]),
    ("gpt-5-pro", ["15", "120", "15", "15"]),
    ("gpt-5.1", ["1.25", "10", "0.125", "1.25"]),
    ("gpt-5.2", ["1.75", "14", "0.175", "1.75"]),
    ("gpt-5.2-pro", ["21", "168", "21", "21"]),
    ("gpt-5.4", ["2.5", "15", "0.25", "2.5"]),
    ("gpt-5.4-mini", ["0.75", "4.5", "0.075", "0.75"]),
    ("gpt-5.4-nano", ["0.2", "1.25", "0.02", "0.2"]),
    ("gpt-5.4-pro", ["30", "180", "3", "30"]),
    ("gpt-5.5", ["5", "30", "0.5", "5"]),
    ("gpt-5.5-pro", ["30", "180", "3", "30"]),
    ("gpt-5.6", ["5", "30", "0.5", "6.25"]),
    ("gpt-5.6-sol", ["5", "30", "0.5", "6.25"]),
    ("gpt-5.6-terra", ["2", "12", "0.2", "2.5"]),
    ("gpt-5.6-luna", ["0.2", "1.2", "0.02", "0.25"]),
    ("claude-haiku-4-5", ["1", "5", "0.1", "1.25"]),
    ("claude-sonnet-4-5", ["3", "15", "0.3", "3.75"]),
    ("claude-sonnet-4-6", ["3", "15", "0.3", "3.75"]),
    ("claude-sonnet-5", ["2", "10", "0.2", "2.5"]),
    ("claude-opus-4-1", ["15", "75", "1.5", "18.75"]),
    ("claude-opus-4-5", ["5", "25", "0.5", "6.25"]),
    ("claude-opus-4-6", ["5", "25", "0.5", "6.25"]),
    ("claude-opus-4-7", ["5", "25", "0.5", "6.25"]),
    ("claude-opus-4-8", ["5", "25", "0.5", "6.25"]),
    ("claude-opus-5", ["5", "25", "0.5", "6.25"]),
    ("claude-fable-5", ["10", "50", "1", "12.5"]),
    ("gemini-2.5-flash-lite", ["0.1", "0.4", "0.01", "0.1"]),
    ("gemini-2.5-flash", ["0.3", "2.5", "0.03", "0.3"]),
    ("gemini-2.5-pro", ["1.25", "10", "0.125", "1.25"]),
    ("gemini-3-flash-preview", ["0.5", "3", "0.05", "0.5"]),
    ("gemini-3-pro-preview", ["2", "12", "0.2", "2"]),
    ("gemini-3.1-flash-lite", ["0.25", "1.5", "0.025", "0.25"]),
    ("gemini-3.1-pro-preview", ["2", "12", "0.2", "2"]),
    ("gemini-3.5-flash-lite", ["0.3", "2.5", "0.03", "0.3"]),
    ("gemini-3.5-flash", ["1.5", "9", "0.15", "1.5"]),
    ("gemini-3.6-flash", ["1.5", "7.5", "0.15", "1.5"]),
];

/// A row of [`SPEECH_PRICES`].
struct SpeechRow {
    name: &'static str,
    /// Dollars per million tokens: input, output, cached input.
    text: [&'static str; 3],
    audio: [&'static str; 3],
    per_minute: &'static str,
}

const fn by_token(
    name: &'static str,
    text: [&'static str; 3],
    audio: [&'static str; 3],
) -> SpeechRow {
    SpeechRow { name, text, audio, per_minute: "0" }
}

const fn by_minute(name: &'static str, per_minute: &'static str) -> SpeechRow {
    SpeechRow { name, text: ["0"; 3], audio: ["0"; 3], per_minute }
}

/// Of models for live sessions, and of those that write down what was said.
const SPEECH_PRICES: &[SpeechRow] = &[
    by_token("gpt-realtime", ["4", "16", "0.4"], ["32", "64", "0.4"]),
    by_token("gpt-realtime-1.5", ["4", "16", "0.4"], ["32", "64", "0.4"]),
    by_token("gpt-realtime-2", ["4", "24", "0.4"], ["32", "64", "0.4"]),
    by_token("gpt-realtime-2.1", ["4", "24", "0.4"], ["32", "64", "0.4"]),
    by_token("gpt-realtime-2.1-mini", ["0.6", "2.4", "0.06"], ["10", "20", "0.3"]),
    by_minute("gpt-live-1", "0.05"),
    by_token("gemini-3.1-flash-live-preview", ["0.75", "4.5", "0.75"], ["3", "12", "3"]),
    by_token("gpt-4o-transcribe", ["2.5", "10", "2.5"], ["6", "10", "6"]),
    by_token("gpt-4o-mini-transcribe", ["1.25", "5", "1.25"], ["3", "5", "3"]),
    by_minute("whisper-1", "0.006"),
];

static BY_NAME: LazyLock<HashMap<&str, ModelPrice>> = LazyLock::new(|| {
    let row = |(name, prices): &(&'static str, [&str; 4])| {
        let [input, output, cached_input, cache_write] = prices.map(Cost::parse);
        let price = ModelPrice {
            input: input?,
            output: output?,
            cached_input: cached_input?,
            cache_write: cache_write?,
            speech: SpeechPrice::default(),
        };
        Some((*name, price))
    };
    PRICES.iter().filter_map(row).chain(SPEECH_PRICES.iter().filter_map(speech_row)).collect()
});

fn speech_row(row: &SpeechRow) -> Option<(&'static str, ModelPrice)> {
    let [input, output, cached_input] = prices(row.text)?;
    let [audio_input, audio_output, cached_audio_input] = prices(row.audio)?.map(Some);
    let per_minute = Cost::parse(row.per_minute)?;
    let speech = SpeechPrice { audio_input, audio_output, cached_audio_input, per_minute };
    Some((row.name, ModelPrice { input, output, cached_input, cache_write: input, speech }))
}

fn prices(texts: [&str; 3]) -> Option<[Cost; 3]> {
    let [first, second, third] = texts.map(Cost::parse);
    Some([first?, second?, third?])
}

/// A name may have the prefix of a router or a cloud, and the date of a version. Anything else
/// behind it is another model.
pub(super) fn find(id: &str) -> Option<ModelPrice> {
    let name = id.rsplit('/').next().unwrap_or(id);
    let name = name.split_once("anthropic.").map_or(name, |(_, name)| name);
    let name = name.strip_suffix("-v1:0").unwrap_or(name);
    BY_NAME.get(name).or_else(|| BY_NAME.get(without_date(name)?)).copied()
}

/// `-20251001`, `@20251001` or `-2025-08-07` is cut off.
fn without_date(name: &str) -> Option<&str> {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let is_date = |tail: &str| {
        tail.bytes().filter(u8::is_ascii_digit).count() == 8
            && tail.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let cut = |length: usize| {
        let (head, tail) = name.split_at_checked(name.len().checked_sub(length)?)?;
        is_date(tail).then(|| head.strip_suffix(['-', '@']))?
    };
    if digits < 8 { None } else { cut("20251001".len()).or_else(|| cut("2025-08-07".len())) }
}

#[cfg(test)]
mod tests {
    use super::{BY_NAME, PRICES, SPEECH_PRICES};

    #[test]
    fn every_price_is_a_number_and_cached_input_is_never_dearer() {
        assert_eq!(BY_NAME.len(), PRICES.len() + SPEECH_PRICES.len());
        for (name, price) in BY_NAME.iter() {
            assert!(price.cached_input <= price.input && price.input <= price.output, "{name}");
            assert!(price.cache_write >= price.input, "{name}");
        }
    }
}
