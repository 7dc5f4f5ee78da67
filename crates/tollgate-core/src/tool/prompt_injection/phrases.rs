//! Phrase matching: the parts of a phrase must follow each other closely. One pass over the text
//! for all parts of all phrases, so that the work is linear in the text.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::phrase_fold::fold;
use super::rules::{self, PhraseRule, RuleScope};
use crate::confusables::LetterScript;
use crate::tool::finding::InjectionPattern;

/// The kind of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPosition {
    Prose,
    /// The name of the tool or of an argument.
    Name,
    /// An allowed or default value of an argument.
    Value,
}

/// Each injection pattern of a folded text once, with the words that matched.
pub(super) fn injection_patterns(
    folded: &str,
    position: TextPosition,
) -> Vec<(InjectionPattern, String)> {
    static PHRASE_MATCHER: LazyLock<PhraseMatcher> =
        LazyLock::new(|| PhraseMatcher::of(rules::all().collect()));
    PHRASE_MATCHER.read(folded, position)
}

struct PhraseMatcher {
    finder: AhoCorasick,
    /// One per pattern of the automaton.
    parts: Vec<PhrasePart>,
    rules: Vec<&'static PhraseRule>,
    /// The index of each rule's first step in the list of all steps.
    offsets: Vec<usize>,
    steps: usize,
}

struct PhrasePart {
    begins: PhraseEdge,
    ends: PhraseEdge,
    /// Rule and step, last steps first: one occurrence must not match two steps of a rule.
    uses: Vec<(usize, usize)>,
}

/// Whether a part must end at a word boundary.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PhraseEdge {
    Word,
    Anywhere,
}

/// Progress of a phrase: where it began, and where its last part ended.
type PhraseProgress = Option<(usize, usize)>;

impl PhraseMatcher {
    fn of(rules: Vec<&'static PhraseRule>) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let mut parts: Vec<PhrasePart> = Vec::new();
        let mut offsets = Vec::new();
        let mut steps = 0;
        for (rule, known) in rules.iter().copied().enumerate() {
            offsets.push(steps);
            steps += known.steps.len();
            for (step, part) in alternatives(known).into_iter().rev() {
                let stem = part.strip_suffix('*');
                let text = fold(stem.unwrap_or(part));
                let ends =
                    if stem.is_some() { PhraseEdge::Anywhere } else { edge(text.chars().last()) };
                let known = texts.iter().position(|it| *it == text);
                let known = known.filter(|at| parts[*at].ends == ends);
                let at = known.unwrap_or_else(|| {
                    parts.push(PhrasePart {
                        begins: edge(text.chars().next()),
                        ends,
                        uses: Vec::new(),
                    });
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

    fn read(&self, text: &str, position: TextPosition) -> Vec<(InjectionPattern, String)> {
        let mut reached: Vec<PhraseProgress> = vec![None; self.steps];
        let mut found: Vec<(InjectionPattern, String)> = Vec::new();
        for occurrence in self.finder.find_overlapping_iter(text) {
            let part = &self.parts[occurrence.pattern().as_usize()];
            let start = occurrence.start();
            let end = occurrence.end();
            if !stands_alone(text, part, start, end) {
                continue;
            }
            for (rule, step) in &part.uses {
                let known = self.rules[*rule];
                if known.within == RuleScope::Values && position != TextPosition::Value {
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
                if is_whole && !found.iter().any(|(pattern, _)| *pattern == known.pattern) {
                    found.push((known.pattern, text[begun..end].to_owned()));
                }
            }
        }
        found
    }
}

fn alternatives(rule: &PhraseRule) -> Vec<(usize, &'static str)> {
    let steps = rule.steps.iter().enumerate();
    steps.flat_map(|(at, step)| step.split('|').map(move |part| (at, part))).collect()
}

/// Word boundaries exist in scripts with blanks between words that do not build sentences by
/// endings alone.
fn edge(outermost: Option<char>) -> PhraseEdge {
    match outermost {
        Some(c)
            if c.is_ascii_digit()
                || c.is_alphabetic() && LetterScript::of(c) != LetterScript::Other =>
        {
            PhraseEdge::Word
        }
        _ => PhraseEdge::Anywhere,
    }
}

fn stands_alone(text: &str, part: &PhrasePart, start: usize, end: usize) -> bool {
    let continues = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
    let before = part.begins == PhraseEdge::Word && continues(text[..start].chars().next_back());
    let after = part.ends == PhraseEdge::Word && continues(text[end..].chars().next());
    !before && !after
}
