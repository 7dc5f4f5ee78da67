//! Per-hop metadata of outgoing requests, and classification of results.

use serde_json::value::RawValue;
use tollgate_core::json::{self, Object};
use tollgate_core::trace::Trace;

use super::{Answer, AnswerKind, RequestError};
use crate::meta::{self, ClientFacts};
use crate::offload::offload_if_large;
use crate::{Era, Revision};

/// The metadata of this hop.
pub(super) struct HopMeta<'h> {
    pub(super) client: &'h ClientFacts,
    pub(super) progress_token: Option<u64>,
    pub(super) trace: Option<&'h Trace>,
}

/// The outgoing params: the caller's hop keys are replaced by ours.
pub(super) fn params(mut params: Object<'_>, revision: Revision, hop: &HopMeta<'_>) -> String {
    let HopMeta { client, progress_token, trace } = *hop;
    let given = params.remove("_meta");
    let says_nothing = progress_token.is_none() && trace.is_none();
    if given.is_none() && says_nothing && revision.era() == Era::Legacy {
        return params.to_text();
    }
    let given = given.as_ref().map_or("{}", |raw| raw.get());
    let mut meta = Object::parse(given).unwrap_or_default();
    meta::strip_hop_keys(&mut meta);
    if let Some(token) = progress_token {
        meta.set(meta::PROGRESS_TOKEN, json::raw(token.to_string()));
    }
    if let Some(trace) = trace {
        meta::trace(&mut meta, trace);
    }
    if revision.era() == Era::Modern {
        meta::stamp(&mut meta, revision, client);
    }
    let meta = meta.to_raw();
    params.set("_meta", meta);
    params.to_text()
}

/// Classifies a result. Legacy results are always complete.
pub(super) async fn answer(era: Era, result: Box<RawValue>) -> Result<Answer, RequestError> {
    if !result.get().starts_with('{') {
        return Err(RequestError::Unusable("the server's result is not an object".to_owned()));
    }
    match era {
        Era::Legacy => Ok(Answer { kind: AnswerKind::Complete, result }),
        Era::Modern => offload_if_large(result.get().len(), move || classify_answer(result)).await,
    }
}

fn classify_answer(result: Box<RawValue>) -> Result<Answer, RequestError> {
    Ok(Answer { kind: kind(&result)?, result })
}

fn kind(result: &RawValue) -> Result<AnswerKind, RequestError> {
    let object = Object::parse(result.get()).map_err(|error| {
        RequestError::Unusable(format!("the server's result is invalid: {error}"))
    })?;
    let Some(stated) = object.get("resultType") else { return Ok(AnswerKind::Complete) };
    match stated.get() {
        "\"complete\"" => Ok(AnswerKind::Complete),
        "\"input_required\"" => Ok(AnswerKind::InputRequired),
        "\"task\"" => Ok(AnswerKind::Task),
        _ => Err(RequestError::Unusable("the server's result is of an unknown type".to_owned())),
    }
}
