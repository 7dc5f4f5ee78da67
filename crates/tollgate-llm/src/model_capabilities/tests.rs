use super::{Effort, EffortLevels, Feature, ModelCapabilities, Sampling, ThinkingKind};
use crate::dialect::Dialect;

fn of(dialect: Dialect, model: &str) -> ModelCapabilities {
    ModelCapabilities::of(dialect, model)
}

#[test]
fn dates_clouds_and_paths_do_not_hide_a_model() {
    let haiku = of(Dialect::Anthropic, "claude-haiku-4-5");
    let spellings = [
        "claude-haiku-4-5-20251001",
        "claude-haiku-4-5@20251001",
        "us.anthropic.claude-haiku-4-5-20251001-v1:0",
        "anthropic.claude-haiku-4-5-20251001-v1:0",
        "publishers/anthropic/models/claude-haiku-4-5",
        "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        "anthropic/claude-haiku-4.5",
    ];
    for name in spellings {
        assert_eq!(of(Dialect::Anthropic, name), haiku, "{name}");
    }
    let flash = of(Dialect::Gemini, "gemini-2.5-flash");
    for name in ["models/gemini-2.5-flash", "publishers/google/models/gemini-2.5-flash-001"] {
        assert_eq!(of(Dialect::Gemini, name), flash, "{name}");
    }
    let chat = |name| of(Dialect::OpenAiChat, name);
    assert_eq!(chat("ft:gpt-4.1-mini-2025-04-14:org::id"), chat("gpt-4.1"));
    assert_eq!(chat("openai/gpt-5.5-2026-04-23"), chat("gpt-5.5"));
    assert_eq!(chat("gpt-35-turbo"), chat("gpt-3.5-turbo"));
    assert_ne!(chat("gpt-5.5"), chat("gpt-5"));
}

#[test]
fn a_version_and_its_variant_choose_the_row() {
    let takes = |model, feature| of(Dialect::Anthropic, model).takes(feature);
    assert!(!takes("claude-opus-4-7", Feature::LateSystemMessage));
    assert!(takes("claude-opus-4-8", Feature::LateSystemMessage));
    assert!(takes("claude-opus-5", Feature::ForcedToolChoice));
    assert!(!takes("claude-opus-5-5", Feature::ForcedToolChoice));
    assert!(takes("claude-sonnet-4-5", Feature::Prefill));
    assert!(!takes("claude-sonnet-4-6", Feature::Prefill));
    let chat = |model, feature| of(Dialect::OpenAiChat, model).takes(feature);
    assert!(chat("gpt-5.2", Feature::ChatEffortWithTools));
    assert!(!chat("gpt-5.4-mini", Feature::ChatEffortWithTools));
    assert!(chat("gpt-6-sol", Feature::ChatTools));
    assert!(!chat("gpt-6.1-sol", Feature::ChatTools));
    assert!(chat("gpt-4o-2024-08-06", Feature::MaxTokens));
    assert!(!chat("o4-mini", Feature::MaxTokens));
    let old = of(Dialect::Anthropic, "claude-opus-4-20250514");
    assert_eq!((old.sampling, old.efforts), (Sampling::All, EffortLevels::Only(&[])));
    assert!(of(Dialect::Anthropic, "claude-3-5-sonnet-20241022").thinking.is_empty());
}

#[test]
fn a_newer_version_counts_as_the_newest_known_one() {
    for (newer, known) in
        [("claude-opus-7", "claude-opus-5-5"), ("claude-haiku-6", "claude-haiku-5-5")]
    {
        assert_eq!(of(Dialect::Anthropic, newer), of(Dialect::Anthropic, known));
    }
    assert_eq!(of(Dialect::Gemini, "gemini-5-xenon"), of(Dialect::Gemini, "gemini-4-argon"));
}

#[test]
fn unknown_models_keep_every_option_of_their_dialect() {
    for name in [
        "llama3.1:70b",
        "gpt-oss-120b",
        "qwen/qwen3-32b",
        "my-deployment",
        "claude-opus-4-8",
        "olmo-2",
    ] {
        let open = of(Dialect::OpenAiChat, name);
        assert_eq!((open.sampling, open.efforts), (Sampling::All, EffortLevels::Any), "{name}");
        assert_eq!(open.max_stops, usize::MAX, "{name}");
        assert!(open.takes(Feature::MaxTokens) && open.takes(Feature::ChatTools), "{name}");
        assert!(!open.reasons, "{name}");
    }
    let anthropic = of(Dialect::Anthropic, "kimi-k2");
    assert!(
        anthropic.takes(Feature::ForcedToolChoice) && anthropic.thinks_as(ThinkingKind::Enabled)
    );
    assert!(!anthropic.takes(Feature::LateSystemMessage));
}

#[test]
fn an_effort_becomes_the_nearest_level() {
    let nearest = |dialect, model, effort| {
        of(dialect, model).efforts.nearest(Effort::parse(effort).unwrap()).map(Effort::as_str)
    };
    let chat = |model, effort| nearest(Dialect::OpenAiChat, model, effort);
    let claude = |model, effort| nearest(Dialect::Anthropic, model, effort);
    assert_eq!(chat("gpt-4.1", "low"), None);
    assert_eq!(chat("gpt-5.5", "minimal"), Some("low"), "not none");
    assert_eq!(chat("gpt-5.5", "max"), Some("xhigh"));
    assert_eq!(chat("gpt-6.1-sol", "none"), Some("low"));
    assert_eq!(chat("gpt-6-sol", "none"), Some("none"));
    assert_eq!(chat("gpt-5-pro", "low"), Some("high"));
    assert_eq!(claude("claude-opus-4-6", "xhigh"), Some("high"), "the lower of two");
    assert_eq!(claude("claude-haiku-4-5", "high"), None);
    assert_eq!(nearest(Dialect::Gemini, "gemini-4-argon", "minimal"), Some("low"));
    assert_eq!(chat("mistral-large", "max"), Some("max"));
}

#[test]
fn a_model_reasons_by_default_or_when_it_is_asked_to() {
    let chat = |model| of(Dialect::OpenAiChat, model);
    assert!(chat("gpt-5.5").reasons && !chat("gpt-5.5").reasons_at(None));
    assert!(chat("gpt-5.5").reasons_at(Some(Effort::Low)));
    assert!(
        chat("gpt-6-sol").reasons_at(None) && !chat("gpt-6-sol").reasons_at(Some(Effort::None))
    );
    assert!(!chat("gpt-4.1").reasons_at(Some(Effort::High)));
    assert!(of(Dialect::OpenAiResponses, "gpt-6.1-sol").reasons);
}

#[test]
fn budgets_stand_for_efforts() {
    for effort in [Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High] {
        assert_eq!(Effort::of_budget(effort.budget().into()), Some(effort));
    }
    assert_eq!(Effort::of_budget(-1), None);
}
