//! Glob patterns for names: `*` matches any run of characters, `?` any one.

use std::fmt;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Glob(String);

impl Glob {
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is literally this name, rather than a pattern that matches it.
    pub fn is_exactly(&self, name: &str) -> bool {
        self.0 == name
    }

    /// Linear in `name` times the number of stars: only the last star is backtracked to.
    pub fn matches(&self, name: &str) -> bool {
        let mut pattern = self.0.as_str();
        let mut name = name;
        let mut retry = None;
        while let Some(letter) = name.chars().next() {
            let after = &name[letter.len_utf8()..];
            let mut rest = pattern.chars();
            match rest.next() {
                Some('*') => {
                    pattern = rest.as_str();
                    retry = Some((pattern, after));
                }
                Some(c) if c == '?' || c == letter => (pattern, name) = (rest.as_str(), after),
                _ => {
                    let Some((after_star, from)) = retry else { return false };
                    pattern = after_star;
                    name = from;
                    let mut next = from.chars();
                    next.next();
                    retry = Some((after_star, next.as_str()));
                }
            }
        }
        pattern.bytes().all(|c| c == b'*')
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Whether any of `globs` matches.
pub fn any(globs: &[Glob], name: &str) -> bool {
    globs.iter().any(|glob| glob.matches(name))
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_and_question_marks_match_and_nothing_else_does() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("roll", "roll", true),
            ("roll", "roll_table", false),
            ("world_search_*", "world_search_find", true),
            ("world_search_*", "world_searching", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("r?ll", "roll", true),
            ("r?ll", "röll", true),
            ("r??ll", "röll", false),
            ("?", "語", true),
            ("??", "語", false),
            ("*ö?", "aöböc", true),
            ("*ö?", "aöbö", false),
            ("a*", "a", true),
            ("a**", "a", true),
            ("*?", "", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern} {name}");
        }
        let many = Glob::new("*a".repeat(50));
        assert!(!many.matches(&"a".repeat(40)));
    }
}
