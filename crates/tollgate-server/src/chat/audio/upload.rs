//! The form of an upload (`multipart/form-data`), read into its parts and written anew.
//!
//! Writing it anew makes sure that the provider sees exactly the fields that the gateway saw: a
//! second `model`, or a part that two parsers read differently, does not pass.

use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use multer::{Constraints, Multipart, SizeLimit};
use tollgate_llm::error::LlmError;

use crate::api_error::ApiError;
use crate::chat::error::ChatApiError;

/// More parts than any form of these endpoints has.
const MAX_PARTS: usize = 64;
/// Limit on a field that is not a file.
const MAX_FIELD_BYTES: usize = 256 << 10;

const NOT_A_FORM: ApiError = ApiError::new(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "not_a_form",
    "send `content-type: multipart/form-data` with a boundary",
);

pub(super) struct UploadForm {
    parts: Vec<UploadPart>,
}

struct UploadPart {
    name: String,
    file_name: Option<String>,
    content_type: Option<String>,
    content: Bytes,
}

/// A form as it is sent to the provider.
pub(super) struct WrittenForm {
    pub(super) content_type: HeaderValue,
    pub(super) body: Bytes,
}

/// The boundary that the headers declare.
pub(super) fn boundary(headers: &HeaderMap) -> Result<String, ApiError> {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let only = match (types.next(), types.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    };
    only.and_then(|value| multer::parse_boundary(value).ok()).ok_or(NOT_A_FORM)
}

impl UploadForm {
    pub(super) async fn read(body: Bytes, boundary: String) -> Result<Self, ChatApiError> {
        let whole = stream::iter([Ok::<_, io::Error>(body)]);
        let sizes = SizeLimit::new();
        let constraints = Constraints::new().size_limit(sizes);
        let mut form = Multipart::with_constraints(whole, boundary, constraints);
        let malformed = |error: multer::Error| {
            let detail = format!("the form is malformed: {error}");
            ChatApiError::from(ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_form", detail))
        };
        let mut parts: Vec<UploadPart> = Vec::new();
        while let Some(field) = form.next_field().await.map_err(malformed)? {
            let name = field.name().unwrap_or_default().to_owned();
            let file_name = field.file_name().map(str::to_owned);
            let content_type = field.content_type().map(ToString::to_string);
            let content = field.bytes().await.map_err(malformed)?;
            check_part(&parts, &name, file_name.is_some(), content.len())?;
            parts.push(UploadPart { name, file_name, content_type, content });
        }
        Ok(Self { parts })
    }

    /// The client's name of the model.
    pub(super) fn model(&self) -> Result<&str, LlmError> {
        let part = self.parts.iter().find(|part| part.name == "model");
        let part = part.ok_or_else(|| LlmError::invalid("model", "`model` is missing"))?;
        std::str::from_utf8(&part.content)
            .ok()
            .filter(|name| !name.is_empty())
            .ok_or_else(|| LlmError::invalid("model", "`model` must be text"))
    }

    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.content.len()).sum()
    }

    /// With the provider's name of the model. `None`: a name that no header can hold.
    pub(super) fn write(&self, model: &str) -> Option<WrittenForm> {
        let boundary = format!("tollgate-{:032x}", rand::random::<u128>());
        let mut body = BytesMut::with_capacity(self.bytes() + 256 * (self.parts.len() + 1));
        for part in &self.parts {
            body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
            body.extend_from_slice(part.head()?.as_bytes());
            let content = if part.name == "model" { model.as_bytes() } else { &part.content };
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        let content_type = format!("multipart/form-data; boundary={boundary}");
        let content_type = HeaderValue::try_from(content_type).ok()?;
        Some(WrittenForm { content_type, body: body.freeze() })
    }
}

impl UploadPart {
    fn head(&self) -> Option<String> {
        let mut head = format!("content-disposition: form-data; name=\"{}\"", quote(&self.name)?);
        if let Some(file_name) = &self.file_name {
            head.push_str(&format!("; filename=\"{}\"", quote(file_name)?));
        }
        head.push_str("\r\n");
        if let Some(content_type) = &self.content_type {
            head.push_str(&format!("content-type: {content_type}\r\n"));
        }
        head.push_str("\r\n");
        Some(head)
    }
}

/// As browsers write names in such a header.
fn quote(name: &str) -> Option<String> {
    (!name.contains(['\r', '\n', '\0'])).then(|| name.replace('"', "%22"))
}

fn check_part(
    before: &[UploadPart],
    name: &str,
    is_file: bool,
    size: usize,
) -> Result<(), LlmError> {
    if before.len() == MAX_PARTS {
        return Err(LlmError::invalid("", format!("the form has more than {MAX_PARTS} parts")));
    }
    if name.is_empty() {
        return Err(LlmError::invalid("", "a part of the form has no name"));
    }
    // Providers repeat only lists, whose names end in brackets.
    if !name.ends_with("[]") && before.iter().any(|part| part.name == name) {
        return Err(LlmError::invalid(name, format!("the form has two parts `{name}`")));
    }
    if !is_file && size > MAX_FIELD_BYTES {
        let message = format!("`{name}` is larger than {MAX_FIELD_BYTES} bytes");
        return Err(LlmError::invalid(name, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, header};

    use super::{ChatApiError, MAX_FIELD_BYTES, MAX_PARTS, UploadForm, boundary};

    fn part(head: &str, content: &str) -> String {
        format!("--x\r\ncontent-disposition: form-data; {head}\r\n\r\n{content}\r\n")
    }

    async fn read(parts: &[String]) -> Result<UploadForm, ChatApiError> {
        let body = format!("{}--x--\r\n", parts.concat());
        UploadForm::read(Bytes::from(body), "x".to_owned()).await
    }

    async fn refusal(parts: &[String]) -> String {
        format!("{:?}", read(parts).await.err().unwrap())
    }

    #[tokio::test]
    async fn a_form_is_sent_on_with_the_providers_name_of_the_model() {
        let file = "name=\"file\"; filename=\"a b.wav\"\r\ncontent-type: audio/wav";
        let form = read(&[part(file, "R\0IFF--x"), part("name=\"model\"", "mine")]).await.unwrap();
        assert_eq!(form.model().unwrap(), "mine");
        let written = form.write("whisper-9").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, written.content_type);
        let again = UploadForm::read(written.body, boundary(&headers).unwrap()).await.unwrap();
        assert_eq!(again.model().unwrap(), "whisper-9");
        let file = &again.parts[0];
        assert_eq!(
            (file.file_name.as_deref(), &*file.content),
            (Some("a b.wav"), &b"R\0IFF--x"[..])
        );
        assert_eq!(file.content_type.as_deref(), Some("audio/wav"));
    }

    #[tokio::test]
    async fn a_form_that_two_parsers_may_read_differently_is_refused() {
        let model = part("name=\"model\"", "mine");
        let twice = refusal(&[model.clone(), part("name=\"model\"", "other")]).await;
        assert!(twice.contains("two parts `model`"));
        let lists = [part("name=\"include[]\"", "a"), part("name=\"include[]\"", "b")];
        assert!(read(&lists).await.is_ok());
        assert!(refusal(&[part("name=\"\"", "x")]).await.contains("no name"));
        let many: Vec<String> =
            (0..=MAX_PARTS).map(|at| part(&format!("name=\"p{at}\""), "x")).collect();
        assert!(refusal(&many).await.contains("more than"));
        let long = part("name=\"prompt\"", &"x".repeat(MAX_FIELD_BYTES + 1));
        assert!(refusal(&[long]).await.contains("larger than"));
        let cut = UploadForm::read(Bytes::from(model), "x".to_owned()).await;
        assert!(cut.is_err(), "a form without its end");
    }

    #[test]
    fn only_forms_with_a_boundary_are_read() {
        let check = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(value).unwrap());
            boundary(&headers).is_ok()
        };
        assert!(check("multipart/form-data; boundary=abc"));
        assert!(!check("multipart/form-data"));
        assert!(!check("application/json"));
        assert!(boundary(&HeaderMap::new()).is_err());
    }
}
