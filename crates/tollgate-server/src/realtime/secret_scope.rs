//! Scope of a client secret: what a browser that presents one may not decide for itself. What is not
//! allowed is refused, never ignored.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use tollgate_core::text::truncate_chars;

use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::auth::AuthenticatedCaller;
use crate::auth::client_secret::{ClientSecret, ClientSecretUse};
use crate::request_context::RequestContext;

/// Headers whose values the caller who requested the secret has decided.
const FIXED_HEADERS: [&str; 2] = ["x-tollgate-conversation", "x-tollgate-queue-depth"];
const VARIABLE_PREFIX: &str = "x-tollgate-var-";

/// The client secret that the request was authenticated with.
pub(super) fn presented_secret(sent: &Parts) -> Option<Arc<ClientSecret>> {
    sent.extensions.get::<AuthenticatedCaller>()?.client_secret().cloned()
}

/// Takes a use of the secret, if there is one.
pub(super) async fn begin_use(
    secret: Option<&Arc<ClientSecret>>,
) -> Result<Option<ClientSecretUse>, ApiError> {
    match secret {
        Some(secret) => Ok(Some(secret.begin_use().await?)),
        None => Ok(None),
    }
}

/// The context of the client within the secret's limits.
pub(super) fn limit(
    secret: &ClientSecret,
    sent: &Parts,
    who: RequestContext,
) -> Result<RequestContext, ApiError> {
    let mut names = sent.headers.keys().map(http::HeaderName::as_str);
    let is_fixed = |name: &&str| FIXED_HEADERS.contains(name) || name.starts_with(VARIABLE_PREFIX);
    if let Some(name) = names.find(is_fixed) {
        return Err(decided_by_secret(&format!("`{name}`")));
    }
    let tier = who.tier.or(secret.grant.tier);
    Ok(RequestContext { tier, ..who.with_narrow(secret.grant.narrow.clone()) })
}

/// A client may repeat the model of its secret, or the name of its agent.
pub(super) fn check_model(secret: &ClientSecret, named: Option<&str>) -> Result<(), ApiError> {
    let grant = &secret.grant;
    match named.filter(|name| *name != grant.model && *name != grant.agent.as_str()) {
        None => Ok(()),
        Some(other) => {
            let other = truncate_chars(other, MAX_ECHOED_CHARS);
            let what = format!("the model, which is `{}`, not `{other}`", grant.model);
            Err(decided_by_secret(&what))
        }
    }
}

fn decided_by_secret(what: &str) -> ApiError {
    let detail = format!("the client secret decides {what}; remove it from the request");
    ApiError::with_detail(StatusCode::FORBIDDEN, "decided_by_client_secret", detail)
}
