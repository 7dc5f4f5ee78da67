//! Config keys of limits on the use of models, and of their prices.

use super::{KeySpec, PLAIN, PLAINS, SectionSpec, key, required_key};

const LIMITS_HELP: &str = "Limits of requests to models: `60 requests/min`, `200000 tokens/min`, \
                           `5 USD/day`. Units are `requests`, `tokens` (or `input_tokens`, \
                           `output_tokens`) and `USD`, periods `min`, `h` and `day` (UTC). More \
                           get 429 before anything is sent";

/// Of a key.
pub(super) const OF_KEY: KeySpec =
    key("model_limits", PLAINS, "`limits.model_limits`", LIMITS_HELP);

/// Of each key without its own.
pub(super) const OF_EVERY_KEY: KeySpec = key(
    "model_limits",
    PLAINS,
    "none",
    "Limits of requests to models, for each key that has none of its own; form as for keys",
);

pub(super) const OF_AGENT: KeySpec = key(
    "model_limits",
    PLAINS,
    "none",
    "Limits of requests to models that this agent makes, over all keys; form as for keys",
);

pub(super) const OF_MODEL: KeySpec = key(
    "model_limits",
    PLAINS,
    "none",
    "Limits of requests to this model, over all keys; form as for keys. An agent falls back to \
     its next model",
);

pub(super) const PRICE: SectionSpec = SectionSpec {
    title: "prices.NAME",
    keys: &[
        required_key("input", PLAIN, "US dollars for a million tokens of input: `1.25`"),
        required_key("output", PLAIN, "… of output"),
        key("cached_input", PLAIN, "`input`", "… of input read from the provider's cache"),
        key("cache_write", PLAIN, "`input`", "… of input written to the provider's cache"),
        key("audio_input", PLAIN, "`input`", "… of audio that a live model hears"),
        key("audio_output", PLAIN, "`output`", "… of audio that it speaks"),
        key(
            "cached_audio_input",
            PLAIN,
            "`cached_input`",
            "… of audio input read from the provider's cache",
        ),
        key(
            "per_minute",
            PLAIN,
            "`0`",
            "US dollars for a minute of a live session, or of a transcribed file, beside the tokens: \
             `0.05`",
        ),
    ],
    elsewhere: &[
        ("cached", "write `cached_input:`"),
        ("input_cost_per_token", "write `input:`, for a million tokens"),
        ("output_cost_per_token", "write `output:`, for a million tokens"),
    ],
};
