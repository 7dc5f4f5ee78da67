//! Text extraction from HTML: title, text and links, in the order of the page.
//!
//! Processes the tags in sequence and builds no tree, so that hostile pages (a million nested tags)
//! cost time linear in their length. Pure.
//!
//! Skips what readers do not see (scripts, styles, hidden elements: a page could hide instructions
//! to models in them) and what surrounds the text (navigation, header, footer, forms).

use html5gum::{DefaultEmitter, Token, Tokenizer};
use url::Url;

mod element;
mod text_layout;

use element::{ElementKind, is_hidden, is_void};
use text_layout::TextLayout;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReadablePage {
    pub(super) title: Option<String>,
    /// Lines; headings and lists in Markdown.
    pub(super) text: String,
    pub(super) links: Vec<PageLink>,
    /// Target of a `<meta>` refresh.
    pub(super) refresh: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageLink {
    pub(super) text: String,
    pub(super) url: String,
}

/// If less text than this was extracted, extract everything that is visible.
const LEAST_CHARACTERS: usize = 200;
const MAX_LINKS: usize = 40;
const MAX_LINK_TEXT_CHARS: usize = 120;
const MAX_TITLE_CHARS: usize = 300;
const MAX_OPEN_ELEMENTS: usize = 512;

/// `base` is the URL of the page.
pub(super) fn read(html: &str, base: &str) -> ReadablePage {
    let usual = HtmlTextExtractor::new(base, ExtractionMode::TextOnly).read(html);
    if usual.text.chars().take(LEAST_CHARACTERS).count() == LEAST_CHARACTERS {
        return usual;
    }
    // Some pages put everything into a form, or the text into the header.
    let all = HtmlTextExtractor::new(base, ExtractionMode::AllVisible).read(html);
    if all.text.len() > 2 * usual.text.len() { all } else { usual }
}

/// The text of a short HTML fragment, on one line.
pub(super) fn line(html: &str) -> String {
    let read = HtmlTextExtractor::new("", ExtractionMode::AllVisible).read(html);
    read.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExtractionMode {
    TextOnly,
    AllVisible,
}

struct HtmlTextExtractor {
    picky: ExtractionMode,
    base: Option<Url>,
    paper: TextLayout,
    open: Vec<OpenElement>,
    /// Depth in `open` of the element whose content is skipped.
    left_out_at: Option<usize>,
    title: String,
    links: Vec<PageLink>,
    refresh: Option<String>,
    /// Where the main part begins and ends in `paper`.
    main: Option<(usize, Option<usize>)>,
}

struct OpenElement {
    name: String,
    kind: ElementKind,
    /// Where its text begins, for links.
    start: usize,
    href: Option<String>,
}

impl HtmlTextExtractor {
    fn new(base: &str, picky: ExtractionMode) -> Self {
        Self {
            picky,
            base: Url::parse(base).ok(),
            paper: TextLayout::default(),
            open: Vec::new(),
            left_out_at: None,
            title: String::new(),
            links: Vec::new(),
            refresh: None,
            main: None,
        }
    }

    fn read(mut self, html: &str) -> ReadablePage {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(html, emitter) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => {
                    let attribute = |name: &str| {
                        let value = tag.attributes.get(name.as_bytes())?;
                        Some(String::from_utf8_lossy(value).into_owned())
                    };
                    let name = String::from_utf8_lossy(&tag.name);
                    // Only these elements can be self-closing.
                    if !(tag.self_closing && matches!(&*name, "svg" | "math")) {
                        self.start(&name, &attribute);
                    }
                }
                Token::EndTag(tag) => self.end(&String::from_utf8_lossy(&tag.name)),
                Token::String(text) => self.text(&String::from_utf8_lossy(&text)),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        self.finish()
    }

    fn start(&mut self, name: &str, attribute: &dyn Fn(&str) -> Option<String>) {
        let kind = ElementKind::of(name);
        if name == "meta" {
            self.meta(attribute);
        }
        if let Some(left_out) = self.left_out_at {
            let element = self.open.get(left_out - 1).map(|it| it.name.as_str());
            // The end tag of a paragraph is optional.
            if !(element == Some("p") && kind.ends_paragraphs()) {
                // Track only the elements needed to find its end.
                if kind.needs_end_tag() || element == Some(name) {
                    self.push(name, kind, None);
                }
                return;
            }
            self.open.truncate(left_out - 1);
            self.left_out_at = None;
        }
        if is_void(name) || self.open.len() == MAX_OPEN_ELEMENTS {
            if !kind.needs_end_tag() {
                self.paper.mark(kind);
            }
            return;
        }
        if kind == ElementKind::Link
            && self.open.last().is_some_and(|it| it.kind == ElementKind::Link)
        {
            self.end("a");
        }
        let leave_out = is_hidden(attribute) || self.leaves_out(kind);
        if !leave_out {
            self.paper.mark(kind);
            let main = kind == ElementKind::Main || attribute("role").as_deref() == Some("main");
            if main && self.main.is_none() {
                self.main = Some((self.paper.length(), None));
            }
        }
        if leave_out || kind.needs_end_tag() || kind == ElementKind::Link {
            let href = (kind == ElementKind::Link).then(|| attribute("href")).flatten();
            self.push(name, kind, href);
        }
        if leave_out {
            self.left_out_at = Some(self.open.len());
        }
    }

    fn leaves_out(&self, kind: ElementKind) -> bool {
        let within_text = || {
            self.open.iter().any(|it| matches!(it.kind, ElementKind::Main | ElementKind::Article))
        };
        match kind {
            ElementKind::Unseen => true,
            ElementKind::Around => self.picky == ExtractionMode::TextOnly,
            // The header of an article contains its heading.
            ElementKind::Header => self.picky == ExtractionMode::TextOnly && !within_text(),
            _ => false,
        }
    }

    fn push(&mut self, name: &str, kind: ElementKind, href: Option<String>) {
        if self.open.len() < MAX_OPEN_ELEMENTS {
            let start = self.paper.length();
            self.open.push(OpenElement { name: name.to_owned(), kind, start, href });
        }
    }

    fn end(&mut self, name: &str) {
        let kind = ElementKind::of(name);
        let Some(at) = self.open.iter().rposition(|it| it.name == name) else {
            if self.left_out_at.is_none() && !kind.needs_end_tag() {
                self.paper.unmark(kind);
            }
            return;
        };
        let was_left_out = self.left_out_at.is_some();
        if self.left_out_at.is_some_and(|left_out| at < left_out) {
            self.left_out_at = None;
        }
        let closed = self.open.split_off(at);
        if was_left_out {
            return;
        }
        for closed in closed.into_iter().rev() {
            self.close(closed);
        }
    }

    fn close(&mut self, closed: OpenElement) {
        self.paper.unmark(closed.kind);
        if closed.kind == ElementKind::Main
            && let Some((_, end @ None)) = &mut self.main
        {
            *end = Some(self.paper.length());
        }
        let Some(href) = closed.href else { return };
        let text = self.paper.since(closed.start).split_whitespace().collect::<Vec<_>>().join(" ");
        let url = self.base.as_ref().and_then(|base| base.join(href.trim()).ok());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        if let Some(url) = url.filter(|_| !text.is_empty() && self.links.len() < MAX_LINKS) {
            let text = tollgate_core::text::truncate_chars(&text, MAX_LINK_TEXT_CHARS);
            self.links.push(PageLink { text, url: url.into() });
        }
    }

    fn text(&mut self, text: &str) {
        if self.left_out_at.is_some() {
            return;
        }
        match self.open.last().map(|it| it.kind) {
            Some(ElementKind::Title) if self.title.len() < MAX_TITLE_CHARS => {
                self.title.push_str(text)
            }
            Some(ElementKind::Title) => {}
            _ => self.paper.write(text),
        }
    }

    /// `<meta http-equiv="refresh" content="5; url=…">`
    fn meta(&mut self, attribute: &dyn Fn(&str) -> Option<String>) {
        let is = attribute("http-equiv").is_some_and(|it| it.eq_ignore_ascii_case("refresh"));
        let Some(content) = attribute("content").filter(|_| is && self.refresh.is_none()) else {
            return;
        };
        let Some((_, to)) = content.split_once([';', ',']) else { return };
        let to = to.trim();
        let to = to.split_once('=').map_or(to, |(_, to)| to).trim().trim_matches(['"', '\'']);
        let to = self.base.as_ref().and_then(|base| base.join(to).ok());
        self.refresh = to.map(|url| tollgate_core::text::truncate_chars(url.as_str(), 500));
    }

    fn finish(self) -> ReadablePage {
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let main = self.main.filter(|_| self.picky == ExtractionMode::TextOnly);
        let main = main.map(|(start, end)| self.paper.between(start, end));
        let long = |text: &&str| text.chars().take(LEAST_CHARACTERS).count() == LEAST_CHARACTERS;
        let text = main.filter(long).unwrap_or(self.paper.since(0));
        ReadablePage {
            title: (!title.is_empty()).then_some(title),
            text: text.trim().to_owned(),
            links: self.links,
            refresh: self.refresh,
        }
    }
}

#[cfg(test)]
mod tests;
