//! Reads the body of a request: only JSON, only whole, only so large, only so slow.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyExt;

mod held;
pub(crate) mod lines;

pub(crate) use held::holding;

use crate::limits::Limits;
use crate::problem::Problem;

/// How much of a body that is refused is still read, so that the refusal is heard.
const DRAINED_BYTES: usize = 64 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(2);

pub(crate) async fn json(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, Problem> {
    check_type(headers, &JSON)?;
    whole(headers, body, limits).await
}

pub(crate) async fn yaml(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, Problem> {
    check_type(headers, &YAML)?;
    whole(headers, body, limits).await
}

/// What a body must be, and what is said when it is something else.
struct Media {
    names: &'static [&'static str],
    code: &'static str,
    detail: &'static str,
}

const JSON: Media = Media {
    names: &["application/json"],
    code: "not_json",
    detail: "send `content-type: application/json`",
};
/// None of them is sent by a form of a web page.
const YAML: Media = Media {
    names: &["application/yaml", "application/x-yaml", "text/yaml"],
    code: "not_yaml",
    detail: "send `content-type: application/yaml`",
};

async fn whole(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Bytes, Problem> {
    let declared = body.size_hint().lower();
    if declared > limits.body_bytes as u64 {
        // Whoever asks before sending has not begun.
        if !headers.contains_key(header::EXPECT) {
            drain(body).await;
        }
        return Err(too_large(limits));
    }
    let whole = tokio::time::timeout(limits.body_timeout, collect(body, limits)).await;
    whole.unwrap_or_else(|_| {
        let detail = "the body did not arrive in time";
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail))
    })
}

/// A body that came in one piece is not copied.
async fn collect(mut body: Body, limits: &Limits) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_body", "the body broke off"));
        };
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limits.body_bytes {
            drop((first, rest, data));
            drain(body).await;
            return Err(too_large(limits));
        }
        if first.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&rest);
    Ok(whole.freeze())
}

/// Whoever is still sending does not hear an answer: lets them finish, within reason.
async fn drain(mut body: Body) {
    let mut left = DRAINED_BYTES;
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIME, read).await;
}

fn too_large(limits: &Limits) -> Problem {
    let detail = format!("the body is larger than {} bytes", limits.body_bytes);
    Problem::told(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}

fn check_type(headers: &HeaderMap, wanted: &Media) -> Result<(), Problem> {
    let unsupported =
        |code, detail| Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, code, detail));
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    match (types.next().and_then(|value| value.to_str().ok()), types.next()) {
        (Some(text), None) if is_media(text, wanted.names) => {}
        _ => return unsupported(wanted.code, wanted.detail),
    }
    let encoded = headers.get(header::CONTENT_ENCODING);
    if encoded.is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return unsupported("encoded_body", "send the body without a `content-encoding`");
    }
    Ok(())
}

/// One of the names, in UTF-8 if it says anything of that.
fn is_media(text: &str, names: &[&str]) -> bool {
    let mut parts = text.split(';').map(str::trim);
    let is_type =
        parts.next().is_some_and(|media| names.iter().any(|name| media.eq_ignore_ascii_case(name)));
    is_type
        && parts.filter_map(|part| part.split_once('=')).all(|(name, value)| {
            !name.trim().eq_ignore_ascii_case("charset")
                || ["utf-8", "utf8", "\"utf-8\""].contains(&&*value.trim().to_ascii_lowercase())
        })
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::check_type;

    fn check(content_type: Option<&str>, encoding: Option<&str>) -> Result<(), &'static str> {
        let mut headers = HeaderMap::new();
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        content_type.map(|text| headers.insert(header::CONTENT_TYPE, value(text)));
        encoding.map(|text| headers.insert(header::CONTENT_ENCODING, value(text)));
        check_type(&headers, &super::JSON).map_err(|problem| problem.code)
    }

    #[test]
    fn b_hh_13_only_json_in_utf_8_is_read() {
        for good in ["application/json", "Application/JSON; charset=UTF-8", "application/json;a=b"]
        {
            assert_eq!(check(Some(good), None), Ok(()), "{good}");
        }
        for bad in ["text/plain", "application/json; charset=utf-7", "multipart/form-data", ""] {
            assert_eq!(check(Some(bad), None), Err("not_json"), "{bad}");
        }
        assert_eq!(check(None, None), Err("not_json"));
    }

    #[test]
    fn b_hh_14_encoded_bodies_are_refused_unread() {
        for encoding in ["gzip", "br", "zstd", "deflate, gzip", "x"] {
            assert_eq!(check(Some("application/json"), Some(encoding)), Err("encoded_body"));
        }
        assert_eq!(check(Some("application/json"), Some("identity")), Ok(()));
    }
}
