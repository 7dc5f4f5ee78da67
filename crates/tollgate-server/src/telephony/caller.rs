//! Whose calls those of a telephone line are: of its key, or of the line itself.

use http::StatusCode;
use http::request::Parts;

use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::auth::{AuthenticatedCaller, Right};
use crate::phone_lines::{LineSettings, PhoneLine};
use crate::request_context::RequestContext;

/// The context of a call of this line. It ends when the line is changed or removed.
pub(super) fn context<L: LineSettings>(
    front: &AppState,
    line: &PhoneLine<L>,
    sent: &Parts,
    call: &str,
) -> Result<RequestContext, ApiError> {
    let access = line.settings.access();
    let name = line.settings.name();
    let caller = match &access.key {
        Some(key) => {
            let holder = front.keys.key_holder(key).ok_or_else(|| {
                let detail =
                    format!("the key `{key}` of the line `{name}` does not exist or was revoked");
                ApiError::with_detail(StatusCode::FORBIDDEN, "no_line_key", detail)
            })??;
            holder.while_in_force(line.term())
        }
        None => {
            let name = format!("{}:{name}", L::VENDOR);
            AuthenticatedCaller::of_line(&name, access.rate_limit, line.term())
        }
    };
    let identity = caller.identify(access.agent.clone())?;
    let context = RequestContext::of_call(identity, sent, call);
    context.rights.need(Right::Execute)?;
    Ok(context)
}
