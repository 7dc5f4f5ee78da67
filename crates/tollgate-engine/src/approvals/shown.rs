//! The arguments of a call as people see them who have to agree to it. What is left out is said:
//! nobody is to agree to what they were not shown.

use serde_json::Value;
use serde_json::value::RawValue;
use tollgate_core::json;
use tollgate_core::mask::Masker;
use tollgate_core::policy::Permitted;
use tollgate_mcp::large::{aside, is_too_large_here};

/// More than anybody reads.
const MOST: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// JSON; of what is too long, only the beginning.
    pub text: String,
    /// Of all of it, as JSON.
    pub bytes: usize,
}

impl Shown {
    /// Shows the arguments of a call so; large ones are written where nobody waits for it.
    pub(crate) async fn of(
        request: &Permitted<'_>,
        show: impl FnOnce(Option<&Value>) -> Self + Send + 'static,
    ) -> Self {
        match request.params().get("arguments").map(RawValue::get) {
            Some(text) if is_too_large_here(text.len()) => {
                // To copy the text and read it again there is quicker here than to copy the value.
                let text = text.to_owned();
                aside(text.len(), move || show(json::value(&text).ok().as_ref())).await
            }
            _ => show(request.arguments()),
        }
    }

    /// For those who decide: without what is secret by the operator's rules.
    pub(crate) fn masked(arguments: Option<&Value>, masker: &Masker) -> Self {
        let text = written(arguments);
        Self::cut(masker.json(&text).unwrap_or(text), MOST)
    }

    /// For whoever made the call: as much of it as fits.
    pub(crate) fn whole(arguments: Option<&Value>, most: usize) -> Self {
        Self::cut(written(arguments), most)
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

fn written(arguments: Option<&Value>) -> String {
    arguments.map_or_else(|| "{}".to_owned(), json::canonical)
}
