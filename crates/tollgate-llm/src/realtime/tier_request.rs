//! Tier requests: messages of a client to Tollgate itself, between its messages to the model.
//! Includes the whole message and its answer, for dialects whose messages have a `type`.
//!
//! Called by the state machines. Independent of tier selection.

use serde_json::json;
use tollgate_core::budget::Tier;
use tollgate_core::json::{MalformedJsonError, Object};

/// The `type` of such messages.
pub(super) const TIER_MESSAGE_TYPE: &str = "tollgate.tier";

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TierMessageError {
    #[error("`{TIER_MESSAGE_TYPE}` is invalid: {0}")]
    Malformed(#[from] MalformedJsonError),
    #[error("`{TIER_MESSAGE_TYPE}`: {0}")]
    Tier(#[from] UnknownTierError),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`tier` must be `fast`, `standard`, `deep` or null")]
pub(super) struct UnknownTierError;

/// The requested tier; `None`: automatic selection.
pub(super) fn tier(text: &str) -> Result<Option<Tier>, TierMessageError> {
    Ok(of(&Object::parse(text)?)?)
}

/// The requested tier in the field `tier`, in any dialect.
pub(super) fn of(message: &Object<'_>) -> Result<Option<Tier>, UnknownTierError> {
    if message.get("tier").is_some_and(|value| value.get() == "null") {
        return Ok(None);
    }
    let named = message.string("tier").as_deref().and_then(Tier::parse);
    named.map(Some).ok_or(UnknownTierError)
}

/// Message with the current tier, and the reason.
pub(super) fn tier_message(tier: Option<Tier>, reason: &str) -> String {
    json!({"type": TIER_MESSAGE_TYPE, "tier": tier.map(Tier::as_str), "reason": reason}).to_string()
}

#[cfg(test)]
mod tests {
    use tollgate_core::budget::Tier;

    use super::tier;

    #[test]
    fn a_wish_names_a_tier_or_none_and_all_else_is_told_back() {
        for (text, expected) in [
            (r#"{"type":"tollgate.tier","tier":"deep"}"#, Ok(Some(Tier::Deep))),
            (r#"{"tier":null}"#, Ok(None)),
        ] {
            assert_eq!(tier(text), expected, "{text}");
        }
        for text in
            [r#"{}"#, r#"{"tier":"FAST"}"#, r#"{"tier":3}"#, r#"{"tier":"fast","tier":"deep"}"#]
        {
            let refused = tier(text).expect_err(text).to_string();
            assert!(refused.contains("tollgate.tier"), "{refused}");
        }
    }
}
