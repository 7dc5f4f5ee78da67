//! Models of Amazon Bedrock.

use tollgate_core::secret::Secret;
use tollgate_llm::settings::{AwsCredentials, BedrockSettings, CloudSettings};

use super::aws_role::RoleKey;
use super::{is_name, non_blank, refuse_api_key};
use crate::diagnostic::Problems;
use crate::expand::Environment;
use crate::raw::SectionFields;

const HELP: &str = "write `credentials` (`environment`, `container`, `instance` or \
                    `web_identity`), `access_key_id` and `secret_access_key`, or `api_key` (an API \
                    key of Bedrock)";

pub(super) fn bedrock(
    provider: &SectionFields,
    bedrock: &SectionFields,
    environment: &dyn Environment,
    problems: &mut Problems,
) -> Option<CloudSettings> {
    let kind = provider.text("kind").map_or("openai", |kind| kind.value);
    if !matches!(kind, "anthropic" | "openai") {
        let message = "`bedrock` is for providers of kind `anthropic` and `openai`";
        problems
            .error(bedrock.at, &bedrock.path, message)
            .help("`anthropic` for Claude, `openai` for models with an API in the form of OpenAI");
    }
    refuse_api_key(provider, "Bedrock", "write it in `bedrock`", problems);
    let credentials = credentials(bedrock, environment, problems);
    let endpoints = provider.entries("endpoints");
    let first = endpoints.iter().find_map(|endpoint| non_blank(endpoint, "region"));
    let region = non_blank(bedrock, "region");
    let is_given = endpoints.iter().all(|endpoint| non_blank(endpoint, "region").is_some());
    let region = region.or(first.filter(|_| is_given));
    let Some(region) = region else {
        problems
            .error(bedrock.at, &bedrock.path("region"), "`region` is missing")
            .help("like `us-east-1` or `eu-central-1`");
        return None;
    };
    if !is_name(region) {
        problems
            .error(
                bedrock.place("region"),
                &bedrock.path("region"),
                format!("`{region}` is not a region"),
            )
            .help("like `us-east-1` or `eu-central-1`");
    }
    let region = region.to_owned();
    Some(CloudSettings::Bedrock(BedrockSettings { region, credentials: credentials? }))
}

fn credentials(
    bedrock: &SectionFields,
    environment: &dyn Environment,
    problems: &mut Problems,
) -> Option<AwsCredentials> {
    const KEYS: [&str; 2] = ["access_key_id", "secret_access_key"];
    if let Some(named) = bedrock.text("credentials") {
        let others = KEYS.into_iter().chain(["session_token", "api_key"]);
        if let Some(other) = others.into_iter().find(|key| non_blank(bedrock, key).is_some()) {
            let message = format!("`{other}` and `credentials` exclude each other");
            problems.error(named.at, &bedrock.path("credentials"), message).help(HELP);
        }
        return RoleKey { bedrock, named, environment }.credentials(problems);
    }
    if bedrock.has("credentials_url") {
        let message = "`credentials_url` is for the `credentials` of a role";
        let path = bedrock.path("credentials_url");
        problems.error(bedrock.place("credentials_url"), &path, message).help(HELP);
    }
    let session_token = non_blank(bedrock, "session_token");
    let first =
        KEYS.into_iter().chain(["session_token"]).find(|key| non_blank(bedrock, key).is_some());
    if let (Some(key), Some(first)) = (non_blank(bedrock, "api_key"), first) {
        let message = format!("`api_key` and `{first}` exclude each other");
        problems.error(bedrock.place(first), &bedrock.path(first), message).help(HELP);
        return Some(AwsCredentials::ApiKey(Secret::new(key)));
    }
    if let Some(key) = non_blank(bedrock, "api_key") {
        return Some(AwsCredentials::ApiKey(Secret::new(key)));
    }
    if first.is_none() {
        problems.error(bedrock.at, &bedrock.path, "Bedrock needs credentials").help(HELP);
        return None;
    }
    if let Some(missing) = KEYS.into_iter().find(|key| non_blank(bedrock, key).is_none()) {
        problems
            .error(bedrock.at, &bedrock.path(missing), format!("`{missing}` is missing"))
            .help(HELP);
        return None;
    }
    Some(AwsCredentials::AccessKey {
        access_key_id: non_blank(bedrock, KEYS[0])?.to_owned(),
        secret_access_key: Secret::new(non_blank(bedrock, KEYS[1])?),
        session_token: session_token.map(Secret::new),
    })
}
