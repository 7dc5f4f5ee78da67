//! Limits on the use of models, and their prices.

use std::collections::HashMap;

use tollgate_core::id::AgentId;
use tollgate_core::model_usage::{Cost, ModelLimit, ModelPrice, PriceList, SpeechPrice};
use tollgate_engine::settings::ModelUsageSettings;

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;

const KEY: &str = "model_limits";
/// A price beyond this is one for a million tokens that was meant for a single one, or a typo.
const MAX_PRICE: &str = "100000";

pub(super) fn model_usage(top: &SectionFields, problems: &mut Problems) -> ModelUsageSettings {
    let per_key = top.section("limits").and_then(|limits| model_limits(limits, problems));
    let mut agents = HashMap::new();
    for (name, fields) in top.named_sections("agents") {
        if let (Ok(id), Some(limits)) =
            (AgentId::parse(&name.value), model_limits(fields, problems))
        {
            agents.insert(id, limits);
        }
    }
    let mut models = HashMap::new();
    for (name, fields) in top.named_sections("models") {
        if let Some(limits) = model_limits(fields, problems) {
            models.insert(name.value.clone(), limits);
        }
    }
    let mut prices = HashMap::new();
    for (name, fields) in top.named_sections("prices") {
        if let Some(price) = model_price(fields, problems) {
            prices.insert(name.value.clone(), price);
        }
    }
    let per_key = per_key.unwrap_or_default();
    ModelUsageSettings { per_key, agents, models, prices: PriceList::new(prices) }
}

/// The `model_limits` of a section. `None`: nothing is said.
pub(super) fn model_limits(
    fields: &SectionFields,
    problems: &mut Problems,
) -> Option<Vec<ModelLimit>> {
    if !fields.has(KEY) {
        return None;
    }
    let mut limits: Vec<ModelLimit> = Vec::new();
    for text in fields.texts(KEY) {
        let Some(limit) = ModelLimit::parse(text.value) else {
            let message = format!("a limit must be like `60 requests/min`, not `{}`", text.value);
            problems.error(text.at, &fields.path(KEY), message).help(
                "a number of `requests`, `tokens`, `input_tokens`, `output_tokens` or `USD`, then \
                 `/min`, `/h` or `/day`",
            );
            continue;
        };
        if limits.iter().any(|it| it.unit == limit.unit && it.per == limit.per) {
            let message = format!("`{}` is limited twice", text.value);
            problems
                .error(text.at, &fields.path(KEY), message)
                .help("keep one limit for each unit and period");
        }
        limits.push(limit);
    }
    Some(limits)
}

fn model_price(fields: &SectionFields, problems: &mut Problems) -> Option<ModelPrice> {
    let mut price = |key: &str| {
        let text = fields.text(key)?;
        let cost = Cost::parse(text.value).filter(|cost| Some(*cost) <= Cost::parse(MAX_PRICE));
        if cost.is_none() {
            let message = format!("`{key}` must be an amount in US dollars, not `{}`", text.value);
            problems.error(text.at, &fields.path(key), message).help(match key {
                "per_minute" => "for a minute, like `0.05`",
                _ => "for a million tokens, like `1.25`; `0` for a model of your own",
            });
        }
        cost
    };
    let input = price("input");
    let output = price("output");
    let cached_input = price("cached_input");
    let cache_write = price("cache_write");
    let speech = SpeechPrice {
        audio_input: price("audio_input"),
        audio_output: price("audio_output"),
        cached_audio_input: price("cached_audio_input"),
        per_minute: price("per_minute").unwrap_or_default(),
    };
    let input = input?;
    Some(ModelPrice {
        input,
        output: output?,
        cached_input: cached_input.unwrap_or(input),
        cache_write: cache_write.unwrap_or(input),
        speech,
    })
}
