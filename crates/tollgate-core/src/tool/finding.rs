//! What intake finds in a definition that its reader should know of, in words.

use std::fmt;

/// Something in a definition that was taken out or changed, or that speaks past its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// JSON pointer into the definition.
    pub at: String,
    /// The words that gave it away, made fit to be shown.
    pub excerpt: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Control characters, escape sequences of terminals among them.
    Control,
    /// Unicode tags: a whole hidden alphabet.
    Tag,
    Bidi,
    ZeroWidth,
    VariationSelector,
    PrivateUse,
    /// More marks on one letter than any script stacks.
    Combining,
    /// Half of a character that UTF-16 writes in two.
    Surrogate,
    /// A description over the limit was cut.
    Cut,
    /// A declared duration or scope that cannot be used was ignored.
    Ignored,
    /// Letters of one script that pass for those of another.
    LookAlike,
    /// An escape sequence of terminals, spelled out.
    Terminal,
    /// A gap that moves what follows out of sight.
    Padding,
    /// Words that are meant to steer whoever reads them.
    Instruction(InjectionPattern),
    /// Speaks of a tool that belongs to another server.
    Shadow,
}

/// What a text tries to make its reader do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InjectionPattern {
    Override,
    Secrecy,
    Priority,
    Markup,
    KeyFile,
    Exfiltration,
    /// Changes what calls of other tools do.
    Meddling,
}

impl Finding {
    pub fn new(kind: FindingKind, at: &str) -> Self {
        Self { kind, at: at.to_owned(), excerpt: None }
    }

    pub fn quoting(kind: FindingKind, at: &str, excerpt: String) -> Self {
        Self { kind, at: at.to_owned(), excerpt: Some(excerpt) }
    }

    /// Whether a person should look at it: what is merely too long or badly declared says nothing
    /// of its writer.
    pub fn is_suspicious(&self) -> bool {
        !matches!(self.kind, FindingKind::Cut | FindingKind::Ignored)
    }
}

impl FindingKind {
    /// One word for programs.
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
            Self::Instruction(ploy) => ploy.as_str(),
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
            FindingKind::Instruction(ploy) => write!(f, "`{at}` {}", ploy.words()),
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
