//! Secrets on their way in and out, as the operator wishes: passed on, masked, or refused.

use std::sync::Arc;

use serde_json::value::RawValue;
use tollgate_core::call::Request;
use tollgate_core::json;
use tollgate_core::mask::Masker;
use tollgate_mcp::large::{aside, is_too_large_here};

use crate::caller::Retry;
use crate::charter::Charter;
use crate::settings::{MaskedArguments, MaskedResults};

/// The params in which a caller says something: of tools and prompts, of completions, of tasks.
const SCREENED: [&str; 4] = ["arguments", "argument", "context", "inputResponses"];

/// Arguments with a secret in them are not passed on.
pub(super) struct Secretive;

/// What is to be done with the arguments of a call, if anything.
pub(super) struct Screen {
    masker: Arc<Masker>,
    wanted: MaskedArguments,
}

impl Screen {
    pub(super) fn of(charter: &Charter) -> Option<Self> {
        let wanted = charter.secrets.arguments;
        let masker = || Arc::clone(&charter.masker);
        (wanted != MaskedArguments::Passed).then(|| Self { masker: masker(), wanted })
    }

    pub(super) async fn pass<'a>(
        &self,
        mut request: Request<'a>,
    ) -> Result<Request<'a>, Secretive> {
        for key in SCREENED {
            let Some(text) = request.params.get(key).map(RawValue::get) else { continue };
            if let Some(masked) = self.masked(text).await? {
                request.params.set(key, masked);
            }
        }
        Ok(request)
    }

    /// What a caller brings back to the questions of a server.
    pub(super) async fn pass_answers(&self, retry: &mut Retry) -> Result<(), Secretive> {
        let Some(text) = retry.responses.as_deref().map(RawValue::get) else { return Ok(()) };
        if let Some(masked) = self.masked(text).await? {
            retry.responses = Some(masked);
        }
        Ok(())
    }

    /// What is to go on instead; `None`: the text as it is.
    async fn masked(&self, text: &str) -> Result<Option<Box<RawValue>>, Secretive> {
        let masked = if is_too_large_here(text.len()) {
            let (text, masker) = (text.to_owned(), Arc::clone(&self.masker));
            aside(text.len(), move || masker.json(&text)).await
        } else {
            self.masker.json(text)
        };
        match (masked, self.wanted) {
            (None, _) | (Some(_), MaskedArguments::Passed) => Ok(None),
            (Some(_), MaskedArguments::Refused) => Err(Secretive),
            (Some(masked), MaskedArguments::Masked) => Ok(Some(json::raw(masked))),
        }
    }
}

/// Whoever masks results; `None` if they are passed on as they are.
pub(super) fn of_results(charter: &Charter) -> Option<Arc<Masker>> {
    (charter.secrets.results == MaskedResults::Masked).then(|| Arc::clone(&charter.masker))
}
