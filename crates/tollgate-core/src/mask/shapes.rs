//! Secrets recognized by their format: a known prefix, then a number of characters of one class.
//!
//! A format is tried only where its prefix starts a word, so that each character is examined only a
//! few times.

use std::ops::{Range, RangeInclusive};

use super::SecretMatch;

pub(super) struct SecretShape {
    pub(super) kind: &'static str,
    /// Its prefix, or a literal it contains.
    pub(super) literal: &'static str,
    body: SecretBody,
}

impl std::fmt::Debug for SecretShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.kind, self.literal)
    }
}

/// What follows the prefix.
enum SecretBody {
    /// A run of this length, not followed by another character of the class.
    Run { of: fn(u8) -> bool, least: usize, most: usize },
    /// A run that must look random: the prefix is also that of many harmless words.
    Random { of: fn(u8) -> bool, least: usize },
    /// Three parts separated by dots.
    Jwt,
    /// Up to its end marker, or the end of the text.
    Pem,
    /// A token after the word `bearer`.
    Bearer,
    /// The password in `scheme://user:password@host`.
    Url,
}

const fn run(
    kind: &'static str,
    literal: &'static str,
    of: fn(u8) -> bool,
    length: RangeInclusive<usize>,
) -> SecretShape {
    let body = SecretBody::Run { of, least: *length.start(), most: *length.end() };
    SecretShape { kind, literal, body }
}

const fn random(kind: &'static str, literal: &'static str, least: usize) -> SecretShape {
    SecretShape { kind, literal, body: SecretBody::Random { of: word_or_dash, least } }
}

const LONG: usize = 512;

pub(super) const SHAPES: &[SecretShape] = &[
    run("aws", "AKIA", upper, 16..=16),
    run("aws", "ASIA", upper, 16..=16),
    run("github", "ghp_", word, 36..=255),
    run("github", "gho_", word, 36..=255),
    run("github", "ghu_", word, 36..=255),
    run("github", "ghs_", word, 36..=255),
    run("github", "ghr_", word, 36..=255),
    run("github", "github_pat_", word, 22..=255),
    run("gitlab", "glpat-", word_or_dash, 20..=300),
    random("slack", "xoxb-", 10),
    random("slack", "xoxp-", 10),
    random("slack", "xoxa-", 10),
    random("slack", "xoxr-", 10),
    random("slack", "xoxs-", 10),
    random("slack", "xoxe-", 10),
    random("slack", "xapp-", 10),
    run("slack", "hooks.slack.com/services/", path, 20..=LONG),
    run("google", "AIza", word_or_dash, 35..=35),
    run("google", "ya29.", word_or_dash, 20..=2_048),
    run("google", "GOCSPX-", word_or_dash, 28..=28),
    run("stripe", "sk_live_", alphanumeric, 16..=255),
    run("stripe", "rk_live_", alphanumeric, 16..=255),
    run("stripe", "sk_test_", alphanumeric, 16..=255),
    run("stripe", "rk_test_", alphanumeric, 16..=255),
    run("stripe", "whsec_", base64, 24..=255),
    random("model", "sk-", 20),
    run("npm", "npm_", alphanumeric, 36..=36),
    run("pypi", "pypi-AgE", word_or_dash, 50..=LONG),
    run("sendgrid", "SG.", word_dash_or_dot, 60..=70),
    run("huggingface", "hf_", alphanumeric, 30..=64),
    run("shopify", "shpat_", alphanumeric, 32..=32),
    run("shopify", "shpss_", alphanumeric, 32..=32),
    run("digitalocean", "dop_v1_", alphanumeric, 64..=64),
    run("vault", "hvs.", word_or_dash, 24..=300),
    run("age", "AGE-SECRET-KEY-1", upper, 58..=58),
    SecretShape { kind: "jwt", literal: "eyJ", body: SecretBody::Jwt },
    SecretShape { kind: "private_key", literal: "-----BEGIN ", body: SecretBody::Pem },
    SecretShape { kind: "bearer", literal: "bearer ", body: SecretBody::Bearer },
    SecretShape { kind: "url_password", literal: "://", body: SecretBody::Url },
];

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn word_or_dash(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn word_dash_or_dot(byte: u8) -> bool {
    word_or_dash(byte) || byte == b'.'
}

fn path(byte: u8) -> bool {
    word(byte) || byte == b'/'
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn bearer(byte: u8) -> bool {
    word_dash_or_dot(byte) || b"~+/=".contains(&byte)
}

impl SecretShape {
    /// The secret whose prefix is at `hit`.
    pub(super) fn find(&self, text: &str, hit: Range<usize>) -> Option<SecretMatch<'static>> {
        let bytes = text.as_bytes();
        let fits = match self.body {
            SecretBody::Bearer => true,
            // The automaton ignores case.
            _ => &bytes[hit.clone()] == self.literal.as_bytes(),
        };
        let before = hit.start.checked_sub(1).map(|at| bytes[at]);
        let is_inside = before.is_some_and(|byte| match self.body {
            SecretBody::Url | SecretBody::Pem => false,
            _ => word(byte) || byte == b'-' || byte == b'+',
        });
        if !fits || is_inside {
            return None;
        }
        let range = self.range(text, hit)?;
        Some(SecretMatch { range, kind: self.kind })
    }

    fn range(&self, text: &str, hit: Range<usize>) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        match self.body {
            SecretBody::Run { of, least, most } => {
                let length = length(bytes, hit.end, of, most + 1);
                (least..=most).contains(&length).then(|| hit.start..hit.end + length)
            }
            SecretBody::Random { of, least } => {
                let length = length(bytes, hit.end, of, LONG);
                let body = &bytes[hit.end..hit.end + length];
                (length >= least && is_random(body)).then(|| hit.start..hit.end + length)
            }
            SecretBody::Jwt => {
                let mut end = hit.start;
                for part in 0..3 {
                    let length = length(bytes, end, word_or_dash, usize::MAX);
                    if length < 10 {
                        return None;
                    }
                    end += length;
                    if part < 2 {
                        (bytes.get(end) == Some(&b'.')).then_some(())?;
                        end += 1;
                    }
                }
                Some(hit.start..end)
            }
            SecretBody::Pem => {
                let head = &text[hit.end..text.floor_char_boundary(hit.end + 64)];
                let head = head.split("-----").next()?;
                head.contains("PRIVATE KEY").then_some(())?;
                let end = text[hit.end..].find("-----END ").map(|at| hit.end + at + 9);
                let end = end.and_then(|at| Some(at + text[at..].find("-----")? + 5));
                Some(hit.start..end.unwrap_or(text.len()))
            }
            SecretBody::Bearer => {
                let length = length(bytes, hit.end, bearer, usize::MAX);
                let token = &bytes[hit.end..hit.end + length];
                let is_token = length >= 16 && token.iter().any(u8::is_ascii_digit);
                is_token.then(|| hit.end..hit.end + length)
            }
            SecretBody::Url => url_password(bytes, hit.end),
        }
    }
}

fn length(bytes: &[u8], from: usize, of: fn(u8) -> bool, most: usize) -> usize {
    bytes[from..].iter().take(most).take_while(|byte| of(**byte)).count()
}

/// Upper case, lower case and digits, or a long unbroken part with digits: human-made names do not
/// look like this.
fn is_random(body: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| body.iter().any(is);
    let mixed =
        has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    let is_long = |part: &[u8]| part.len() >= 16 && part.iter().any(u8::is_ascii_digit);
    mixed || body.split(|byte| b"-_".contains(byte)).any(is_long)
}

/// Up to the `@` that ends `user:password`, if it comes before the path.
fn url_password(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let in_authority = |byte: u8| !byte.is_ascii_whitespace() && !b"/?#\"'<>\\`".contains(&byte);
    let user = &bytes[from..from + length(bytes, from, in_authority, 1_024)];
    let at = user.iter().rposition(|byte| *byte == b'@')?;
    let colon = user[..at].iter().position(|byte| *byte == b':')?;
    let password = &user[colon + 1..at];
    let is_placeholder = matches!(password.first(), None | Some(b'$' | b'{' | b'<' | b'[' | b'*'));
    (!is_placeholder).then(|| from + colon + 1..from + at)
}
