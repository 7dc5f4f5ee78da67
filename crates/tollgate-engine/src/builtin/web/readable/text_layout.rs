//! Layout of extracted text in lines: whitespace collapses, lists and headings get their marks.
//! Pure.

use super::element::ElementKind;

const DEEPEST_LIST: usize = 8;

#[derive(Default)]
pub(super) struct TextLayout {
    text: String,
    /// The gap between the text so far and the next text.
    gap: LayoutGap,
    /// Written before the next text, if there is any.
    mark: String,
    /// Counters of the open lists; `None`: not numbered.
    lists: Vec<Option<usize>>,
    cells: usize,
    preformatted: usize,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LayoutGap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

impl TextLayout {
    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    pub(super) fn since(&self, start: usize) -> &str {
        self.text.get(start..).unwrap_or_default()
    }

    pub(super) fn between(&self, start: usize, end: Option<usize>) -> &str {
        self.text.get(start..end.unwrap_or(self.text.len())).unwrap_or_default()
    }

    /// An element begins.
    pub(super) fn mark(&mut self, kind: ElementKind) {
        match kind {
            ElementKind::Heading(level) => {
                self.part(LayoutGap::Paragraph);
                self.mark = format!("{} ", "#".repeat(level));
            }
            ElementKind::Paragraph
            | ElementKind::Main
            | ElementKind::Article
            | ElementKind::Rule => self.part(LayoutGap::Paragraph),
            ElementKind::Line | ElementKind::Box | ElementKind::Header | ElementKind::Around => {
                self.part(LayoutGap::Line)
            }
            ElementKind::List | ElementKind::NumberedList => {
                self.part(LayoutGap::Paragraph);
                self.lists.push((kind == ElementKind::NumberedList).then_some(0));
            }
            ElementKind::Item => self.item(),
            ElementKind::Row => {
                self.mark.clear();
                self.part(LayoutGap::Line);
                self.cells = 0;
            }
            ElementKind::Cell => self.cell(),
            ElementKind::Preformatted => {
                self.part(LayoutGap::Paragraph);
                self.preformatted += 1;
            }
            ElementKind::Unseen | ElementKind::Title | ElementKind::Link | ElementKind::Inline => {}
        }
    }

    /// An element ends.
    pub(super) fn unmark(&mut self, kind: ElementKind) {
        match kind {
            ElementKind::Heading(_) => {
                self.mark.clear();
                self.part(LayoutGap::Paragraph);
            }
            ElementKind::Paragraph | ElementKind::Main | ElementKind::Article => {
                self.part(LayoutGap::Paragraph)
            }
            ElementKind::Item | ElementKind::Row => {
                self.mark.clear();
                self.part(LayoutGap::Line);
            }
            ElementKind::Line | ElementKind::Box | ElementKind::Header | ElementKind::Around => {
                self.part(LayoutGap::Line)
            }
            ElementKind::List | ElementKind::NumberedList => {
                self.mark.clear();
                self.lists.pop();
                self.part(LayoutGap::Paragraph);
            }
            ElementKind::Preformatted => {
                self.part(LayoutGap::Paragraph);
                self.preformatted = self.preformatted.saturating_sub(1);
            }
            ElementKind::Cell | ElementKind::Rule => {}
            ElementKind::Unseen | ElementKind::Title | ElementKind::Link | ElementKind::Inline => {}
        }
    }

    pub(super) fn write(&mut self, text: &str) {
        if self.preformatted > 0 {
            self.put(text.trim_end_matches('\n'));
            if text.ends_with('\n') {
                self.part(LayoutGap::Line);
            }
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.gap = self.gap.max(LayoutGap::Space);
        }
        for word in text.split_whitespace() {
            self.put(word);
            self.gap = LayoutGap::Space;
        }
        if !text.ends_with(char::is_whitespace) && self.gap == LayoutGap::Space {
            self.gap = LayoutGap::None;
        }
    }

    fn put(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(match self.gap {
                LayoutGap::None => "",
                LayoutGap::Space => " ",
                LayoutGap::Line => "\n",
                LayoutGap::Paragraph => "\n\n",
            });
        }
        self.gap = LayoutGap::None;
        self.text.push_str(&std::mem::take(&mut self.mark));
        self.text.push_str(text);
    }

    fn part(&mut self, gap: LayoutGap) {
        // The text of an item or a heading follows its mark, whatever wraps it.
        if self.mark.is_empty() {
            let gap = if self.lists.is_empty() { gap } else { gap.min(LayoutGap::Line) };
            self.gap = self.gap.max(gap);
        }
    }

    fn cell(&mut self) {
        self.cells += 1;
        // A table whose cells contain paragraphs is used for layout.
        if self.cells > 1 && self.gap < LayoutGap::Line {
            self.gap = LayoutGap::Space;
            self.mark.push_str("| ");
        }
    }

    fn item(&mut self) {
        self.mark.clear();
        self.part(LayoutGap::Line);
        let depth = self.lists.len().clamp(1, DEEPEST_LIST) - 1;
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.mark = "  ".repeat(depth) + &mark;
    }
}
