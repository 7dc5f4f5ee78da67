//! Names of fields that hold secrets, compared word by word: `apiKey`, `X-API-Key` and `api_key`
//! are equal, while `next_page_token` and `token_count` do not match.

/// Built-in names, and those added by the operator.
#[derive(Debug, Clone)]
pub(super) struct SecretNames {
    /// Lower case, letters and digits only.
    own: Vec<String>,
    /// As configured, in lower case.
    own_parts: Vec<String>,
}

/// Every secret name contains at least one of these.
const PARTS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "_pass",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "api key",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "signingkey",
    "signing_key",
    "signing-key",
    "encryptionkey",
    "encryption_key",
    "encryption-key",
    "masterkey",
    "master_key",
    "master-key",
    "accountkey",
    "account_key",
    "account-key",
    "authorization",
    "cookie",
    "credential",
];

/// Names by their last word.
const LAST: &[(&str, SecretFamily)] = &[
    ("password", "password"),
    ("passwords", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("passcode", "password"),
    ("pwd", "password"),
    ("secret", "secret"),
    ("secrets", "secret"),
    ("token", "token"),
    ("apikey", "key"),
    ("accesskey", "key"),
    ("privatekey", "key"),
    ("authorization", "authorization"),
    ("cookie", "cookie"),
    ("cookies", "cookie"),
    ("credential", "credential"),
    ("credentials", "credential"),
];

/// Keys of these kinds are secret.
const KEYS: &[&str] =
    &["api", "access", "private", "secret", "signing", "encryption", "master", "account"];

/// Tokens of these kinds are pagination cursors or model tokens.
const HARMLESS_TOKENS: &[&str] = &[
    "next",
    "page",
    "prev",
    "previous",
    "continuation",
    "cursor",
    "sync",
    "progress",
    "cancel",
    "cancellation",
    "resume",
    "start",
    "end",
    "stop",
    "bos",
    "eos",
    "pad",
    "sep",
    "cls",
    "mask",
    "unk",
    "special",
    "first",
    "last",
    "per",
    "max",
    "min",
    "num",
    "total",
    "prompt",
    "completion",
    "input",
    "output",
    "each",
    "every",
    "a",
    "the",
    "single",
];

/// The kind of secret that a name announces.
pub(super) type SecretFamily = &'static str;

/// Longer names are ignored.
const MAX_NAME_BYTES: usize = 128;

impl SecretNames {
    pub(super) fn new(redact: &[String]) -> Self {
        let own_parts: Vec<String> = redact.iter().map(|name| name.to_lowercase()).collect();
        Self { own: redact.iter().map(|name| fold_name(name)).collect(), own_parts }
    }

    /// The literals to search for.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        let own = self.own_parts.iter().map(String::as_str).filter(|part| !part.is_empty());
        PARTS.iter().copied().chain(own)
    }

    /// The kind of secret that the name announces.
    pub(super) fn family(&self, name: &str) -> Option<SecretFamily> {
        if name.len() > MAX_NAME_BYTES {
            return None;
        }
        if !self.own.is_empty() && self.own.contains(&fold_name(name)) {
            return Some("redacted");
        }
        let mut words = NameWords(name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()));
        let last = words.next()?;
        let before = words.next();
        let is = |word: Option<&str>, known: &[&str]| {
            word.is_some_and(|word| known.iter().any(|it| word.eq_ignore_ascii_case(it)))
        };
        match (last, before) {
            (last, before) if is(Some(last), &["key"]) => is(before, KEYS).then_some("key"),
            (last, before) if is(Some(last), &["value"]) => {
                is(before, &["secret"]).then_some("secret")
            }
            (last, Some(_)) if is(Some(last), &["pass"]) => Some("password"),
            (last, before) if is(Some(last), &["token"]) && is(before, HARMLESS_TOKENS) => None,
            (last, _) => {
                let known = LAST.iter().find(|(word, _)| last.eq_ignore_ascii_case(word));
                known.map(|(_, family)| *family)
            }
        }
    }
}

fn fold_name(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name, last first.
struct NameWords<'n>(&'n str);

impl<'n> Iterator for NameWords<'n> {
    type Item = &'n str;

    fn next(&mut self) -> Option<&'n str> {
        let rest = self.0.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let bytes = rest.as_bytes();
        let mut begin = bytes.len();
        while begin > 0 {
            let here = bytes[begin - 1];
            let after = bytes.get(begin).copied();
            let humps = here.is_ascii_lowercase() && after.is_some_and(|c| c.is_ascii_uppercase());
            // `APIKey`: the last capital of a run begins the next word.
            let ends_run = here.is_ascii_uppercase()
                && after.is_some_and(|c| c.is_ascii_uppercase())
                && bytes.get(begin + 1).is_some_and(u8::is_ascii_lowercase);
            if !here.is_ascii_alphanumeric() || humps || ends_run {
                break;
            }
            begin -= 1;
        }
        let word = rest.get(begin..).filter(|word| !word.is_empty())?;
        self.0 = &rest[..begin];
        Some(word)
    }
}
