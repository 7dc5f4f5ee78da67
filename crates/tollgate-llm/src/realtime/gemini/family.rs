//! Model families behind `BidiGenerateContent` and their capabilities, as a table. The state
//! machine consults it before it declares a tool, answers a call or sends its own text; nothing
//! else does.

use tollgate_core::tool::ResultDelivery;

/// Models with the same behavior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::realtime) enum GeminiFamily {
    /// 2.x: waits for a tool unless declared otherwise.
    Two,
    /// 3.0 to 3.7: waits for every tool. Closes with 1007 when a declaration asks for other
    /// behavior, or on `clientContent` after its first turn.
    Three,
    /// Since 3.8: keeps talking unless declared otherwise, and accepts `contextUpdate`.
    ThreeEight,
    /// `…-extended-thinking` since 3.8: the same, but cannot wait.
    Thinking,
}

/// What the model does while a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::realtime) enum ToolWaitBehavior {
    /// It is blocked; without an answer the session is stuck.
    Waits,
    /// It keeps talking; answers are scheduled, and there may be more than one.
    TalksOn,
}

/// How new offers reach a running session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::realtime) enum OfferRenewal {
    /// By a `contextUpdate` message.
    ContextUpdate,
    /// By a new connection that resumes the session.
    Reconnect,
}

/// How the model gets information that answers no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::realtime) enum NoteChannel {
    /// `clientContent` that requests an answer.
    Turn,
    /// `clientContent` that requests no answer.
    Note,
    /// `realtimeInput.text`: always answered.
    Text,
}

impl GeminiFamily {
    /// Family by model name. A name without a version counts as the newest family.
    pub(in crate::realtime) fn of(model: &str) -> Self {
        match version(model) {
            Some(version) if version < (3, 0) => Self::Two,
            Some(version) if version < (3, 8) => Self::Three,
            _ if model.contains("thinking") => Self::Thinking,
            _ => Self::ThreeEight,
        }
    }

    /// Behavior for a tool with this delivery; `None`: the tool was never declared.
    pub(in crate::realtime) fn wait_behavior(
        self,
        delivery: Option<ResultDelivery>,
    ) -> ToolWaitBehavior {
        let waits = match self {
            Self::Two => matches!(delivery, None | Some(ResultDelivery::Wait)),
            Self::Three => true,
            Self::ThreeEight => delivery == Some(ResultDelivery::Wait),
            Self::Thinking => false,
        };
        if waits { ToolWaitBehavior::Waits } else { ToolWaitBehavior::TalksOn }
    }

    /// The `behavior` of a declaration, where it is required or differs from the model's default.
    pub(in crate::realtime) fn behavior(self, delivery: ResultDelivery) -> Option<&'static str> {
        match (self, self.wait_behavior(Some(delivery))) {
            (Self::Three, _) | (Self::Two, ToolWaitBehavior::Waits) => None,
            (_, ToolWaitBehavior::Waits) => Some("BLOCKING"),
            (_, ToolWaitBehavior::TalksOn) => Some("NON_BLOCKING"),
        }
    }

    pub(in crate::realtime) fn renewal(self) -> OfferRenewal {
        match self {
            Self::Two | Self::Three => OfferRenewal::Reconnect,
            Self::ThreeEight | Self::Thinking => OfferRenewal::ContextUpdate,
        }
    }

    /// Since 3.0 a turn of `clientContent` is not answered before other input follows.
    pub(in crate::realtime) fn note_channel(self, delivery: ResultDelivery) -> NoteChannel {
        match (self, delivery) {
            (Self::Three, _) => NoteChannel::Text,
            (_, ResultDelivery::Silent) => NoteChannel::Note,
            (Self::Two, _) => NoteChannel::Turn,
            (Self::ThreeEight | Self::Thinking, _) => NoteChannel::Text,
        }
    }
}

/// `gemini-live-2.5-flash` is 2.5. Dates and serial numbers in a name are not versions.
fn version(model: &str) -> Option<(u8, u8)> {
    model.split(['-', '/']).find_map(|word| {
        let (major, minor) = word.split_once('.').unwrap_or((word, "0"));
        let is_digit = |it: &str| it.len() == 1 && it.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digit(major) || !is_digit(minor) {
            return None;
        }
        Some((major.parse().ok()?, minor.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use tollgate_core::tool::ResultDelivery;

    use super::{GeminiFamily, NoteChannel, OfferRenewal, ToolWaitBehavior};

    #[test]
    fn a_model_is_known_by_its_name_and_a_stranger_is_new() {
        for (model, family) in [
            ("gemini-live-2.5-flash-preview", GeminiFamily::Two),
            ("gemini-2.5-flash-native-audio-preview-12-2025", GeminiFamily::Two),
            ("gemini-2.5-flash-exp-native-audio-thinking-dialog", GeminiFamily::Two),
            ("gemini-2.0-flash-live-001", GeminiFamily::Two),
            ("gemini-3-live", GeminiFamily::Three),
            ("gemini-3.1-flash-live-preview", GeminiFamily::Three),
            ("gemini-3.8-live", GeminiFamily::ThreeEight),
            ("gemini-4-live", GeminiFamily::ThreeEight),
            ("gemini-3.8-live-extended-thinking", GeminiFamily::Thinking),
            ("gemini-flash-live-latest", GeminiFamily::ThreeEight),
            ("gemini-live-preview-12-2025", GeminiFamily::ThreeEight),
            ("", GeminiFamily::ThreeEight),
        ] {
            assert_eq!(GeminiFamily::of(model), family, "{model}");
        }
    }

    #[test]
    fn what_is_forbidden_is_never_said() {
        use ResultDelivery::{Silent, Wait, WhenIdle};
        for (family, delivery, behavior, meanwhile) in [
            (GeminiFamily::Two, Wait, None, ToolWaitBehavior::Waits),
            (GeminiFamily::Two, WhenIdle, Some("NON_BLOCKING"), ToolWaitBehavior::TalksOn),
            (GeminiFamily::Three, Wait, None, ToolWaitBehavior::Waits),
            (GeminiFamily::Three, Silent, None, ToolWaitBehavior::Waits),
            (GeminiFamily::ThreeEight, Wait, Some("BLOCKING"), ToolWaitBehavior::Waits),
            (GeminiFamily::ThreeEight, WhenIdle, Some("NON_BLOCKING"), ToolWaitBehavior::TalksOn),
            (GeminiFamily::Thinking, Wait, Some("NON_BLOCKING"), ToolWaitBehavior::TalksOn),
        ] {
            assert_eq!(family.behavior(delivery), behavior, "{family:?} {delivery:?}");
            assert_eq!(family.wait_behavior(Some(delivery)), meanwhile, "{family:?} {delivery:?}");
        }
        assert_eq!(GeminiFamily::Three.note_channel(Silent), NoteChannel::Text);
        assert_eq!(GeminiFamily::Three.renewal(), OfferRenewal::Reconnect);
        assert_eq!(GeminiFamily::ThreeEight.renewal(), OfferRenewal::ContextUpdate);
    }
}
