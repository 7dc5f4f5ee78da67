//! Classification of HTML elements for text extraction. Pure.

/// How an element is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementKind {
    /// Never visible: scripts, styles, media.
    Unseen,
    /// Surrounds the text: navigation, forms.
    Around,
    /// Skipped, unless it is within the text.
    Header,
    Main,
    Article,
    Title,
    Heading(usize),
    Paragraph,
    /// Begins a line.
    Line,
    /// Begins a line; its end tag is tracked.
    Box,
    List,
    NumberedList,
    Item,
    Row,
    Cell,
    Preformatted,
    Rule,
    Link,
    /// Within a line.
    Inline,
}

impl ElementKind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "script" | "style" | "noscript" | "template" | "svg" | "math" | "iframe" | "object"
            | "canvas" | "audio" | "video" | "map" | "noframes" | "frameset" | "applet" => {
                Self::Unseen
            }
            "nav" | "aside" | "footer" | "form" | "button" | "select" | "textarea" | "dialog"
            | "menu" | "datalist" => Self::Around,
            "header" => Self::Header,
            "main" => Self::Main,
            "article" => Self::Article,
            "title" => Self::Title,
            "h1" => Self::Heading(1),
            "h2" => Self::Heading(2),
            "h3" => Self::Heading(3),
            "h4" => Self::Heading(4),
            "h5" => Self::Heading(5),
            "h6" => Self::Heading(6),
            "p" | "blockquote" | "table" | "dl" | "figure" => Self::Paragraph,
            "br" | "dt" | "dd" | "caption" | "figcaption" | "address" | "summary" | "legend" => {
                Self::Line
            }
            "div" | "section" | "body" | "details" | "fieldset" | "center" => Self::Box,
            "ul" => Self::List,
            "ol" => Self::NumberedList,
            "li" => Self::Item,
            "tr" => Self::Row,
            "td" | "th" => Self::Cell,
            "pre" | "listing" | "xmp" => Self::Preformatted,
            "hr" => Self::Rule,
            "a" => Self::Link,
            _ => Self::Inline,
        }
    }

    /// Whether its end tag is tracked. Excludes elements whose end tag is optional.
    pub(super) fn needs_end_tag(self) -> bool {
        matches!(
            self,
            Self::Unseen
                | Self::Around
                | Self::Header
                | Self::Main
                | Self::Article
                | Self::Title
                | Self::Heading(_)
                | Self::Box
                | Self::List
                | Self::NumberedList
                | Self::Preformatted
        )
    }

    pub(super) fn ends_paragraphs(self) -> bool {
        !matches!(self, Self::Unseen | Self::Inline | Self::Link | Self::Line | Self::Title)
    }
}

/// Elements without an end tag.
pub(super) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Whether its attributes hide it.
pub(super) fn is_hidden(attribute: &dyn Fn(&str) -> Option<String>) -> bool {
    if attribute("hidden").is_some() || attribute("aria-hidden").as_deref() == Some("true") {
        return true;
    }
    let Some(style) = attribute("style") else { return false };
    let style: String =
        style.chars().filter(|letter| !letter.is_whitespace()).collect::<String>().to_lowercase();
    style.split(';').any(|rule| {
        matches!(
            rule.trim_end_matches("!important"),
            "display:none"
                | "visibility:hidden"
                | "visibility:collapse"
                | "opacity:0"
                | "opacity:0.0"
                | "font-size:0"
                | "font-size:0px"
                | "color:transparent"
        )
    })
}
