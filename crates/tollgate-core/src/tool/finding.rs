//! Findings of intake: suspicious or changed parts of a definition, as text.

use std::fmt;

/// Part of a definition that was removed or changed, or that is addressed to the model and not to
/// people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// JSON pointer into the definition.
    pub at: String,
    /// The text that matched, safe for display.
    pub excerpt: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Control characters, including terminal escape sequences.
    Control,
    /// Unicode tags: a complete invisible alphabet.
    Tag,
    Bidi,
    ZeroWidth,
    VariationSelector,
    PrivateUse,
    /// More combining marks on a letter than any script uses.
    Combining,
    /// An unpaired UTF-16 surrogate.
    Surrogate,
    /// The description exceeded the limit and was truncated.
    Cut,
    /// An unusable declared duration or scope was ignored.
    Ignored,
    /// Letters of one script that imitate those of another.
    LookAlike,
    /// A terminal escape sequence, spelled out.
    Terminal,
    /// A gap that moves the following text out of sight.
    Padding,
    /// Instructions to the reading model.
    Instruction(InjectionPattern),
    /// Mentions a tool of another server.
    Shadow,
}

/// The goal of a prompt injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InjectionPattern {
    Override,
    Secrecy,
    Priority,
    Markup,
    KeyFile,
    Exfiltration,
    /// Changes the behaviour of calls to other tools.
    Meddling,
}

impl Finding {
    pub fn new(kind: FindingKind, at: &str) -> Self {
        Self { kind, at: at.to_owned(), excerpt: None }
    }

    pub fn quoting(kind: FindingKind, at: &str, excerpt: String) -> Self {
        Self { kind, at: at.to_owned(), excerpt: Some(excerpt) }
    }

    /// Whether it needs review: text that is merely too long or badly declared says nothing about
    /// intent.
    pub fn is_suspicious(&self) -> bool {
        !matches!(self.kind, FindingKind::Cut | FindingKind::Ignored)
    }
}

impl FindingKind {
    /// An identifier for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Tag => "tag",
            Self::Bidi => "bidi",
            Self::ZeroWidth => "zero_width",
            Self::VariationSelector => "variation_selector",
            Self::PrivateUse => "private_use",
            Self::Combining => "combining",
            Self::Surrogate => "surrogate",
            Self::Cut => "cut",
            Self::Ignored => "ignored",
            Self::LookAlike => "look_alike",
            Self::Terminal => "terminal",
            Self::Padding => "padding",
            Self::Instruction(pattern) => pattern.as_str(),
            Self::Shadow => "shadow",
        }
    }
}

impl InjectionPattern {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Secrecy => "secrecy",
            Self::Priority => "priority",
            Self::Markup => "markup",
            Self::KeyFile => "key_file",
            Self::Exfiltration => "exfiltration",
            Self::Meddling => "meddling",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Override => "tells its reader to set aside other instructions",
            Self::Secrecy => "asks to hide something from the user",
            Self::Priority => "demands to be called before or in place of other tools",
            Self::Markup => "has markup that imitates a system message",
            Self::KeyFile => "asks for files that contain keys or passwords",
            Self::Exfiltration => "asks to send data to a third party",
            Self::Meddling => "gives instructions about other tools",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { "/" } else { &self.at };
        match self.kind {
            FindingKind::Control => taken_out(f, at, "control characters"),
            FindingKind::Tag => taken_out(f, at, "invisible tag characters"),
            FindingKind::Bidi => taken_out(f, at, "bidirectional control characters"),
            FindingKind::ZeroWidth => taken_out(f, at, "zero-width characters"),
            FindingKind::VariationSelector => taken_out(f, at, "stray variation selectors"),
            FindingKind::PrivateUse => taken_out(f, at, "private-use characters"),
            FindingKind::Combining => taken_out(f, at, "excessive combining marks"),
            FindingKind::Surrogate => taken_out(f, at, "lone surrogates"),
            FindingKind::Cut => write!(f, "`{at}` was too long and was cut"),
            FindingKind::Ignored => write!(f, "`{at}` cannot be used, ignored"),
            FindingKind::LookAlike => write!(f, "`{at}` has look-alike letters"),
            FindingKind::Terminal => write!(f, "`{at}` has a terminal escape sequence"),
            FindingKind::Padding => write!(f, "`{at}` has a long gap followed by more text"),
            FindingKind::Instruction(pattern) => write!(f, "`{at}` {}", pattern.words()),
            FindingKind::Shadow => write!(f, "`{at}` mentions a tool of another server"),
        }?;
        match &self.excerpt {
            Some(excerpt) => write!(f, ": {excerpt:?}"),
            None => Ok(()),
        }
    }
}

fn taken_out(f: &mut fmt::Formatter<'_>, at: &str, what: &str) -> fmt::Result {
    write!(f, "`{at}` had {what}; they were removed")
}
