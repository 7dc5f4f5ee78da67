//! OAuth consent without a browser: the authorization server of a scenario redirects at once, and
//! the redirect URL is all that a browser would have returned.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Uri, header};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tollgate_core::secret::Secret;
use tollgate_engine::upstream::ConsentPromptError;
use tollgate_engine::upstream::authorize::{Authorization, AuthorizationCode, OauthClientIdentity};

const REDIRECT: &str = "http://localhost:3000/callback";
const METADATA: &str = "https://conformance-test.local/client-metadata.json";

pub(super) fn credentials(url: &str, context: &Value) -> AuthorizationCode {
    let text = |key: &str| context.get(key).and_then(Value::as_str);
    let identity = match text("client_id") {
        Some(client_id) => OauthClientIdentity::Registered {
            client_id: client_id.to_owned(),
            client_secret: text("client_secret").map(Secret::new),
        },
        None => OauthClientIdentity::Unregistered {
            name: "tollgate".to_owned(),
            metadata_url: Some(METADATA.to_owned()),
        },
    };
    let authorization = Authorization {
        server_url: url.to_owned(),
        redirect_uri: REDIRECT.to_owned(),
        identity,
        issuer: None,
        scopes: Vec::new(),
    };
    AuthorizationCode::new(
        authorization,
        Box::new(|url| -> BoxFuture<'static, _> { Box::pin(fetch_redirect(url)) }),
    )
}

async fn fetch_redirect(url: String) -> Result<String, ConsentPromptError> {
    let uri: Uri = url
        .parse()
        .map_err(|_| ConsentPromptError("the authorization URL is not one".to_owned()))?;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let answer = client.get(uri).await.map_err(|error| ConsentPromptError(error.to_string()))?;
    let location = answer.headers().get(header::LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    location
        .map(str::to_owned)
        .ok_or_else(|| ConsentPromptError(format!("no redirect but {}", answer.status())))
}
