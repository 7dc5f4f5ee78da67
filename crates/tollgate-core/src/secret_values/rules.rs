//! Which values are masked. Masking a short value or an ordinary word would destroy unrelated text;
//! a value under a secret's name is treated as a secret.

/// Shorter values are not masked: they would match inside other words.
pub const MIN_BYTES: usize = 8;

/// How a value is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskJudgement {
    Masked,
    /// Has a secret's name, but is too short or too common to be searched for.
    Unfit,
    /// Most likely no secret: a path, a host, a number, words.
    Ordinary,
}

/// Names of secrets contain one of these.
const NAMES: [&str; 11] = [
    "token",
    "secret",
    "key",
    "pass",
    "auth",
    "credential",
    "cookie",
    "session",
    "dsn",
    "pwd",
    "bearer",
];
/// Values that identify themselves as secrets. Canaries are planted to find leaks.
const TELLING: [&str; 7] = ["secret", "token", "passw", "apikey", "api-key", "api_key", "canary"];
/// Placeholders, and words that occur in every text.
const COMMON: [&str; 14] = [
    "localhost",
    "password",
    "changeme",
    "postgres",
    "anonymous",
    "disabled",
    "required",
    "undefined",
    "placeholder",
    "example",
    "bearer",
    "production",
    "development",
    "username",
];
/// Letters and digits in a row that do not occur in words.
const RANDOM_RUN: usize = 20;

/// Whether a setting of this name is likely a secret.
pub fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|word| name.contains(word))
}

/// How to treat `value` under `name`: of a variable, a header, a flag.
pub fn judge(name: &str, value: &str) -> MaskJudgement {
    let is_named = sounds_secret(name);
    let is_common = COMMON.iter().any(|word| value.eq_ignore_ascii_case(word));
    if value.len() < MIN_BYTES || is_common || is_number(value) && value.len() < 12 {
        return if is_named { MaskJudgement::Unfit } else { MaskJudgement::Ordinary };
    }
    if is_named && !is_path(value) || is_telling(value) || !is_ordinary(value) {
        MaskJudgement::Masked
    } else {
        MaskJudgement::Ordinary
    }
}

/// Whether it looks random: long, without blanks, and not made of words.
pub fn looks_random(value: &str) -> bool {
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    let mixed = |run: &str| {
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        digits >= 2 && digits < run.len()
    };
    runs.clone().any(|run| run.len() >= RANDOM_RUN && mixed(run))
}

fn is_telling(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    !value.contains(char::is_whitespace) && TELLING.iter().any(|word| value.contains(word))
}

fn is_ordinary(value: &str) -> bool {
    is_path(value) || value.contains("://") || is_host(value) || is_wordy(value)
}

fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/"].iter().any(|begin| value.starts_with(begin));
    begins && !looks_random(value)
}

fn is_number(value: &str) -> bool {
    !value.is_empty()
        && value.bytes().all(|byte| byte.is_ascii_digit() || b".,:-+_".contains(&byte))
}

/// `db.internal:5432`, `10.0.0.1`, `mail@example.com`.
fn is_host(value: &str) -> bool {
    let host = value
        .rsplit_once(':')
        .map_or(value, |(host, port)| if port.parse::<u16>().is_ok() { host } else { value });
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_dotted = host.contains('.') && host.split('.').all(is_label);
    (is_dotted || host == "localhost") && !looks_random(host)
}

/// `wJalrXUtnFEMI`: capitals inside a word.
fn is_jumbled(part: &str) -> bool {
    let bytes = part.as_bytes();
    let rises =
        bytes.windows(2).filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    part.len() >= 12 && rises.count() >= 3
}

/// `us-east-1`, `gpt-4o-mini`, `application/json`, `info,tollgate=debug`, `Hello there`: words and
/// short numbers, or a date.
fn is_wordy(value: &str) -> bool {
    let is_word = |part: &str| {
        let letters = part.chars().filter(|c| c.is_alphabetic()).count();
        let digits = part.chars().filter(char::is_ascii_digit).count();
        let is_date = letters == 0 && digits == 8 && part.starts_with("20");
        let is_plain = letters + digits == part.chars().count();
        is_plain && (digits == 0 && !is_jumbled(part) || is_date || digits <= 4 && letters <= 3)
    };
    value.split(|c: char| c.is_whitespace() || c.is_ascii_punctuation()).all(is_word)
}
