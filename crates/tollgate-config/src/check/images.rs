//! Provider for generated images.

use tollgate_engine::settings::ImageSettings;
use tollgate_llm::settings::{ProviderKind, ProviderSettings};

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::unknown_name;

/// Default base URL of a provider.
const USUAL: &str = "https://api.openai.com/v1";

/// Also `None` after an error, which has been reported.
pub(super) fn images(
    top: &SectionFields,
    providers: &[ProviderSettings],
    problems: &mut Problems,
) -> Option<ImageSettings> {
    let section = top.section("builtin")?.section("images")?;
    let size = section.text("size").map(|text| text.value.trim()).filter(|size| !size.is_empty());
    let model = section.text("model")?;
    if model.value.trim().is_empty() {
        problems
            .error(model.at, &section.path("model"), "`model` is empty")
            .help("the provider's name of the model, like `gpt-image-1`");
    }
    let named = section.text("provider")?;
    let path = section.path("provider");
    let Some(provider) = providers.iter().find(|provider| provider.name == named.value) else {
        let known: Vec<&str> = providers.iter().map(|provider| provider.name.as_str()).collect();
        unknown_name(named, &path, "provider", &known, problems);
        return None;
    };
    if provider.kind != ProviderKind::OpenAi {
        let message = format!("`{}` does not generate images", named.value);
        problems
            .error(named.at, &path, message)
            .help("use a provider of kind `openai`, which is any compatible API");
        return None;
    }
    if let Some(cloud) = &provider.cloud {
        let message =
            format!("`{}` is {}, whose images are not supported", named.value, cloud.label());
        problems
            .error(named.at, &path, message)
            .help(format!("use a provider without `{}`", cloud.key()));
        return None;
    }
    let endpoint = provider.endpoints.first();
    let base_url = endpoint.and_then(|endpoint| endpoint.base_url.as_deref());
    let base_url = base_url.or(provider.base_url.as_deref()).unwrap_or(USUAL);
    let api_key = endpoint.and_then(|endpoint| endpoint.api_key.clone());
    Some(ImageSettings {
        base_url: base_url.trim_end_matches('/').to_owned(),
        key: api_key.or_else(|| provider.api_key.clone()),
        headers: provider.headers.clone(),
        model: model.value.trim().to_owned(),
        size: size.map(str::to_owned),
    })
}
