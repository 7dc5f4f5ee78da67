//! Secrets on their way in and out, as the operator wishes: passed on, masked, or refused.

use std::sync::Arc;

use tollgate_core::call::Request;
use tollgate_core::json;
use tollgate_core::mask::Masker;
use tollgate_mcp::large::{LARGE, aside};

use crate::charter::Charter;
use crate::settings::{MaskedArguments, MaskedResults};

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

    pub(super) async fn pass<'a>(self, mut request: Request<'a>) -> Result<Request<'a>, Secretive> {
        let Some(arguments) = request.params.get("arguments") else { return Ok(request) };
        let text = arguments.get();
        let masked = match text.len() <= LARGE {
            true => self.masker.json(text),
            false => {
                let text = text.to_owned();
                aside(text.len(), move || self.masker.json(&text)).await
            }
        };
        match (masked, self.wanted) {
            (None, _) | (Some(_), MaskedArguments::Passed) => Ok(request),
            (Some(_), MaskedArguments::Refused) => Err(Secretive),
            (Some(masked), MaskedArguments::Masked) => {
                request.params.set("arguments", json::raw(masked));
                Ok(request)
            }
        }
    }
}

/// Whoever masks results; `None` if they are passed on as they are.
pub(super) fn of_results(charter: &Charter) -> Option<Arc<Masker>> {
    (charter.secrets.results == MaskedResults::Masked).then(|| Arc::clone(&charter.masker))
}
