//! The table of models. Sources: the vendors' model pages and migration guides; a row says what
//! differs from the row before it.

use crate::dialect::Dialect;

use super::Effort::{High, Low, Max, Medium, Minimal, None as NoEffort, XHigh};
use super::Feature::{
    ChatEffortWithTools, ChatTools, ForcedToolChoice, LateSystemMessage, MaxTokens, OutputSchema,
    Prefill, ThoughtsOutOfContext, UnsignedCalls,
};
use super::ThinkingKind::{Adaptive, BetweenTools, Disabled, DisabledUpToHigh, Enabled};
use super::{EffortLevels, ModelCapabilities, Sampling};

use super::name::ModelName;

/// A model, from a version on, until the next row of the same variant.
pub(super) struct ModelRow {
    /// A word of the name; empty: any.
    variant: &'static str,
    since: (u16, u16),
    takes: ModelCapabilities,
}

/// A row of a variant goes before one of any variant; among those, the newest that is not newer
/// than the model.
pub(super) fn find(table: &[ModelRow], name: &ModelName<'_>) -> Option<ModelCapabilities> {
    let fits = |row: &&ModelRow| {
        (row.variant.is_empty() || name.has(row.variant)) && row.since <= name.version
    };
    let best = table.iter().filter(fits).max_by_key(|row| (!row.variant.is_empty(), row.since));
    best.map(|row| row.takes)
}

const fn row(variant: &'static str, major: u16, minor: u16, takes: ModelCapabilities) -> ModelRow {
    ModelRow { variant, since: (major, minor), takes }
}

const NO_LEVELS: EffortLevels = EffortLevels::Only(&[]);
const LOW_TO_HIGH: EffortLevels = EffortLevels::Only(&[Low, Medium, High]);
const LOW_TO_XHIGH: EffortLevels = EffortLevels::Only(&[Low, Medium, High, XHigh]);
const LOW_TO_MAX: EffortLevels = EffortLevels::Only(&[Low, Medium, High, XHigh, Max]);
const NONE_TO_XHIGH: EffortLevels = EffortLevels::Only(&[NoEffort, Low, Medium, High, XHigh]);
const NONE_TO_MAX: EffortLevels = EffortLevels::Only(&[NoEffort, Low, Medium, High, XHigh, Max]);

/// Limit of OpenAI's Chat Completions.
const MAX_CHAT_STOPS: usize = 4;
/// Newer models take 64 characters, older ones refuse more than 40.
const MAX_CHAT_CALL_ID: usize = 40;
const MAX_RESPONSES_CALL_ID: usize = 64;
const MIN_RESPONSES_OUTPUT: u64 = 16;

const GENEROUS: ModelCapabilities = ModelCapabilities {
    reasons: false,
    default_effort: None,
    efforts: EffortLevels::Any,
    sampling: Sampling::All,
    thinking: &[Adaptive, Enabled, Disabled, BetweenTools],
    min_thinking_budget: None,
    min_output: 1,
    max_stops: usize::MAX,
    max_call_id: usize::MAX,
    refuses: &[],
};

/// The defaults of a dialect. A compatible server is not assumed to have what only the vendor's
/// newest models have.
pub(super) fn unknown(dialect: Dialect) -> ModelCapabilities {
    match dialect {
        Dialect::OpenAiChat => GENEROUS,
        // Reasoning that was not asked for cannot be sent back.
        Dialect::OpenAiResponses => ModelCapabilities { reasons: true, ..GENEROUS },
        Dialect::Anthropic => {
            ModelCapabilities { efforts: LOW_TO_MAX, refuses: &[LateSystemMessage], ..GENEROUS }
        }
        Dialect::Gemini => ModelCapabilities {
            efforts: EffortLevels::Only(&[Minimal, Low, Medium, High]),
            ..GENEROUS
        },
    }
}

/// What Responses has in common for all models.
pub(super) fn on_responses(model: ModelCapabilities) -> ModelCapabilities {
    ModelCapabilities {
        min_output: MIN_RESPONSES_OUTPUT,
        max_stops: 0,
        max_call_id: MAX_RESPONSES_CALL_ID,
        ..model
    }
}

const GPT_4: ModelCapabilities = ModelCapabilities {
    efforts: NO_LEVELS,
    max_stops: MAX_CHAT_STOPS,
    max_call_id: MAX_CHAT_CALL_ID,
    ..GENEROUS
};
const O3: ModelCapabilities = ModelCapabilities {
    reasons: true,
    default_effort: Some(Medium),
    efforts: LOW_TO_HIGH,
    sampling: Sampling::Fixed,
    max_stops: 0,
    refuses: &[MaxTokens],
    ..GPT_4
};
const GPT_5: ModelCapabilities =
    ModelCapabilities { efforts: EffortLevels::Only(&[Minimal, Low, Medium, High]), ..O3 };
/// Does not reason unless it is asked to.
const GPT_5_1: ModelCapabilities = ModelCapabilities {
    default_effort: None,
    efforts: EffortLevels::Only(&[NoEffort, Low, Medium, High]),
    sampling: Sampling::WithoutReasoning,
    max_stops: MAX_CHAT_STOPS,
    ..GPT_5
};
const GPT_5_2: ModelCapabilities = ModelCapabilities { efforts: NONE_TO_XHIGH, ..GPT_5_1 };
const GPT_5_4: ModelCapabilities =
    ModelCapabilities { refuses: &[MaxTokens, ChatEffortWithTools], ..GPT_5_2 };
const GPT_5_6: ModelCapabilities = ModelCapabilities { efforts: NONE_TO_MAX, ..GPT_5_4 };
const GPT_6: ModelCapabilities = ModelCapabilities { default_effort: Some(Medium), ..GPT_5_6 };
const GPT_6_1_TERRA: ModelCapabilities =
    ModelCapabilities { efforts: LOW_TO_MAX, sampling: Sampling::Fixed, ..GPT_6 };
const GPT_6_1_SOL: ModelCapabilities =
    ModelCapabilities { refuses: &[MaxTokens, ChatTools], ..GPT_6_1_TERRA };

pub(super) const GPT: &[ModelRow] = &[
    row("", 3, 0, GPT_4),
    row("", 5, 0, GPT_5),
    row("", 5, 1, GPT_5_1),
    row("", 5, 2, GPT_5_2),
    row("", 5, 4, GPT_5_4),
    row("", 5, 6, GPT_5_6),
    row("", 6, 0, GPT_6),
    row("", 6, 1, GPT_6_1_TERRA),
    row("astra", 6, 0, GPT_6_1_SOL),
    row("sol", 6, 0, GPT_6),
    row("sol", 6, 1, GPT_6_1_SOL),
    // Answers without reasoning, except the later ones, which always have the same effort.
    row("chat", 5, 0, GPT_4),
    row("chat", 5, 1, ModelCapabilities { efforts: EffortLevels::Only(&[Medium]), ..GPT_5 }),
    row("codex", 5, 0, ModelCapabilities { efforts: LOW_TO_HIGH, ..GPT_5 }),
    row("codex", 5, 2, ModelCapabilities { efforts: LOW_TO_XHIGH, ..GPT_5 }),
    row("pro", 5, 0, ModelCapabilities { efforts: EffortLevels::Only(&[High]), ..GPT_5 }),
    row(
        "pro",
        5,
        2,
        ModelCapabilities { efforts: EffortLevels::Only(&[Medium, High, XHigh]), ..GPT_5 },
    ),
];

pub(super) const O_SERIES: &[ModelRow] = &[row("", 1, 0, O3)];

const CLAUDE_3: ModelCapabilities = ModelCapabilities {
    efforts: NO_LEVELS,
    thinking: &[],
    refuses: &[LateSystemMessage, OutputSchema],
    ..GENEROUS
};
const CLAUDE_4: ModelCapabilities =
    ModelCapabilities { reasons: true, thinking: &[Enabled, Disabled], ..CLAUDE_3 };
const SONNET_4_5: ModelCapabilities =
    ModelCapabilities { sampling: Sampling::OneOf, refuses: &[LateSystemMessage], ..CLAUDE_4 };
const OPUS_4_5: ModelCapabilities = ModelCapabilities { efforts: LOW_TO_HIGH, ..SONNET_4_5 };
const OPUS_4_6: ModelCapabilities = ModelCapabilities {
    efforts: EffortLevels::Only(&[Low, Medium, High, Max]),
    thinking: &[Adaptive, Enabled, Disabled],
    refuses: &[LateSystemMessage, Prefill],
    ..OPUS_4_5
};
const OPUS_4_7: ModelCapabilities = ModelCapabilities {
    efforts: LOW_TO_MAX,
    thinking: &[Adaptive, Disabled],
    sampling: Sampling::Fixed,
    ..OPUS_4_6
};
const OPUS_4_8: ModelCapabilities = ModelCapabilities { refuses: &[Prefill], ..OPUS_4_7 };
/// Thinks unless it is told not to.
const SONNET_5: ModelCapabilities = ModelCapabilities { default_effort: Some(High), ..OPUS_4_8 };
const OPUS_5: ModelCapabilities =
    ModelCapabilities { thinking: &[Adaptive, DisabledUpToHigh], ..SONNET_5 };
/// Always thinks.
const FABLE_5: ModelCapabilities =
    ModelCapabilities { thinking: &[Adaptive], refuses: &[Prefill, ForcedToolChoice], ..SONNET_5 };
const FABLE_5_1: ModelCapabilities =
    ModelCapabilities { refuses: &[Prefill, ForcedToolChoice, ThoughtsOutOfContext], ..FABLE_5 };
const OPUS_5_5: ModelCapabilities = ModelCapabilities { default_effort: Some(Medium), ..FABLE_5_1 };
const SONNET_5_5: ModelCapabilities =
    ModelCapabilities { thinking: &[Adaptive, BetweenTools], ..FABLE_5_1 };
const HAIKU_5_5: ModelCapabilities = ModelCapabilities { refuses: &[Prefill], ..OPUS_5_5 };

pub(super) const CLAUDE: &[ModelRow] = &[
    row("", 2, 0, CLAUDE_3),
    row("", 3, 7, CLAUDE_4),
    row("", 5, 0, FABLE_5),
    row("", 5, 1, FABLE_5_1),
    row("haiku", 3, 0, CLAUDE_3),
    row("haiku", 4, 5, SONNET_4_5),
    row("haiku", 5, 5, HAIKU_5_5),
    row("sonnet", 3, 0, CLAUDE_3),
    row("sonnet", 3, 7, CLAUDE_4),
    row("sonnet", 4, 5, SONNET_4_5),
    row("sonnet", 4, 6, OPUS_4_6),
    row("sonnet", 5, 0, SONNET_5),
    row("sonnet", 5, 5, SONNET_5_5),
    row("opus", 3, 0, CLAUDE_3),
    row("opus", 4, 0, CLAUDE_4),
    row("opus", 4, 1, ModelCapabilities { sampling: Sampling::OneOf, ..CLAUDE_4 }),
    row("opus", 4, 5, OPUS_4_5),
    row("opus", 4, 6, OPUS_4_6),
    row("opus", 4, 7, OPUS_4_7),
    row("opus", 4, 8, OPUS_4_8),
    row("opus", 5, 0, OPUS_5),
    row("opus", 5, 5, OPUS_5_5),
];

const GEMINI_2: ModelCapabilities = ModelCapabilities { efforts: NO_LEVELS, ..GENEROUS };
const GEMINI_2_5: ModelCapabilities = ModelCapabilities {
    reasons: true,
    default_effort: Some(Medium),
    efforts: EffortLevels::Only(&[NoEffort, Minimal, Low, Medium, High]),
    min_thinking_budget: Some(0),
    ..GENEROUS
};
const GEMINI_3: ModelCapabilities = ModelCapabilities {
    efforts: EffortLevels::Only(&[Minimal, Low, Medium, High]),
    min_thinking_budget: None,
    refuses: &[UnsignedCalls],
    ..GEMINI_2_5
};
const GEMINI_4: ModelCapabilities = ModelCapabilities { efforts: LOW_TO_HIGH, ..GEMINI_3 };

pub(super) const GEMINI: &[ModelRow] = &[
    row("", 1, 0, GEMINI_2),
    row("", 2, 5, GEMINI_2_5),
    row("", 3, 0, GEMINI_3),
    row("", 4, 0, GEMINI_4),
    row("pro", 1, 0, GEMINI_2),
    row(
        "pro",
        2,
        5,
        ModelCapabilities {
            efforts: EffortLevels::Only(&[Minimal, Low, Medium, High]),
            min_thinking_budget: Some(128),
            ..GEMINI_2_5
        },
    ),
    row("pro", 3, 0, ModelCapabilities { efforts: EffortLevels::Only(&[Low, High]), ..GEMINI_3 }),
    row("pro", 3, 1, GEMINI_4),
];
