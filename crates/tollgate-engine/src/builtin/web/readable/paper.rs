//! Text as it is set in lines: spaces and breaks collapse, lists and headings get their marks. Pure.

use super::element::Kind;

const DEEPEST_LIST: usize = 8;

#[derive(Default)]
pub(super) struct Paper {
    text: String,
    /// What stands between the text so far and what comes next.
    gap: Gap,
    /// Written before what comes next, once there is something.
    mark: String,
    /// Numbers of the lists that are open; `None`: without.
    lists: Vec<Option<usize>>,
    cells: usize,
    preformatted: usize,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

impl Paper {
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
    pub(super) fn mark(&mut self, kind: Kind) {
        match kind {
            Kind::Heading(level) => {
                self.part(Gap::Paragraph);
                self.mark = format!("{} ", "#".repeat(level));
            }
            Kind::Paragraph | Kind::Main | Kind::Article | Kind::Rule => self.part(Gap::Paragraph),
            Kind::Line | Kind::Box | Kind::Header | Kind::Around => self.part(Gap::Line),
            Kind::List | Kind::NumberedList => {
                self.part(Gap::Paragraph);
                self.lists.push((kind == Kind::NumberedList).then_some(0));
            }
            Kind::Item => self.item(),
            Kind::Row => {
                self.mark.clear();
                self.part(Gap::Line);
                self.cells = 0;
            }
            Kind::Cell => self.cell(),
            Kind::Preformatted => {
                self.part(Gap::Paragraph);
                self.preformatted += 1;
            }
            Kind::Unseen | Kind::Title | Kind::Link | Kind::Inline => {}
        }
    }

    /// An element ends.
    pub(super) fn unmark(&mut self, kind: Kind) {
        match kind {
            Kind::Heading(_) => {
                self.mark.clear();
                self.part(Gap::Paragraph);
            }
            Kind::Paragraph | Kind::Main | Kind::Article => self.part(Gap::Paragraph),
            Kind::Item | Kind::Row => {
                self.mark.clear();
                self.part(Gap::Line);
            }
            Kind::Line | Kind::Box | Kind::Header | Kind::Around => self.part(Gap::Line),
            Kind::List | Kind::NumberedList => {
                self.mark.clear();
                self.lists.pop();
                self.part(Gap::Paragraph);
            }
            Kind::Preformatted => {
                self.part(Gap::Paragraph);
                self.preformatted = self.preformatted.saturating_sub(1);
            }
            Kind::Cell | Kind::Rule => {}
            Kind::Unseen | Kind::Title | Kind::Link | Kind::Inline => {}
        }
    }

    pub(super) fn write(&mut self, text: &str) {
        if self.preformatted > 0 {
            self.put(text.trim_end_matches('\n'));
            if text.ends_with('\n') {
                self.part(Gap::Line);
            }
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.gap = self.gap.max(Gap::Space);
        }
        for word in text.split_whitespace() {
            self.put(word);
            self.gap = Gap::Space;
        }
        if !text.ends_with(char::is_whitespace) && self.gap == Gap::Space {
            self.gap = Gap::None;
        }
    }

    fn put(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(match self.gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.gap = Gap::None;
        self.text.push_str(&std::mem::take(&mut self.mark));
        self.text.push_str(text);
    }

    fn part(&mut self, gap: Gap) {
        // The text of an item or a heading stands behind its mark, whatever it is wrapped in.
        if self.mark.is_empty() {
            let gap = if self.lists.is_empty() { gap } else { gap.min(Gap::Line) };
            self.gap = self.gap.max(gap);
        }
    }

    fn cell(&mut self) {
        self.cells += 1;
        // Where cells hold paragraphs, the table is there for the layout.
        if self.cells > 1 && self.gap < Gap::Line {
            self.gap = Gap::Space;
            self.mark.push_str("| ");
        }
    }

    fn item(&mut self) {
        self.mark.clear();
        self.part(Gap::Line);
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
