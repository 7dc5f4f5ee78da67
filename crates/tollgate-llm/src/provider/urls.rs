//! Request URLs of a provider. Pure: settings in, URLs out.

use http::Uri;
use tollgate_core::text::percent_encoded;

use super::config_error::ProviderUrlError;
use super::side_endpoint::SideEndpoint;
use crate::conversation::ResponseDelivery;
use crate::dialect::Dialect;
use crate::settings::{
    AzureSettings, BedrockSettings, CloudSettings, ProviderKind, ProviderSettings, VertexSettings,
};

const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
const ANTHROPIC_BASE_URL: &str = "https://api.anthropic.com";
const DEEPGRAM_BASE_URL: &str = "https://agent.deepgram.com/v1";
const GEMINI_BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// Common prefix of a provider's URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProviderBaseUrl {
    /// Without a trailing slash.
    before: String,
    /// Query string, for the few that need one.
    query: Option<String>,
    model: ModelPlace,
    origin: Uri,
}

/// Where requests name the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelPlace {
    Body,
    /// Also before the path, as a deployment of Azure.
    Path,
    /// In the path, before a method of Vertex AI.
    Vertex,
    /// In the path of `InvokeModel`, for Claude.
    Bedrock,
}

impl ProviderBaseUrl {
    pub(super) fn origin(&self) -> &Uri {
        &self.origin
    }
}

pub(super) fn base(provider: &ProviderSettings) -> Result<ProviderBaseUrl, ProviderUrlError> {
    let usual = match provider.kind {
        ProviderKind::Anthropic => ANTHROPIC_BASE_URL,
        ProviderKind::Gemini => GEMINI_BASE_URL,
        ProviderKind::Deepgram => DEEPGRAM_BASE_URL,
        ProviderKind::OpenAi | ProviderKind::Offline => OPENAI_BASE_URL,
    };
    let of_cloud = provider.cloud.as_ref().and_then(cloud_base_url);
    let url = provider.base_url.as_deref().or(of_cloud.as_deref()).unwrap_or(usual);
    let origin = url.parse().map_err(ProviderUrlError::Base)?;
    let (before, query) = match url.split_once('?') {
        Some((before, query)) => (before, Some(query.to_owned())),
        None => (url, None),
    };
    let before = before.trim_end_matches('/').to_owned();
    let vendors = ProviderBaseUrl { before, query, model: ModelPlace::Body, origin };
    Ok(match &provider.cloud {
        Some(CloudSettings::Azure(azure)) => azure_base(vendors, azure),
        Some(CloudSettings::Vertex(vertex)) => vertex_base(vendors, vertex, provider.kind),
        Some(CloudSettings::Bedrock(_)) => bedrock_base(vendors, provider.kind),
        None => vendors,
    })
}

/// Address of a region.
fn cloud_base_url(cloud: &CloudSettings) -> Option<String> {
    match cloud {
        CloudSettings::Azure(_) => None,
        CloudSettings::Vertex(VertexSettings { location, .. }) => Some(match location.as_str() {
            "global" => "https://aiplatform.googleapis.com".to_owned(),
            // Several regions of a continent.
            "eu" | "us" => format!("https://aiplatform.{location}.rep.googleapis.com"),
            region => format!("https://{region}-aiplatform.googleapis.com"),
        }),
        CloudSettings::Bedrock(BedrockSettings { region, .. }) => {
            let domain =
                if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
            Some(format!("https://bedrock-runtime.{region}.{domain}"))
        }
    }
}

/// The models of a vendor in a project.
fn vertex_base(
    vendors: ProviderBaseUrl,
    vertex: &VertexSettings,
    kind: ProviderKind,
) -> ProviderBaseUrl {
    let host = vendors.before.strip_suffix("/v1").unwrap_or(&vendors.before);
    let publisher = if kind == ProviderKind::Anthropic { "anthropic" } else { "google" };
    let project = percent_encoded(&vertex.project);
    let location = percent_encoded(&vertex.location);
    let before =
        format!("{host}/v1/projects/{project}/locations/{location}/publishers/{publisher}/models");
    ProviderBaseUrl { before, model: ModelPlace::Vertex, ..vendors }
}

/// Claude has an API of AWS, other models one in the form of OpenAI.
fn bedrock_base(vendors: ProviderBaseUrl, kind: ProviderKind) -> ProviderBaseUrl {
    if kind == ProviderKind::Anthropic {
        return ProviderBaseUrl { model: ModelPlace::Bedrock, ..vendors };
    }
    let host = vendors.before.strip_suffix("/openai/v1").unwrap_or(&vendors.before);
    ProviderBaseUrl { before: format!("{host}/openai/v1"), ..vendors }
}

/// A resource of Azure OpenAI, however much of the path its URL has.
fn azure_base(vendors: ProviderBaseUrl, azure: &AzureSettings) -> ProviderBaseUrl {
    let resource = vendors.before.strip_suffix("/v1").unwrap_or(&vendors.before);
    let resource = resource.strip_suffix("/openai").unwrap_or(resource);
    match &azure.api_version {
        None => ProviderBaseUrl { before: format!("{resource}/openai/v1"), ..vendors },
        Some(version) => {
            let version = format!("api-version={}", percent_encoded(version));
            let query = vendors.query.into_iter().chain([version]).collect::<Vec<_>>().join("&");
            ProviderBaseUrl {
                before: format!("{resource}/openai/deployments"),
                query: Some(query),
                model: ModelPlace::Path,
                origin: vendors.origin,
            }
        }
    }
}

/// URL of chat requests for this model.
pub(super) fn endpoint(
    base: &ProviderBaseUrl,
    dialect: Dialect,
    id: &str,
    delivery: ResponseDelivery,
) -> Result<Uri, ProviderUrlError> {
    let ProviderBaseUrl { before, query, .. } = base;
    let is_streamed = delivery == ResponseDelivery::Streamed;
    let (path, sse) = match (dialect, delivery) {
        (Dialect::Anthropic, _) if base.model == ModelPlace::Bedrock => {
            let method = if is_streamed { "invoke-with-response-stream" } else { "invoke" };
            (format!("/model/{}/{method}", percent_encoded(id)), None)
        }
        (Dialect::Anthropic, _) if base.model == ModelPlace::Vertex => {
            let method = if is_streamed { "streamRawPredict" } else { "rawPredict" };
            (vertex(id, method), None)
        }
        (Dialect::Gemini, _) if base.model == ModelPlace::Vertex => {
            let id = id.strip_prefix("models/").unwrap_or(id);
            if is_streamed {
                (vertex(id, "streamGenerateContent"), Some("alt=sse"))
            } else {
                (vertex(id, "generateContent"), None)
            }
        }
        (Dialect::OpenAiChat, _) => (format!("{}/chat/completions", deployment(base, id)), None),
        (Dialect::OpenAiResponses, _) => (format!("{}/responses", deployment(base, id)), None),
        (Dialect::Anthropic, _) => (format!("{}/messages", version_segment(before, "v1")), None),
        (Dialect::Gemini, ResponseDelivery::Whole) => (gemini(before, id, "generateContent"), None),
        (Dialect::Gemini, ResponseDelivery::Streamed) => {
            (gemini(before, id, "streamGenerateContent"), Some("alt=sse"))
        }
    };
    let query_string: Vec<&str> = query.as_deref().into_iter().chain(sse).collect();
    let query_string = (!query_string.is_empty()).then(|| query_string.join("&"));
    url(format!("{before}{path}"), query_string.as_deref())
}

/// URL of a realtime session. `path` begins with a slash; parameters are in `query`.
pub(super) fn socket(
    base: &ProviderBaseUrl,
    path: &str,
    query: &[(&str, &str)],
) -> Result<Uri, ProviderUrlError> {
    let ProviderBaseUrl { before, query: own, .. } = base;
    // These paths contain the version themselves.
    let before = match (path.starts_with("/ws/"), before.rsplit_once('/')) {
        (true, Some((rest, _))) if version_segment(before, "v1beta").is_empty() => rest,
        _ => before,
    };
    let pairs = query.iter().map(|(key, value)| format!("{key}={}", percent_encoded(value)));
    let query_string: Vec<String> = own.iter().cloned().chain(pairs).collect();
    let query_string = (!query_string.is_empty()).then(|| query_string.join("&"));
    url(format!("{before}{path}"), query_string.as_deref())
}

/// URL of embedding requests for this model.
pub(super) fn embeddings(
    base: &ProviderBaseUrl,
    dialect: Dialect,
    id: &str,
) -> Result<Uri, ProviderUrlError> {
    let endpoint = match dialect {
        Dialect::Gemini => SideEndpoint::GeminiBatchEmbed,
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => {
            SideEndpoint::Embeddings
        }
    };
    side_endpoint(base, endpoint, id)
}

/// URL of an endpoint beside chat.
pub(super) fn side_endpoint(
    base: &ProviderBaseUrl,
    endpoint: SideEndpoint,
    id: &str,
) -> Result<Uri, ProviderUrlError> {
    let ProviderBaseUrl { before, query, .. } = base;
    let path = match endpoint {
        SideEndpoint::Embeddings => format!("{}/embeddings", deployment(base, id)),
        SideEndpoint::Speech => format!("{}/audio/speech", deployment(base, id)),
        SideEndpoint::Transcription => format!("{}/audio/transcriptions", deployment(base, id)),
        SideEndpoint::CountTokens => {
            format!("{}/messages/count_tokens", version_segment(before, "v1"))
        }
        SideEndpoint::GeminiCountTokens => gemini(before, id, "countTokens"),
        SideEndpoint::GeminiEmbed => gemini(before, id, "embedContent"),
        SideEndpoint::GeminiBatchEmbed => gemini(before, id, "batchEmbedContents"),
    };
    url(format!("{before}{path}"), query.as_deref())
}

fn url(path: String, query: Option<&str>) -> Result<Uri, ProviderUrlError> {
    let url = match query {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    url.parse().map_err(ProviderUrlError::Endpoint)
}

/// The model as a part of the path, where it is one.
fn deployment(base: &ProviderBaseUrl, id: &str) -> String {
    match base.model {
        ModelPlace::Body | ModelPlace::Vertex | ModelPlace::Bedrock => String::new(),
        ModelPlace::Path => format!("/{}", percent_encoded(id)),
    }
}

/// Versions stand behind an `@`: `claude-sonnet-4-5@20250929`.
fn vertex(id: &str, method: &str) -> String {
    format!("/{}:{method}", percent_encoded(id).replace("%40", "@"))
}

fn gemini(base: &str, id: &str, method: &str) -> String {
    let version = version_segment(base, "v1beta");
    let (folder, id) = match id.split_once('/') {
        Some((folder @ ("models" | "tunedModels"), id)) => (folder, id),
        _ => ("models", id),
    };
    format!("{version}/{folder}/{}:{method}", percent_encoded(id))
}

/// `/v1`, unless the base URL already ends in a version.
fn version_segment(base: &str, version: &str) -> String {
    let last = base.rsplit('/').next().unwrap_or_default();
    let digits =
        last.strip_prefix('v').map(|rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    match digits {
        Some(1..) => String::new(),
        _ => format!("/{version}"),
    }
}

#[cfg(test)]
mod tests;
