//! Finds phrases by their parts, which must follow each other closely: one pass over the text for
//! all parts of all phrases, so that the work grows with the text alone.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::folded::fold;
use super::rules::{self, Rule, Where};
use crate::letters::Script;
use crate::tool::finding::Ploy;

/// What kind of string a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Prose,
    /// The name of the tool or of an argument.
    Name,
    /// What an argument may be, or is if nobody says otherwise.
    Value,
}

/// Each ploy of a folded text once, with the words that gave it away.
pub(super) fn ploys(folded: &str, position: Position) -> Vec<(Ploy, String)> {
    static BOOK: LazyLock<Book> = LazyLock::new(|| Book::of(rules::all().collect()));
    BOOK.read(folded, position)
}

struct Book {
    finder: AhoCorasick,
    /// Of each pattern of the finder.
    parts: Vec<Part>,
    rules: Vec<&'static Rule>,
    /// Where the steps of each rule begin in the list of all steps.
    offsets: Vec<usize>,
    steps: usize,
}

struct Part {
    begins: Edge,
    ends: Edge,
    /// Rule and step, last steps first: one occurrence is not two steps of a rule.
    uses: Vec<(usize, usize)>,
}

/// Whether a part must not continue beyond its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Word,
    Anywhere,
}

/// How far a phrase has come: where it began, and where its last part ended.
type Reached = Option<(usize, usize)>;

impl Book {
    fn of(rules: Vec<&'static Rule>) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        let (mut offsets, mut steps) = (Vec::new(), 0);
        for (rule, known) in rules.iter().copied().enumerate() {
            offsets.push(steps);
            steps += known.steps.len();
            for (step, part) in alternatives(known).into_iter().rev() {
                let stem = part.strip_suffix('*');
                let text = fold(stem.unwrap_or(part));
                let ends = if stem.is_some() { Edge::Anywhere } else { edge(text.chars().last()) };
                let known = texts.iter().position(|it| *it == text);
                let known = known.filter(|at| parts[*at].ends == ends);
                let at = known.unwrap_or_else(|| {
                    parts.push(Part { begins: edge(text.chars().next()), ends, uses: Vec::new() });
                    texts.push(text);
                    parts.len() - 1
                });
                parts[at].uses.push((rule, step));
            }
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&texts);
        let finder = finder.expect("the phrases are few and short");
        Self { finder, parts, rules, offsets, steps }
    }

    fn read(&self, text: &str, position: Position) -> Vec<(Ploy, String)> {
        let mut reached: Vec<Reached> = vec![None; self.steps];
        let mut found: Vec<(Ploy, String)> = Vec::new();
        for occurrence in self.finder.find_overlapping_iter(text) {
            let part = &self.parts[occurrence.pattern().as_usize()];
            let (start, end) = (occurrence.start(), occurrence.end());
            if !stands_alone(text, part, start, end) {
                continue;
            }
            for (rule, step) in &part.uses {
                let known = self.rules[*rule];
                if known.within == Where::Values && position != Position::Value {
                    continue;
                }
                let at = self.offsets[*rule] + step;
                let begun = match step.checked_sub(1).map(|_| reached[at - 1]) {
                    None => start,
                    Some(Some((begun, ended))) if start >= ended && start - ended <= known.gap => {
                        begun
                    }
                    Some(_) => continue,
                };
                reached[at] = Some((begun, end));
                let is_whole = step + 1 == known.steps.len();
                if is_whole && !found.iter().any(|(ploy, _)| *ploy == known.ploy) {
                    found.push((known.ploy, text[begun..end].to_owned()));
                }
            }
        }
        found
    }
}

fn alternatives(rule: &Rule) -> Vec<(usize, &'static str)> {
    let steps = rule.steps.iter().enumerate();
    steps.flat_map(|(at, step)| step.split('|').map(move |part| (at, part))).collect()
}

/// Scripts that put blanks between words, and do not build sentences by endings alone.
fn edge(outermost: Option<char>) -> Edge {
    match outermost {
        Some(c) if c.is_ascii_digit() || c.is_alphabetic() && Script::of(c) != Script::Other => {
            Edge::Word
        }
        _ => Edge::Anywhere,
    }
}

fn stands_alone(text: &str, part: &Part, start: usize, end: usize) -> bool {
    let continues = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
    let before = part.begins == Edge::Word && continues(text[..start].chars().next_back());
    let after = part.ends == Edge::Word && continues(text[end..].chars().next());
    !before && !after
}
