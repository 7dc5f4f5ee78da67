//! Providers in a cloud, with addresses and credentials of its own.

use tollgate_core::secret::Secret;
use tollgate_llm::settings::{
    AzureSettings, CloudSettings, EntraSettings, ProviderApi, ProviderSettings,
};

use crate::check::endpoint;
use crate::diagnostic::Problems;
use crate::raw::SectionFields;

pub(super) fn cloud(provider: &SectionFields, problems: &mut Problems) -> Option<CloudSettings> {
    let azure = provider.section("azure")?;
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
    let CloudSettings::Azure(azure) = provider.cloud.as_ref()?;
    match api {
        ProviderApi::Realtime => Some("live sessions with Azure are not supported"),
        ProviderApi::Responses if azure.api_version.is_some() => {
            Some("it is in the v1 API of Azure: remove `api_version` from the provider")
        }
        ProviderApi::Responses | ProviderApi::Chat => None,
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
