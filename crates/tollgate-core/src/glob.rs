//! Patterns of names: `*` is any run of characters, `?` any one, all else itself.

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

    /// Linear in `name` times the number of stars: the last star alone is ever retried.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        let mut retry = None;
        while n < name.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    retry = Some((p + 1, n));
                    p += 1;
                }
                Some(&c) if c == b'?' || c == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => match retry {
                    Some((after_star, from)) => {
                        p = after_star;
                        n = from + 1;
                        retry = Some((after_star, n));
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|c| *c == b'*')
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
            ("", "x", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern} {name}");
        }
        let many = Glob::new("*a".repeat(50));
        assert!(!many.matches(&"a".repeat(40)));
    }
}
