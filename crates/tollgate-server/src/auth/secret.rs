//! Secrets that are made here: a prefix that says whose they are, 256 random bits, and a short
//! checksum by which a typing mistake is told from a wrong key.

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use tollgate_core::secret::Secret;

/// What a secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    Key,
    Admin,
    /// Of a browser that is logged in.
    Login,
}

/// What a text is, as far as that can be seen without looking it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretCheck {
    Sound,
    /// It begins like one of ours, and cannot be one.
    Mistyped,
    /// Not made here.
    Foreign,
}

impl SecretKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Key => "tg_",
            Self::Admin => "tga_",
            Self::Login => "tgl_",
        }
    }
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 62 to the power of 43 is just above 2 to the power of 256.
const BODY: usize = 43;
const CHECKSUM: usize = 5;

/// A secret that nobody has seen yet; the system may have no randomness to make it from.
pub fn make(kind: SecretKind) -> Option<Secret> {
    let random = SystemRandom::new();
    let mut text = kind.prefix().to_owned();
    let mut bytes = [0; 64];
    while text.len() < kind.prefix().len() + BODY {
        random.fill(&mut bytes).ok()?;
        // Bytes above the last whole multiple of 62 would make some digits likelier than others.
        let fair = bytes.iter().filter(|byte| **byte < 248).map(|byte| usize::from(byte % 62));
        let missing = kind.prefix().len() + BODY - text.len();
        text.extend(fair.take(missing).map(|digit| char::from(DIGITS[digit])));
    }
    let checksum = checksum(&text);
    Some(Secret::new(text + &checksum))
}

pub fn check(text: &str) -> SecretCheck {
    let kinds = [SecretKind::Key, SecretKind::Admin];
    let Some(kind) = kinds.into_iter().find(|kind| text.starts_with(kind.prefix())) else {
        return SecretCheck::Foreign;
    };
    let body = kind.prefix().len() + BODY;
    let is_sound = text.len() == body + CHECKSUM
        && text.split_at_checked(body).is_some_and(|(body, sum)| checksum(body) == sum);
    if is_sound { SecretCheck::Sound } else { SecretCheck::Mistyped }
}

fn checksum(text: &str) -> String {
    let sum = digest(&SHA256, text.as_bytes());
    sum.as_ref()
        .iter()
        .take(CHECKSUM)
        .map(|byte| char::from(DIGITS[usize::from(byte % 62)]))
        .collect()
}
