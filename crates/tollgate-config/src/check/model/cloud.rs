//! Providers in a cloud, with addresses and credentials of its own.

use tollgate_core::secret::Secret;
use tollgate_llm::settings::{
    AzureSettings, CloudSettings, EntraSettings, ProviderApi, ProviderKind, ProviderSettings,
};

use crate::check::endpoint;
use crate::diagnostic::Problems;
use crate::expand::Environment;
use crate::raw::{SectionFields, Spanned};

mod aws_role;
mod bedrock;
mod vertex;

/// The sections of a provider that name a cloud.
const CLOUDS: [&str; 3] = ["azure", "vertex", "bedrock"];

pub(super) fn cloud(
    provider: &SectionFields,
    environment: &dyn Environment,
    problems: &mut Problems,
) -> Option<CloudSettings> {
    let sections = CLOUDS.map(|key| provider.section(key));
    if let [first, second, ..] = sections.iter().flatten().collect::<Vec<_>>()[..] {
        let [first, second] = [first, second].map(|it| it.path.rsplit('.').next().unwrap_or(""));
        let message = format!("`{first}` and `{second}` exclude each other");
        problems
            .error(provider.place(second), &provider.path(second), message)
            .help("a provider is in one cloud; write another provider for the other one");
        return None;
    }
    match sections {
        [Some(section), ..] => azure(provider, section, problems),
        [_, Some(section), _] => vertex::vertex(provider, section, problems),
        [.., Some(section)] => bedrock::bedrock(provider, section, environment, problems),
        [None, None, None] => None,
    }
}

fn azure(
    provider: &SectionFields,
    azure: &SectionFields,
    problems: &mut Problems,
) -> Option<CloudSettings> {
    if provider.text("kind").is_some_and(|kind| kind.value != "openai") {
        problems
            .error(azure.at, &azure.path, "`azure` is for providers of kind `openai`")
            .help("models of other vendors on Azure have addresses of their own: use `base_url`");
    }
    let endpoints = provider.entries("endpoints");
    let has_url = provider.has("base_url")
        || (!endpoints.is_empty() && endpoints.iter().all(|it| it.has("base_url")));
    if !has_url {
        problems
            .error(azure.at, &provider.path("base_url"), "Azure OpenAI needs `base_url`")
            .help("the address of the resource: `https://NAME.openai.azure.com`");
    }
    let version = azure.text("api_version");
    if let Some(version) = version.filter(|version| !is_version(version.value)) {
        let message = format!("`api_version` must be a date, not `{}`", version.value);
        problems
            .error(version.at, &azure.path("api_version"), message)
            .help("such as `2024-10-21` or `2025-04-01-preview`; the v1 API has none");
    }
    let api_version = version.map(|version| version.value.to_owned());
    let entra = entra(provider, azure, problems);
    Some(CloudSettings::Azure(AzureSettings { api_version, entra }))
}

/// What the cloud does not have, though the vendor has it.
pub(super) fn missing_api(api: ProviderApi, provider: &ProviderSettings) -> Option<&'static str> {
    match (provider.cloud.as_ref()?, api) {
        (CloudSettings::Azure(_), ProviderApi::Realtime) => {
            Some("live sessions with Azure are not supported")
        }
        (CloudSettings::Azure(azure), ProviderApi::Responses) if azure.api_version.is_some() => {
            Some("it is in the v1 API of Azure: remove `api_version` from the provider")
        }
        // These have no live sessions anywhere, which is reported elsewhere.
        (_, ProviderApi::Realtime) if provider.kind == ProviderKind::Anthropic => None,
        (CloudSettings::Vertex(_) | CloudSettings::Bedrock(_), ProviderApi::Realtime) => {
            Some("live sessions with Vertex AI and Bedrock are not supported")
        }
        (CloudSettings::Bedrock(_), ProviderApi::Responses) => {
            Some("the Responses API of Bedrock is not supported: remove `api`")
        }
        (_, ProviderApi::Responses | ProviderApi::Chat) => None,
    }
}

/// A region or another name that becomes a part of an address.
fn is_name(text: &str) -> bool {
    let is_right = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(is_right)
}

/// An endpoint in another region than its provider.
pub(super) fn check_endpoint_region(
    provider: &SectionFields,
    region: Spanned<&str>,
    path: &str,
    problems: &mut Problems,
) {
    if !provider.has("vertex") && !provider.has("bedrock") {
        problems
            .error(region.at, path, "`region` is for providers with `vertex` or `bedrock`")
            .help("write its `base_url`, and `name` to name it");
    } else if !is_name(region.value.trim()) {
        let message = format!("`{}` is not a region", region.value);
        problems.error(region.at, path, message).help("like `us-east-1` or `europe-west1`");
    }
}

/// The text of a key, if it is not blank.
fn non_blank<'a>(fields: &'a SectionFields, key: &str) -> Option<&'a str> {
    fields.text(key).map(|text| text.value.trim()).filter(|text| !text.is_empty())
}

/// Vertex AI and Bedrock have their credentials in their own section.
fn refuse_api_key(provider: &SectionFields, cloud: &str, help: &str, problems: &mut Problems) {
    let endpoints = provider.entries("endpoints");
    for fields in [provider].into_iter().chain(endpoints).filter(|it| it.has("api_key")) {
        let message = format!("`api_key` here is not for {cloud}");
        problems.error(fields.place("api_key"), &fields.path("api_key"), message).help(help);
    }
}

fn entra(
    provider: &SectionFields,
    azure: &SectionFields,
    problems: &mut Problems,
) -> Option<EntraSettings> {
    const KEYS: [&str; 3] = ["tenant", "client_id", "client_secret"];
    let is_set = |key: &&str| azure.text(key).is_some_and(|text| !text.value.trim().is_empty());
    if !KEYS.iter().any(|key| azure.has(key)) {
        return None;
    }
    if let Some(missing) = KEYS.iter().find(|key| !is_set(key)) {
        problems
            .error(azure.at, &azure.path(missing), format!("`{missing}` is missing"))
            .help("Entra needs `tenant`, `client_id` and `client_secret`");
        return None;
    }
    let has_key = |fields: &SectionFields| fields.has("api_key");
    if has_key(provider) || provider.entries("endpoints").into_iter().any(has_key) {
        let message = "`api_key` and `client_secret` exclude each other";
        problems
            .error(azure.place("client_secret"), &azure.path("client_secret"), message)
            .help("Azure accepts either; remove one of them");
    }
    let authority = azure.text("authority");
    let authority =
        authority.and_then(|text| endpoint::url(text, &azure.path("authority"), problems));
    Some(EntraSettings {
        tenant: azure.text("tenant")?.value.trim().to_owned(),
        client_id: azure.text("client_id")?.value.trim().to_owned(),
        client_secret: Secret::new(azure.text("client_secret")?.value),
        authority,
    })
}

/// `2024-10-21`, perhaps with `-preview`.
fn is_version(text: &str) -> bool {
    let date = text.strip_suffix("-preview").unwrap_or(text).as_bytes();
    let is_right = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    date.len() == 10 && date.iter().enumerate().all(is_right)
}
