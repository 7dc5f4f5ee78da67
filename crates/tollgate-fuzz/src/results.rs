//! Masking of secrets and removal of hidden text (prompt injection) in results before anybody reads
//! them.

use serde_json::Value;
use tollgate_core::mask::SecretMasker;
use tollgate_core::tool::hidden_text;

/// What is masked says so, and stays JSON.
pub(crate) fn masking(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let masker = SecretMasker::new(&["pin_code".to_owned()], Vec::new());
    if let Some(masked) = masker.text(text) {
        assert!(masked.contains("[masked:"), "{masked:?}");
        let again = masker.text(&masked);
        assert!(again.is_none_or(|again| again.contains("[masked:")), "of {text:?}");
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let Some(masked) = masker.json(text) else { return };
    let masked: Value = serde_json::from_str(&masked).expect("masked JSON is JSON");
    assert_eq!(masked.is_object(), value.is_object());
}

/// What is taken out is told, and nothing is put in.
pub(crate) fn hidden_text(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let (cleaned, kinds) = hidden_text::clean(text);
    assert_eq!(kinds.is_empty(), cleaned == text);
    assert!(cleaned.len() <= text.len());
    let mut letters = text.chars();
    assert!(cleaned.chars().all(|c| letters.any(|it| it == c)), "{cleaned:?} of {text:?}");
    assert!(!cleaned.contains(['\u{1b}', '\u{202e}', '\u{2066}', '\u{feff}']), "{cleaned:?}");
    let visible = hidden_text::visible(text);
    assert_eq!(hidden_text::visible(&visible), visible);
    assert!(hidden_text::ascii(text).is_ascii());
}
