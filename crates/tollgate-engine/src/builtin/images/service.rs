//! Client of the operator's image service: `POST /images/generations` (the OpenAI API).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use serde::Deserialize;
use serde_json::json;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values;
use tollgate_core::text::truncate_chars;

use crate::clock::{Clock as _, SystemClock};
use crate::settings::ImageSettings;
use crate::web::FetchError;
use crate::web::fetch::{ExchangeBounds, OperatorHttpClient};

pub(super) const LARGEST_PICTURE: usize = 16 << 20;
/// The image as base64, plus the rest of the JSON.
const LARGEST_ANSWER: usize = LARGEST_PICTURE / 3 * 4 + (64 << 10);
/// For the response and the download of the image it links to.
const GENERATION_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) struct ImageService {
    settings: ImageSettings,
}

#[derive(Deserialize)]
struct ImagesResponse {
    data: Vec<ImagesResponseItem>,
}

#[derive(Deserialize)]
struct ImagesResponseItem {
    b64_json: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct ImagesErrorResponse {
    error: ImagesErrorDetail,
}

#[derive(Deserialize)]
struct ImagesErrorDetail {
    message: String,
}

/// Why there is no picture. The message is for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImageServiceError {
    #[error(transparent)]
    Url(#[from] FetchError),
    #[error("`{0}` of the image service is not a valid header value")]
    Header(HeaderName),
    #[error("the image service is unavailable: {0}")]
    Unavailable(FetchError),
    #[error("the image service {0}")]
    Refused(String),
    #[error("the image service did not answer with a picture")]
    NoJson,
    #[error("the image service answered without a picture")]
    NoPicture,
    #[error("the image service returned a picture that cannot be decoded")]
    Undecodable,
    #[error("cannot fetch the picture: {0}")]
    Download(FetchError),
    #[error("cannot fetch the picture: status {0}")]
    DownloadStatus(u16),
}

impl ImageService {
    pub(super) fn new(settings: &ImageSettings) -> Self {
        Self { settings: settings.clone() }
    }

    /// The bytes of one image, in any format.
    pub(super) async fn picture(&self, prompt: &str) -> Result<Vec<u8>, ImageServiceError> {
        let url = format!("{}/images/generations", self.settings.base_url);
        let fetch = OperatorHttpClient::new(&url)?;
        let until = SystemClock.now() + GENERATION_TIMEOUT;
        let bounds = ExchangeBounds { until, most_bytes: LARGEST_ANSWER };
        let response = fetch
            .exchange_within(&url, self.request(prompt)?, bounds)
            .await
            .map_err(ImageServiceError::Unavailable)?;
        self.judge(&response)?;
        let answer: ImagesResponse =
            serde_json::from_slice(response.body()).map_err(|_| ImageServiceError::NoJson)?;
        match answer.data.into_iter().next() {
            Some(ImagesResponseItem { b64_json: Some(text), .. }) => {
                STANDARD.decode(text.trim()).map_err(|_| ImageServiceError::Undecodable)
            }
            Some(ImagesResponseItem { url: Some(url), .. }) => {
                // Without the API key: it is for the service, not for the host of the image.
                let request = Request::new(Full::default());
                let bounds = ExchangeBounds { until, most_bytes: LARGEST_PICTURE };
                let response = fetch.exchange_within(&url, request, bounds).await;
                let response = response.map_err(ImageServiceError::Download)?;
                match response.status() {
                    status if status.is_success() => Ok(response.into_body().to_vec()),
                    status => Err(ImageServiceError::DownloadStatus(status.as_u16())),
                }
            }
            _ => Err(ImageServiceError::NoPicture),
        }
    }

    fn request(&self, prompt: &str) -> Result<Request<Full<Bytes>>, ImageServiceError> {
        let mut body = json!({ "model": self.settings.model, "prompt": prompt, "n": 1 });
        if let Some(size) = &self.settings.size {
            body["size"] = size.as_str().into();
        }
        let mut request = Request::new(Full::new(Bytes::from(body.to_string())));
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let key = self.settings.key.iter();
        let key = key.map(|key| (AUTHORIZATION, format!("Bearer {}", key.reveal().trim())));
        let others = self.settings.headers.iter().filter_map(|(name, value)| {
            Some((HeaderName::try_from(name).ok()?, value.reveal().to_owned()))
        });
        for (name, value) in key.chain(others) {
            let unfit = |_| ImageServiceError::Header(name.clone());
            let mut value = HeaderValue::try_from(value).map_err(unfit)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }

    fn judge(&self, response: &Response<Bytes>) -> Result<(), ImageServiceError> {
        let operator = "the operator must check";
        let words = match response.status().as_u16() {
            200..=299 => return Ok(()),
            401 | 403 => format!("rejected the key; {operator} the provider of `builtin.images`"),
            404 => format!("does not know the model; {operator} `builtin.images`"),
            429 => "is rate limiting; try again later".to_owned(),
            300..=399 => {
                format!("redirected the request; {operator} the `base_url` of its provider")
            }
            400..=499 => match self.complaint(response.body()) {
                Some(message) => format!("refused this picture: {message}"),
                None => "refused this picture; describe another one".to_owned(),
            },
            status => format!("answered with status {status}; try again later"),
        };
        Err(ImageServiceError::Refused(words))
    }

    /// The service's error message, with secrets masked.
    fn complaint(&self, body: &[u8]) -> Option<String> {
        let complaint: ImagesErrorResponse = serde_json::from_slice(body).ok()?;
        let mut message: String =
            complaint.error.message.chars().filter(|letter| !letter.is_control()).collect();
        let headers = self.settings.headers.iter().map(|(_, value)| value);
        let secrets = self.settings.key.iter().chain(headers).map(Secret::reveal);
        for secret in secrets.filter(|secret| !secret.is_empty()) {
            message = message.replace(secret, "***");
        }
        Some(truncate_chars(&secret_values::mask(&message), 300))
    }
}
