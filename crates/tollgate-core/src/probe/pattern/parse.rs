//! Parses a regular expression for the sampler.

use std::iter::Peekable;
use std::str::Chars;

use super::class::{self, CharClass};
use super::piece::{PatternPiece, PatternSequence};

/// Maximum nesting of groups.
const MAX_GROUP_DEPTH: usize = 32;

/// The alternatives of a pattern; `None` if it has unsupported syntax.
pub(super) fn read(pattern: &str) -> Option<Vec<PatternSequence>> {
    let mut reader = PatternParser { rest: pattern.chars().peekable(), depth: 0 };
    let alternatives = reader.alternatives()?;
    reader.rest.next().is_none().then_some(alternatives)
}

struct PatternParser<'p> {
    rest: Peekable<Chars<'p>>,
    depth: usize,
}

impl PatternParser<'_> {
    fn alternatives(&mut self) -> Option<Vec<PatternSequence>> {
        let mut alternatives = vec![Vec::new()];
        while let Some(next) = self.rest.peek().copied() {
            match next {
                ')' => break,
                '|' => {
                    self.rest.next();
                    alternatives.push(Vec::new());
                }
                _ => {
                    let piece = self.piece()?;
                    let piece = self.parse_repetition(piece)?;
                    alternatives.last_mut()?.push(piece);
                }
            }
        }
        Some(alternatives)
    }

    fn piece(&mut self) -> Option<PatternPiece> {
        Some(match self.rest.next()? {
            '^' | '$' => PatternPiece::Edge,
            '.' => CharClass::default().but_not().into_piece(),
            '(' => self.group()?,
            '[' => self.class()?.into_piece(),
            '\\' => match self.rest.peek()? {
                'b' | 'B' | 'A' | 'z' | 'Z' => {
                    self.rest.next();
                    PatternPiece::Edge
                }
                _ => class::escape(&mut self.rest)?.into_piece(),
            },
            '*' | '+' | '?' => return None,
            plain => PatternPiece::OneOf(vec![plain]),
        })
    }

    fn group(&mut self) -> Option<PatternPiece> {
        self.depth += 1;
        if self.depth > MAX_GROUP_DEPTH {
            return None;
        }
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next()? {
                ':' => {}
                'P' if self.rest.next_if_eq(&'<').is_some() => self.name()?,
                '<' => self.name()?,
                _ => return None,
            }
        }
        let alternatives = self.alternatives()?;
        self.rest.next_if_eq(&')')?;
        self.depth -= 1;
        Some(PatternPiece::Group(alternatives))
    }

    /// The name of a group. Lookbehind (`(?<=`, `(?<!`) has none.
    fn name(&mut self) -> Option<()> {
        self.rest.next().filter(|it| it.is_alphabetic() || *it == '_')?;
        self.rest.find(|it| *it == '>').map(drop)
    }

    fn class(&mut self) -> Option<CharClass> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut class = CharClass::default();
        loop {
            let first = match self.rest.next()? {
                ']' => break,
                '\\' => match class::escape(&mut self.rest)? {
                    CharClass { ranges, rest: None }
                        if ranges.len() == 1 && ranges[0].0 == ranges[0].1 =>
                    {
                        ranges[0].0
                    }
                    several => {
                        class.add(several);
                        continue;
                    }
                },
                plain => plain,
            };
            let mut ahead = self.rest.clone();
            let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|it| it != ']');
            let last = if is_range {
                self.rest.next();
                match self.rest.next()? {
                    '\\' => class::escape(&mut self.rest)?.ranges.first()?.0,
                    plain => plain,
                }
            } else {
                first
            };
            class.ranges.push((first, last));
        }
        Some(if is_negated { class.but_not() } else { class })
    }

    fn parse_repetition(&mut self, piece: PatternPiece) -> Option<PatternPiece> {
        let (least, most) = match self.rest.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.parse_counts() {
                Some(counts) => counts,
                None => return Some(piece),
            },
            _ => return Some(piece),
        };
        self.rest.next();
        // Lazy and possessive quantifiers match the same strings.
        self.rest.next_if(|it| matches!(it, '?' | '+'));
        Some(PatternPiece::Repeat { piece: Box::new(piece), least, most })
    }

    /// `{2}`, `{2,}` or `{2,5}`; any other brace is a literal.
    fn parse_counts(&mut self) -> Option<(usize, Option<usize>)> {
        let mut ahead = self.rest.clone();
        ahead.next();
        let inside: String = ahead.by_ref().take_while(|it| *it != '}').collect();
        let counts = match inside.split_once(',') {
            None => inside.parse().ok().map(|count| (count, Some(count))),
            Some((least, "")) => least.parse().ok().map(|least| (least, None)),
            Some((least, most)) => least.parse().ok().zip(most.parse().ok().map(Some)),
        }?;
        for _ in 0..=inside.chars().count() {
            self.rest.next();
        }
        Some(counts)
    }
}
