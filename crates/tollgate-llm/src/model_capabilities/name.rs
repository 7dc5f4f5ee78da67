//! Reads the name of a model: its vendor's word, its version, its variant.

/// A name such as `claude-opus-4-8-20260528` or `us.anthropic.claude-haiku-4-5-20251001-v1:0`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ModelName<'a> {
    pub(super) version: (u16, u16),
    /// The other words of the name.
    words: Vec<&'a str>,
}

impl<'a> ModelName<'a> {
    /// `None`: the name has no such word with a version behind it.
    pub(super) fn parse(model: &'a str, vendor: &str) -> Option<Self> {
        let separators = ['-', '.', '/', ':', '@', '+', '_'];
        let mut words = model.split(separators);
        if vendor == "o" {
            // `o3`, `o4-mini`: the vendor's word and the version are one.
            let major = words.find_map(|word| word.strip_prefix('o')?.parse().ok())?;
            return Some(Self { version: (major, 0), words: words.collect() });
        }
        words.find(|word| *word == vendor)?;
        let words: Vec<&str> = words.collect();
        let at = words.iter().position(|word| leading_number(word).is_some())?;
        // A tier may stand before the version (`claude-opus-4-8`); `gpt-oss-120b` has no version.
        if at > 0 && vendor == "gpt" {
            return None;
        }
        let major = leading_number(words[at])?;
        let plain = words[at].bytes().all(|byte| byte.is_ascii_digit());
        let minor = words.get(at + 1).filter(|_| plain).and_then(|word| version_number(word));
        let version = match (major, minor) {
            // Azure's spelling of 3.5.
            (35, _) => (3, 5),
            (major, minor) => (major, minor.unwrap_or(0)),
        };
        Some(Self { version, words })
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

/// A version has one or two digits; a date or a size has more.
fn version_number(word: &str) -> Option<u16> {
    (word.len() <= 2).then(|| word.parse().ok())?
}

/// The number at the beginning of a word such as `4`, `4o`.
fn leading_number(word: &str) -> Option<u16> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    version_number(&word[..digits])
}
