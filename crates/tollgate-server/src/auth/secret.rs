//! Generated secrets: a prefix for their kind, 256 random bits, and a short checksum that tells a
//! mistyped secret from a wrong one.

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use tollgate_core::secret::Secret;

/// Kind of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    Key,
    Admin,
    /// Login of a browser.
    Login,
    /// For a browser that opens live sessions.
    Client,
}

/// Result of the offline check of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretCheck {
    Sound,
    /// It has our prefix but a wrong checksum or length.
    Mistyped,
    /// No prefix of ours.
    Foreign,
}

impl SecretKind {
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Key => "tg_",
            Self::Admin => "tga_",
            Self::Login => "tgl_",
            Self::Client => "ek_tg_",
        }
    }
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 62^43 is just above 2^256.
const BODY: usize = 43;
const CHECKSUM: usize = 5;

/// A new secret. `None` if the system has no randomness.
pub fn make(kind: SecretKind) -> Option<Secret> {
    let random = SystemRandom::new();
    let mut text = kind.prefix().to_owned();
    let mut bytes = [0; 64];
    while text.len() < kind.prefix().len() + BODY {
        random.fill(&mut bytes).ok()?;
        // Rejection sampling: bytes above the last multiple of 62 would bias some digits.
        let fair = bytes.iter().filter(|byte| **byte < 248).map(|byte| usize::from(byte % 62));
        let missing = kind.prefix().len() + BODY - text.len();
        text.extend(fair.take(missing).map(|digit| char::from(DIGITS[digit])));
    }
    let checksum = checksum(&text);
    Some(Secret::new(text + &checksum))
}

pub fn check(text: &str) -> SecretCheck {
    let kinds = [SecretKind::Key, SecretKind::Admin, SecretKind::Client];
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
