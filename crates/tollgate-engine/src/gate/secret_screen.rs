//! Secrets in the arguments of calls: passed on, masked or refused, as the config says.

use std::sync::Arc;

use serde_json::value::RawValue;
use tollgate_core::call::GateRequest;
use tollgate_core::call_policy::{CallPolicy, SecretArgumentPolicy};
use tollgate_core::json;
use tollgate_core::mask::SecretMasker;
use tollgate_mcp::offload::{is_too_large_here, offload_if_large};

use crate::caller::RoundAnswers;

/// The params in which a caller says something: of tools and prompts, of completions, of tasks.
const SCREENED_PARAMS: [&str; 4] = ["arguments", "argument", "context", "inputResponses"];

/// Arguments with a secret in them are not passed on.
pub(super) struct ContainsSecrets;

/// What is to be done with the arguments of a call, if anything.
pub(super) struct SecretScreen {
    masker: Arc<SecretMasker>,
    policy: SecretArgumentPolicy,
}

impl SecretScreen {
    pub(super) fn of(policy: &CallPolicy) -> Option<Self> {
        match policy.secrets.arguments {
            SecretArgumentPolicy::Passed => None,
            wanted => Some(Self { masker: Arc::clone(&policy.masker), policy: wanted }),
        }
    }

    pub(super) async fn pass<'a>(
        &self,
        mut request: GateRequest<'a>,
    ) -> Result<GateRequest<'a>, ContainsSecrets> {
        for key in SCREENED_PARAMS {
            let Some(text) = request.params.get(key).map(RawValue::get) else { continue };
            if let Some(masked) = self.mask_text(text).await? {
                request.params.set(key, masked);
            }
        }
        Ok(request)
    }

    /// What a caller brings back to the questions of a server.
    pub(super) async fn pass_answers(
        &self,
        retry: &mut RoundAnswers,
    ) -> Result<(), ContainsSecrets> {
        let Some(text) = retry.responses.as_deref().map(RawValue::get) else { return Ok(()) };
        if let Some(masked) = self.mask_text(text).await? {
            retry.responses = Some(masked);
        }
        Ok(())
    }

    /// What is to go on instead; `None`: the text as it is.
    async fn mask_text(&self, text: &str) -> Result<Option<Box<RawValue>>, ContainsSecrets> {
        let masked = if is_too_large_here(text.len()) {
            let text = text.to_owned();
            let masker = Arc::clone(&self.masker);
            offload_if_large(text.len(), move || masker.json(&text)).await
        } else {
            self.masker.json(text)
        };
        match (masked, self.policy) {
            (None, _) | (Some(_), SecretArgumentPolicy::Passed) => Ok(None),
            (Some(_), SecretArgumentPolicy::Refused) => Err(ContainsSecrets),
            (Some(masked), SecretArgumentPolicy::Masked) => Ok(Some(json::raw(masked))),
        }
    }
}
