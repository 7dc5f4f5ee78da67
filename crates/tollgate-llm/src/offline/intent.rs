//! Detects the user's intent with a few English patterns.

mod dice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    /// Dice notation.
    Roll(String),
    /// Something to look up.
    Find { about: LookupTopic, what: String },
}

/// Kind of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupTopic {
    Rules,
    Sessions,
    Entities,
    Facts,
}

/// Text before and after a topic.
struct TopicPattern {
    about: LookupTopic,
    before: &'static str,
    after: &'static str,
}

impl TopicPattern {
    const fn new(about: LookupTopic, before: &'static str, after: &'static str) -> Self {
        Self { about, before, after }
    }
}

/// The first match wins.
const PATTERNS: &[TopicPattern] = &[
    TopicPattern::new(LookupTopic::Rules, "what does ", " do"),
    TopicPattern::new(LookupTopic::Rules, "what does ", " mean"),
    TopicPattern::new(LookupTopic::Rules, "what do ", " do"),
    TopicPattern::new(LookupTopic::Rules, "how does ", " work"),
    TopicPattern::new(LookupTopic::Rules, "how do ", " work"),
    TopicPattern::new(LookupTopic::Rules, "rules for ", ""),
    TopicPattern::new(LookupTopic::Rules, "rules about ", ""),
    TopicPattern::new(LookupTopic::Rules, "rules of ", ""),
    TopicPattern::new(LookupTopic::Rules, "rules on ", ""),
    TopicPattern::new(LookupTopic::Rules, "rule for ", ""),
    TopicPattern::new(LookupTopic::Rules, "rule about ", ""),
    TopicPattern::new(LookupTopic::Rules, "rule of ", ""),
    TopicPattern::new(LookupTopic::Rules, "rule on ", ""),
    TopicPattern::new(LookupTopic::Rules, "rule ", ""),
    TopicPattern::new(LookupTopic::Sessions, "what happened to ", ""),
    TopicPattern::new(LookupTopic::Sessions, "what happened with ", ""),
    TopicPattern::new(LookupTopic::Sessions, "what happened in ", ""),
    TopicPattern::new(LookupTopic::Sessions, "what happened at ", ""),
    TopicPattern::new(LookupTopic::Sessions, "search sessions for ", ""),
    TopicPattern::new(LookupTopic::Sessions, "search the sessions for ", ""),
    TopicPattern::new(LookupTopic::Entities, "who is ", ""),
    TopicPattern::new(LookupTopic::Entities, "who was ", ""),
    TopicPattern::new(LookupTopic::Entities, "who are ", ""),
    TopicPattern::new(LookupTopic::Facts, "know about ", ""),
    TopicPattern::new(LookupTopic::Facts, "remember about ", ""),
    TopicPattern::new(LookupTopic::Facts, "tell me about ", ""),
    TopicPattern::new(LookupTopic::Facts, "search memory for ", ""),
    TopicPattern::new(LookupTopic::Facts, "search facts for ", ""),
    TopicPattern::new(LookupTopic::Facts, "search for ", ""),
    TopicPattern::new(LookupTopic::Facts, "remember ", ""),
    TopicPattern::new(LookupTopic::Facts, "recall ", ""),
    TopicPattern::new(LookupTopic::Rules, "look up ", ""),
];

/// Words that are not topics to look up.
const PRONOUNS: &[&str] =
    &["i", "it", "me", "she", "he", "that", "this", "they", "us", "we", "you"];
/// Other words that make a question one about the conversation itself.
const CONVERSATION_WORDS: &[&str] = &["my", "your", "our", "time", "today", "weather"];
/// First words of questions that a memory may answer.
const QUESTION_OPENERS: &[&str] =
    &["who ", "whose ", "where ", "when ", "why ", "which ", "what ", "how many ", "how did "];
const MAX_TOPIC_CHARS: usize = 200;
/// Characters searched for intents: longer text is a narration, not a request.
const MAX_UTTERANCE_CHARS: usize = 2_000;

/// Maximum number of calls made at once.
const MAX_INTENTS: usize = 8;

/// Intents in the order of the text, without duplicates, at most [`MAX_INTENTS`].
pub(super) fn read(utterance: &str) -> Vec<Intent> {
    let end =
        utterance.char_indices().nth(MAX_UTTERANCE_CHARS).map_or(utterance.len(), |(end, _)| end);
    let utterance = &utterance[..end];
    let mut intents: Vec<Intent> = Vec::new();
    for (clause, joint) in clauses(utterance) {
        let found = of_clause(clause);
        if found.is_empty()
            && let (Some(joint), Some(Intent::Find { what, .. })) = (joint, intents.last_mut())
        {
            // "swords and shields": one topic, not two clauses.
            what.push_str(joint);
            what.push_str(trim_articles(clause));
        }
        for intent in found {
            if !intents.contains(&intent) {
                intents.push(intent);
            }
        }
    }
    intents.truncate(MAX_INTENTS);
    intents
}

fn of_clause(clause: &str) -> Vec<Intent> {
    let lower = clause.to_ascii_lowercase();
    let rolls = dice::notations(&lower);
    if !rolls.is_empty() {
        return rolls.into_iter().map(Intent::Roll).collect();
    }
    let pattern = PATTERNS.iter().find_map(|pattern| match_pattern(clause, &lower, pattern));
    pattern.or_else(|| question(clause, &lower)).into_iter().collect()
}

/// A question about the world that is worth a lookup, not one about the speakers.
fn question(clause: &str, lower: &str) -> Option<Intent> {
    let lower = lower.trim_start();
    let asks = QUESTION_OPENERS.iter().any(|word| lower.starts_with(word));
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let is_ours = words.any(|word| PRONOUNS.contains(&word) || CONVERSATION_WORDS.contains(&word));
    let what = trim_articles(clause);
    // One or two words are not a question yet.
    let is_whole = what.split_whitespace().count() > 2;
    let what = what.chars().take(MAX_TOPIC_CHARS).collect();
    (asks && !is_ours && is_whole).then_some(Intent::Find { about: LookupTopic::Facts, what })
}

fn match_pattern(clause: &str, lower: &str, pattern: &TopicPattern) -> Option<Intent> {
    let TopicPattern { about, before, after } = pattern;
    let at = lower.find(before)?;
    let is_word = at == 0 || !lower.as_bytes()[at - 1].is_ascii_alphanumeric();
    // ASCII lower-casing keeps byte offsets unchanged.
    let rest = trim_articles(&clause[at + before.len()..]);
    let end = rest.len().checked_sub(after.len())?;
    let fits = rest.is_char_boundary(end) && rest[end..].eq_ignore_ascii_case(after);
    let what = trim_articles(rest.get(..end)?);
    let first = what.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    let is_topic = !what.is_empty() && !PRONOUNS.contains(&first.as_str());
    let topic = || what.chars().take(MAX_TOPIC_CHARS).collect();
    (is_word && fits && is_topic).then(|| Intent::Find { about: *about, what: topic() })
}

/// Without articles and surrounding punctuation.
fn trim_articles(text: &str) -> &str {
    let mut text = text.trim_matches(|c: char| c.is_whitespace() || ",.?!;:\"'`()".contains(c));
    for (article, length) in [("the ", 4), ("a ", 2), ("an ", 3)] {
        if text.get(..length).is_some_and(|head| head.eq_ignore_ascii_case(article)) {
            text = &text[length..];
        }
    }
    let end = text.len().saturating_sub(" please".len());
    match text.get(end..) {
        Some(tail) if tail.eq_ignore_ascii_case(" please") => &text[..end],
        _ => text,
    }
}

/// Clauses of the utterance, each with the conjunction that joins it to the previous one.
fn clauses(utterance: &str) -> Vec<(&str, Option<&'static str>)> {
    const JOINTS: [&str; 4] = [" and ", ", ", " then ", " also "];
    let mut clauses = Vec::new();
    for sentence in utterance.split(['\n', ';', '?', '!']).flat_map(|text| text.split(". ")) {
        let mut rest = sentence;
        let mut joint = None;
        loop {
            let next = JOINTS.iter().filter_map(|it| rest.find(it).map(|at| (at, *it))).min();
            let Some((at, found)) = next else { break };
            clauses.push((&rest[..at], joint));
            rest = &rest[at + found.len()..];
            joint = Some(found);
        }
        clauses.push((rest, joint));
    }
    clauses.retain(|(clause, _)| !clause.trim().is_empty());
    clauses
}

#[cfg(test)]
mod tests;
