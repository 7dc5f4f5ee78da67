//! What the models behind `BidiGenerateContent` can do, by family: a table. The machine asks it
//! before it declares a tool, answers a call or says a word of its own; nobody else knows it.

use tollgate_core::tool::Delivery;

/// Models that behave alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// 2.x: waits for a tool unless told otherwise.
    Two,
    /// 3.0 to 3.7: waits for every tool, and closes with 1007 when it is told to behave otherwise
    /// or gets `clientContent` after its first turn.
    Three,
    /// From 3.8: talks on unless told otherwise, and takes `contextUpdate`.
    ThreeEight,
    /// `…-extended-thinking` from 3.8: the same, but cannot wait.
    Thinking,
}

/// What the model does while a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meanwhile {
    /// Nothing; without an answer the session is stuck.
    Waits,
    /// It talks on; answers are scheduled, and there may be more than one.
    TalksOn,
}

/// How offers reach a session that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renewal {
    /// By a message.
    ContextUpdate,
    /// By a new connection that resumes the session.
    Reconnect,
}

/// How the model is told something that answers no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// `clientContent`, to be answered.
    Turn,
    /// `clientContent`, not to be answered.
    Note,
    /// `realtimeInput.text`: is always answered.
    Text,
}

impl Family {
    /// By the model's name. A name without a version is believed to be of the newest kind.
    pub(super) fn of(model: &str) -> Self {
        match version(model) {
            Some(version) if version < (3, 0) => Self::Two,
            Some(version) if version < (3, 8) => Self::Three,
            _ if model.contains("thinking") => Self::Thinking,
            _ => Self::ThreeEight,
        }
    }

    /// For a tool that is delivered like this; `None`: one that was never declared.
    pub(super) fn meanwhile(self, delivery: Option<Delivery>) -> Meanwhile {
        let waits = match self {
            Self::Two => matches!(delivery, None | Some(Delivery::Wait)),
            Self::Three => true,
            Self::ThreeEight => delivery == Some(Delivery::Wait),
            Self::Thinking => false,
        };
        if waits { Meanwhile::Waits } else { Meanwhile::TalksOn }
    }

    /// The `behavior` of a declaration, where it must be said or is not the model's own.
    pub(super) fn behavior(self, delivery: Delivery) -> Option<&'static str> {
        match (self, self.meanwhile(Some(delivery))) {
            (Self::Three, _) | (Self::Two, Meanwhile::Waits) => None,
            (_, Meanwhile::Waits) => Some("BLOCKING"),
            (_, Meanwhile::TalksOn) => Some("NON_BLOCKING"),
        }
    }

    pub(super) fn renewal(self) -> Renewal {
        match self {
            Self::Two | Self::Three => Renewal::Reconnect,
            Self::ThreeEight | Self::Thinking => Renewal::ContextUpdate,
        }
    }

    /// From 3.0 on a turn of `clientContent` is not answered before something else is said.
    pub(super) fn telling(self, delivery: Delivery) -> Telling {
        match (self, delivery) {
            (Self::Three, _) => Telling::Text,
            (_, Delivery::Silent) => Telling::Note,
            (Self::Two, _) => Telling::Turn,
            (Self::ThreeEight | Self::Thinking, _) => Telling::Text,
        }
    }
}

/// `gemini-live-2.5-flash` is 2.5. Dates and running numbers in a name are no versions.
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
    use tollgate_core::tool::Delivery;

    use super::{Family, Meanwhile, Renewal, Telling};

    #[test]
    fn a_model_is_known_by_its_name_and_a_stranger_is_new() {
        for (model, family) in [
            ("gemini-live-2.5-flash-preview", Family::Two),
            ("gemini-2.5-flash-native-audio-preview-12-2025", Family::Two),
            ("gemini-2.5-flash-exp-native-audio-thinking-dialog", Family::Two),
            ("gemini-2.0-flash-live-001", Family::Two),
            ("gemini-3-live", Family::Three),
            ("gemini-3.1-flash-live-preview", Family::Three),
            ("gemini-3.8-live", Family::ThreeEight),
            ("gemini-4-live", Family::ThreeEight),
            ("gemini-3.8-live-extended-thinking", Family::Thinking),
            ("gemini-flash-live-latest", Family::ThreeEight),
            ("gemini-live-preview-12-2025", Family::ThreeEight),
            ("", Family::ThreeEight),
        ] {
            assert_eq!(Family::of(model), family, "{model}");
        }
    }

    #[test]
    fn what_is_forbidden_is_never_said() {
        use Delivery::{Silent, Wait, WhenIdle};
        for (family, delivery, behavior, meanwhile) in [
            (Family::Two, Wait, None, Meanwhile::Waits),
            (Family::Two, WhenIdle, Some("NON_BLOCKING"), Meanwhile::TalksOn),
            (Family::Three, Wait, None, Meanwhile::Waits),
            (Family::Three, Silent, None, Meanwhile::Waits),
            (Family::ThreeEight, Wait, Some("BLOCKING"), Meanwhile::Waits),
            (Family::ThreeEight, WhenIdle, Some("NON_BLOCKING"), Meanwhile::TalksOn),
            (Family::Thinking, Wait, Some("NON_BLOCKING"), Meanwhile::TalksOn),
        ] {
            assert_eq!(family.behavior(delivery), behavior, "{family:?} {delivery:?}");
            assert_eq!(family.meanwhile(Some(delivery)), meanwhile, "{family:?} {delivery:?}");
        }
        assert_eq!(Family::Three.telling(Silent), Telling::Text);
        assert_eq!(Family::Three.renewal(), Renewal::Reconnect);
        assert_eq!(Family::ThreeEight.renewal(), Renewal::ContextUpdate);
    }
}
