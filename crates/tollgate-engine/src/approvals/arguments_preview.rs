//! Preview of a call's arguments, for the person who approves it. A cut preview says that it is
//! cut: nobody should approve something they were not shown.

use serde_json::Value;
use serde_json::value::RawValue;
use tollgate_core::json;
use tollgate_core::mask::SecretMasker;
use tollgate_core::policy::Permitted;
use tollgate_mcp::offload::{is_too_large_here, offload_if_large};

/// Longer than anyone reads.
const MAX_PREVIEW_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentsPreview {
    /// JSON; cut if it is too long.
    pub text: String,
    /// Size of the complete JSON.
    pub bytes: usize,
}

impl ArgumentsPreview {
    /// Renders the arguments of a call with `show`; large ones on the threads for large work.
    pub(crate) async fn of(
        request: &Permitted<'_>,
        show: impl FnOnce(Option<&Value>) -> Self + Send + 'static,
    ) -> Self {
        match request.params().get("arguments").map(RawValue::get) {
            Some(text) if is_too_large_here(text.len()) => {
                // Copying the text and parsing it again is cheaper here than cloning the value.
                let text = text.to_owned();
                offload_if_large(text.len(), move || show(json::value(&text).ok().as_ref())).await
            }
            _ => show(request.arguments()),
        }
    }

    /// For the approver: values that the operator's rules call secret are masked.
    pub(crate) fn for_approver(arguments: Option<&Value>, masker: &SecretMasker) -> Self {
        let text = to_canonical_json(arguments);
        Self::cut(masker.json(&text).unwrap_or(text), MAX_PREVIEW_BYTES)
    }

    /// For the caller: not masked, cut to `most` bytes.
    pub(crate) fn for_caller(arguments: Option<&Value>, most: usize) -> Self {
        Self::cut(to_canonical_json(arguments), most)
    }

    fn cut(mut text: String, most: usize) -> Self {
        let bytes = text.len();
        if bytes > most {
            text.truncate(text.floor_char_boundary(most));
        }
        Self { text, bytes }
    }

    pub fn is_cut(&self) -> bool {
        self.text.len() < self.bytes
    }
}

fn to_canonical_json(arguments: Option<&Value>) -> String {
    arguments.map_or_else(|| "{}".to_owned(), json::canonical)
}
