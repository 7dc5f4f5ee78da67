//! The arguments of a call as people see them who have to agree to it. What is left out is said:
//! nobody is to agree to what they were not shown.

use serde_json::Value;
use serde_json::value::RawValue;
use tollgate_core::json;
use tollgate_core::mask::SecretMasker;
use tollgate_core::policy::Permitted;
use tollgate_mcp::offload::{is_too_large_here, offload_if_large};

/// More than anybody reads.
const MAX_PREVIEW_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentsPreview {
    /// JSON; of what is too long, only the beginning.
    pub text: String,
    /// Of all of it, as JSON.
    pub bytes: usize,
}

impl ArgumentsPreview {
    /// Shows the arguments of a call so; large ones are written where nobody waits for it.
    pub(crate) async fn of(
        request: &Permitted<'_>,
        show: impl FnOnce(Option<&Value>) -> Self + Send + 'static,
    ) -> Self {
        match request.params().get("arguments").map(RawValue::get) {
            Some(text) if is_too_large_here(text.len()) => {
                // To copy the text and read it again there is quicker here than to copy the value.
                let text = text.to_owned();
                offload_if_large(text.len(), move || show(json::value(&text).ok().as_ref())).await
            }
            _ => show(request.arguments()),
        }
    }

    /// For those who decide: without what is secret by the operator's rules.
    pub(crate) fn for_approver(arguments: Option<&Value>, masker: &SecretMasker) -> Self {
        let text = to_canonical_json(arguments);
        Self::cut(masker.json(&text).unwrap_or(text), MAX_PREVIEW_BYTES)
    }

    /// For whoever made the call: as much of it as fits.
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
