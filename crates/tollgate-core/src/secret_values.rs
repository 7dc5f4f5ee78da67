//! Redaction of configured secret values from everything that leaves the process: results, errors,
//! logs, spans, events, rows, pages.
//!
//! The set is global to the process, because the panic hook and the log writer have no gateway at
//! hand. Values of an old config stay in it, so that requests still running under it stay masked.
//! One scan per text, with an automaton that is rebuilt only when a value is added.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, RwLock};

use arc_swap::ArcSwap;

mod encodings;
mod matcher;
mod rules;
mod stream;

pub use matcher::{MASK, SecretMatcher};
pub use rules::{MIN_BYTES, MaskJudgement, judge, looks_random, sounds_secret};
pub use stream::StreamMask;

/// Maximum values of the current and previous configs. Beyond that the oldest are dropped.
const MAX_CONFIGURED: usize = 1_024;
/// Maximum values obtained at run time, such as access tokens: each replaces an older one.
const MAX_OBTAINED: usize = 128;

static MATCHER: LazyLock<ArcSwap<SecretMatcher>> = LazyLock::new(ArcSwap::default);
static VALUES: RwLock<KnownSecretValues> =
    RwLock::new(KnownSecretValues { configured: VecDeque::new(), obtained: VecDeque::new() });

/// Newest last.
struct KnownSecretValues {
    configured: VecDeque<Box<str>>,
    obtained: VecDeque<Box<str>>,
}

/// Masks these values of a config from now on. Values that are too short ([`MIN_BYTES`]) are
/// skipped; [`judge`] decides whether a value is a secret at all.
pub fn configure<'v>(values: impl IntoIterator<Item = &'v str>) {
    let values: Vec<&str> = values.into_iter().collect();
    let most = values.len().max(MAX_CONFIGURED);
    add(&values, |all| (&mut all.configured, most));
}

/// Masks a value that was obtained at run time, such as an access token.
pub fn obtain(value: &str) {
    let is_known = |values: &KnownSecretValues| {
        values.configured.iter().chain(&values.obtained).any(|known| **known == *value)
    };
    if is_known(&VALUES.read().unwrap_or_else(std::sync::PoisonError::into_inner)) {
        return;
    }
    add(&[value], |all| (&mut all.obtained, MAX_OBTAINED));
}

fn add(
    new: &[&str],
    select: impl FnOnce(&mut KnownSecretValues) -> (&mut VecDeque<Box<str>>, usize),
) {
    let mut values = VALUES.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (list, most) = select(&mut values);
    let before = list.len();
    let mut is_changed = false;
    for value in new.iter().filter(|value| value.len() >= MIN_BYTES) {
        match list.iter().position(|known| **known == **value) {
            // Used again: move to the end, to be dropped last.
            Some(at) => drop(list.remove(at)),
            None => is_changed = true,
        }
        list.push_back((*value).into());
    }
    let surplus = list.len().saturating_sub(most);
    list.drain(..surplus);
    if is_changed || list.len() != before {
        let all = values.configured.iter().chain(&values.obtained).map(|value| &**value);
        MATCHER.store(Arc::new(SecretMatcher::new(all)));
    }
}

/// The current matcher.
pub fn current() -> Arc<SecretMatcher> {
    MATCHER.load_full()
}

/// The text with secret values masked.
pub fn mask(text: &str) -> Cow<'_, str> {
    MATCHER.load().mask(text)
}

/// Like [`mask`], for an owned text, which is not copied if there is nothing to mask.
pub fn mask_owned(text: String) -> String {
    match MATCHER.load().mask(&text) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(_) => text,
    }
}

/// Like [`mask`], for bytes that are mostly text.
pub fn mask_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    MATCHER.load().mask_bytes(bytes)
}

#[cfg(test)]
mod tests;
