//! Models of Google's Vertex AI.

use http::Uri;
use serde_json::Value;
use tollgate_core::secret::Secret;
use tollgate_llm::settings::{CloudSettings, GoogleCredentials, ServiceAccountKey, VertexSettings};

use super::{is_name, non_blank, refuse_api_key};
use crate::check::endpoint;
use crate::diagnostic::Problems;
use crate::raw::SectionFields;

const CREDENTIALS: [&str; 3] = ["credentials", "access_token", "metadata"];
const USUAL_LOCATION: &str = "global";
const USUAL_TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const HELP: &str = "write one of `credentials` (the key file of a service account), `metadata: true` \
                    (the account of this machine) or `access_token`";

pub(super) fn vertex(
    provider: &SectionFields,
    vertex: &SectionFields,
    problems: &mut Problems,
) -> Option<CloudSettings> {
    let kind = provider.text("kind").map_or("openai", |kind| kind.value);
    if !matches!(kind, "gemini" | "anthropic") {
        problems
            .error(
                vertex.at,
                &vertex.path,
                "`vertex` is for providers of kind `gemini` and `anthropic`",
            )
            .help("models of other vendors on Vertex AI are not supported");
    }
    let help = "write `credentials`, `access_token` or `metadata` in `vertex`";
    refuse_api_key(provider, "Vertex AI", help, problems);
    let location = non_blank(vertex, "location").unwrap_or(USUAL_LOCATION);
    if !is_name(location) {
        let message = format!("`{location}` is not a location");
        problems
            .error(vertex.place("location"), &vertex.path("location"), message)
            .help("like `europe-west1`, `eu` or `global`");
    }
    let key = service_account(vertex, problems);
    let project = non_blank(vertex, "project").map(str::to_owned);
    let project = project.or_else(|| key.as_ref()?.project.clone());
    let credentials = credentials(vertex, key, problems)?;
    let Some(project) = project else {
        problems
            .error(vertex.at, &vertex.path("project"), "`project` is missing")
            .help("the id of the project in Google Cloud");
        return None;
    };
    let location = location.to_owned();
    Some(CloudSettings::Vertex(VertexSettings { project, location, credentials }))
}

fn credentials(
    vertex: &SectionFields,
    key: Option<ServiceAccountFile>,
    problems: &mut Problems,
) -> Option<GoogleCredentials> {
    let is_set = |key: &&str| match *key {
        "metadata" => vertex.flag("metadata") == Some(true),
        key => non_blank(vertex, key).is_some(),
    };
    let set: Vec<&str> = CREDENTIALS.into_iter().filter(|key| is_set(key)).collect();
    let token_url = vertex.text("token_url");
    let token_url =
        token_url.and_then(|text| endpoint::url(text, &vertex.path("token_url"), problems));
    match set[..] {
        [] => {
            problems.error(vertex.at, &vertex.path, "Vertex AI needs credentials").help(HELP);
            None
        }
        ["credentials"] => {
            let key = key?;
            let token_url = token_url.unwrap_or(key.token_url);
            let account = ServiceAccountKey { token_url, ..key.account };
            Some(GoogleCredentials::ServiceAccount(account))
        }
        ["access_token"] => {
            Some(GoogleCredentials::AccessToken(Secret::new(non_blank(vertex, "access_token")?)))
        }
        ["metadata"] => Some(GoogleCredentials::Metadata { url: token_url }),
        [first, second, ..] => {
            let message = format!("`{first}` and `{second}` exclude each other");
            problems.error(vertex.place(second), &vertex.path(second), message).help(HELP);
            None
        }
        [_] => unreachable!("there are three"),
    }
}

/// Key file of a service account.
struct ServiceAccountFile {
    project: Option<String>,
    token_url: String,
    account: ServiceAccountKey,
}

/// Also `None` after an error, which has been reported.
fn service_account(vertex: &SectionFields, problems: &mut Problems) -> Option<ServiceAccountFile> {
    let text = non_blank(vertex, "credentials")?;
    match read_key_file(text) {
        Ok(key) => Some(key),
        Err(why) => {
            problems
                .error(
                    vertex.place("credentials"),
                    &vertex.path("credentials"),
                    format!("`credentials` is not the key of a service account: {why}"),
                )
                .help("create a JSON key in the console of Google Cloud, under IAM");
            None
        }
    }
}

/// Why a text is not the key of a service account. Does not quote it.
#[derive(Debug, thiserror::Error)]
enum KeyFileError {
    #[error("it is not JSON: to name a file, write `${{file:/path/to/key.json}}`")]
    Path,
    #[error("it is not JSON (line {line})")]
    Json { line: usize },
    #[error("its `type` is not `service_account`")]
    OtherType,
    #[error("it has no `{0}`")]
    Missing(&'static str),
    #[error("its `private_key` is not in PEM")]
    PrivateKey,
    #[error(
        "its `token_uri` is not an address of Google: if that is right, write it as `token_url`"
    )]
    TokenUrl,
}

fn read_key_file(text: &str) -> Result<ServiceAccountFile, KeyFileError> {
    if !text.starts_with('{') {
        return Err(KeyFileError::Path);
    }
    let file: Value =
        serde_json::from_str(text).map_err(|error| KeyFileError::Json { line: error.line() })?;
    let optional = |key: &str| file[key].as_str().filter(|it| !it.is_empty()).map(str::to_owned);
    let field = |key: &'static str| optional(key).ok_or(KeyFileError::Missing(key));
    if file["type"].as_str() != Some("service_account") {
        return Err(KeyFileError::OtherType);
    }
    let private_key = field("private_key")?;
    if !private_key.trim_start().starts_with("-----BEGIN PRIVATE KEY-----") {
        return Err(KeyFileError::PrivateKey);
    }
    let token_url = optional("token_uri").unwrap_or_else(|| USUAL_TOKEN_URL.to_owned());
    if !is_of_google(&token_url) {
        return Err(KeyFileError::TokenUrl);
    }
    Ok(ServiceAccountFile {
        project: optional("project_id"),
        token_url: token_url.clone(),
        account: ServiceAccountKey {
            client_email: field("client_email")?,
            private_key_id: optional("private_key_id"),
            private_key: Secret::new(private_key),
            token_url,
        },
    })
}

/// The file may come from elsewhere, and what is sent there gives access.
fn is_of_google(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else { return false };
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let host = authority == "accounts.google.com" || authority.ends_with(".googleapis.com");
    url.scheme_str() == Some("https") && host && !authority.contains('@')
}
