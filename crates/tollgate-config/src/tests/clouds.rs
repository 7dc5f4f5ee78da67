//! Models in clouds: Vertex AI and Amazon Bedrock.

use std::collections::BTreeMap;

use tollgate_core::secret::Secret;
use tollgate_llm::settings::{
    AwsCredentials, AwsRoleSource, BedrockSettings, CloudSettings, ContainerToken,
    GoogleCredentials, VertexSettings,
};

use super::{Fake, good, load_with, mistakes, refusal_of};
use crate::ColorMode;

const HOW_TO: &str = include_str!("../../../../docs/how-to/providers.md");

/// A key of a service account, in which `FIELDS` comes last.
fn key_file(fields: &str) -> &'static str {
    let label = "PRIVATE KEY";
    let text = format!(
        r#"{{"type": "service_account", "project_id": "of-key", "private_key_id": "1",
        "private_key": "-----BEGIN {label}-----\nMII\n-----END {label}-----\n",
        "client_email": "a@of-key.iam.gserviceaccount.com"{fields}}}"#
    );
    text.leak()
}

fn with_google(key: &'static str) -> Fake {
    let variables = [("GOOGLE_SERVICE_ACCOUNT", key)].into_iter().collect();
    let files = [("/run/secrets/google.json", key)].into_iter().collect();
    Fake { variables, files }
}

fn vertex_of(text: &str, key: &'static str) -> VertexSettings {
    let text = format!("providers: {{ p: {{ kind: gemini, vertex: {text} }} }}\n");
    let loaded = load_with(&text, &with_google(key));
    let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.render(ColorMode::Plain)));
    match loaded.config.llm.providers[0].cloud.clone() {
        Some(CloudSettings::Vertex(vertex)) => vertex,
        other => panic!("{other:?}"),
    }
}

fn bedrock_of(text: &str) -> BedrockSettings {
    let text = format!("providers: {{ p: {{ kind: anthropic, {text} }} }}\n");
    match good(&text).llm.providers[0].cloud.clone() {
        Some(CloudSettings::Bedrock(bedrock)) => bedrock,
        other => panic!("{other:?}"),
    }
}

#[test]
fn vertex_has_an_account_a_machine_or_a_token() {
    for credentials in ["${GOOGLE_SERVICE_ACCOUNT}", "${file:/run/secrets/google.json}"] {
        let text = format!("{{ credentials: \"{credentials}\" }}");
        let vertex = vertex_of(&text, key_file(""));
        assert_eq!((&*vertex.project, &*vertex.location), ("of-key", "global"));
        let GoogleCredentials::ServiceAccount(account) = vertex.credentials else { panic!() };
        assert_eq!(account.client_email, "a@of-key.iam.gserviceaccount.com");
        assert_eq!(account.token_url, "https://oauth2.googleapis.com/token");
        assert!(account.private_key.reveal().contains("\nMII\n"));
    }
    let other = "{ project: q, location: europe-west1, credentials: \"${GOOGLE_SERVICE_ACCOUNT}\", \
                 token_url: 'http://tokens.example/t' }";
    let vertex = vertex_of(other, key_file(""));
    assert_eq!((&*vertex.project, &*vertex.location), ("q", "europe-west1"));
    let GoogleCredentials::ServiceAccount(account) = vertex.credentials else { panic!() };
    assert_eq!(account.token_url, "http://tokens.example/t");
    let machine = vertex_of("{ project: q, metadata: true }", "");
    assert_eq!(machine.credentials, GoogleCredentials::Metadata { url: None });
    let token = vertex_of("{ project: q, access_token: t }", "");
    assert!(
        matches!(token.credentials, GoogleCredentials::AccessToken(token) if token.reveal() == "t")
    );
}

#[test]
fn bedrock_has_an_access_key_or_an_api_key() {
    let keys = bedrock_of(
        "bedrock: { region: us-east-1, access_key_id: a, secret_access_key: s, session_token: t }",
    );
    assert_eq!(keys.region, "us-east-1");
    let AwsCredentials::AccessKey { access_key_id, secret_access_key, session_token } =
        keys.credentials
    else {
        panic!()
    };
    let session_token = session_token.unwrap();
    let found = (&*access_key_id, secret_access_key.reveal(), session_token.reveal());
    assert_eq!(found, ("a", "s", "t"));
    let key = bedrock_of("bedrock: { region: us-east-1, api_key: k }");
    assert!(matches!(key.credentials, AwsCredentials::ApiKey(key) if key.reveal() == "k"));
}

/// The credentials of Bedrock where these variables are set.
fn role_of(bedrock: &str, variables: &[(&'static str, &'static str)]) -> AwsCredentials {
    let environment =
        Fake { variables: variables.iter().copied().collect(), files: BTreeMap::new() };
    let text = format!(
        "providers: {{ p: {{ kind: anthropic, bedrock: {{ region: eu-west-1, {bedrock} }} }} }}\n"
    );
    let loaded = load_with(&text, &environment);
    let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.render(ColorMode::Plain)));
    match loaded.config.llm.providers[0].cloud.clone() {
        Some(CloudSettings::Bedrock(bedrock)) => bedrock.credentials,
        other => panic!("{other:?}"),
    }
}

const FULL: (&str, &str) =
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials");
const RELATIVE: (&str, &str) = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1");
const TOKEN_FILE: (&str, &str) = ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/var/run/token");
const TOKEN: (&str, &str) = ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-canary-0123");

#[test]
fn bedrock_has_the_role_of_the_place_where_the_gateway_runs() {
    let container = |url: &str, token: Option<ContainerToken>| {
        AwsCredentials::Role(AwsRoleSource::Container { url: url.to_owned(), token })
    };
    let file = || Some(ContainerToken::File("/var/run/token".into()));
    let text = || Some(ContainerToken::Text(Secret::new(TOKEN.1)));
    let ecs = "http://169.254.170.2/v2/credentials/1";
    for (variables, expected) in [
        (&[RELATIVE][..], container(ecs, None)),
        (&[FULL, TOKEN_FILE], container(FULL.1, file())),
        (&[FULL, TOKEN_FILE, TOKEN], container(FULL.1, file())),
        (&[FULL, TOKEN, RELATIVE], container(ecs, text())),
    ] {
        assert_eq!(role_of("credentials: container", variables), expected);
    }
    let other = "credentials: container, credentials_url: 'http://localhost:9/c'";
    assert_eq!(role_of(other, &[FULL]), container("http://localhost:9/c", None));

    let instance = |url| AwsCredentials::Role(AwsRoleSource::Instance { url });
    assert_eq!(role_of("credentials: instance", &[FULL, TOKEN]), instance(None));
    let other = "credentials: instance, credentials_url: 'http://metadata.test'";
    assert_eq!(role_of(other, &[]), instance(Some("http://metadata.test".to_owned())));

    let identity =
        [("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t")];
    let expected = AwsCredentials::Role(AwsRoleSource::WebIdentity {
        role_arn: "arn:aws:iam::1:role/r".to_owned(),
        session_name: "tollgate".to_owned(),
        token_file: "/t".into(),
        url: None,
    });
    assert_eq!(role_of("credentials: web_identity", &identity), expected);

    let key = [
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", ""),
    ];
    let expected = AwsCredentials::AccessKey {
        access_key_id: "AKIA".to_owned(),
        secret_access_key: Secret::new("secret"),
        session_token: None,
    };
    assert_eq!(role_of("credentials: environment", &key), expected);
}

#[test]
fn mistakes_with_roles_are_pointed_out() {
    for (bedrock, variables, expected) in [
        (
            "credentials: container",
            &[TOKEN][..],
            "`credentials: container` needs the variable `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or \
             `AWS_CONTAINER_CREDENTIALS_FULL_URI`, which is not set",
        ),
        (
            "credentials: container",
            &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://evil.example/c")],
            "credentials must not come from `http://evil.example/c` without TLS",
        ),
        (
            "credentials: container",
            &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.2.evil.example/c")],
            "credentials must not come from `http://169.254.170.2.evil.example/c` without TLS",
        ),
        (
            "credentials: web_identity",
            &[("AWS_ROLE_ARN", "arn")],
            "`credentials: web_identity` needs the variable `AWS_WEB_IDENTITY_TOKEN_FILE`, which is \
             not set",
        ),
        (
            "credentials: environment",
            &[("AWS_ACCESS_KEY_ID", "a")],
            "`credentials: environment` needs the variable `AWS_SECRET_ACCESS_KEY`, which is not set",
        ),
        (
            "credentials: instance, api_key: k",
            &[],
            "`api_key` and `credentials` exclude each other",
        ),
        (
            "api_key: k, credentials_url: 'http://localhost/'",
            &[],
            "`credentials_url` is for the `credentials` of a role",
        ),
    ] {
        let text = format!(
            "providers: {{ p: {{ kind: anthropic, bedrock: {{ region: eu-west-1, {bedrock} }} }} }}\n"
        );
        let variables = variables.iter().copied().collect();
        let report = load_with(&text, &Fake { variables, files: BTreeMap::new() }).err().unwrap();
        let found: Vec<&str> = report.diagnostics.iter().map(|it| &*it.message).collect();
        assert_eq!(found, [expected]);
    }
}

#[test]
fn endpoints_may_be_in_other_regions() {
    let text = "providers: { p: { kind: anthropic, bedrock: { api_key: k }, \
                endpoints: [{ region: us-east-1 }, { region: eu-west-1, name: eu }] } }\n";
    let provider = good(text).llm.providers.remove(0);
    let endpoints: Vec<_> =
        provider.endpoints.iter().map(|it| (&*it.name, it.region.as_deref())).collect();
    assert_eq!(endpoints, [("us-east-1", Some("us-east-1")), ("eu", Some("eu-west-1"))]);
    let mistake = "providers: { p: { kind: openai, endpoints: [{ region: eu }] } }\n";
    refusal_of(mistake, "1:55 `region` is for providers with `vertex` or `bedrock`");
}

/// The messages alone.
fn messages(provider: &str) -> Vec<String> {
    let found = mistakes(&format!("providers: {{ p: {provider} }}\n")).into_iter();
    found.map(|it| it.split_once(' ').unwrap().1.to_owned()).collect()
}

#[test]
fn mistakes_with_clouds_are_pointed_out() {
    for (provider, expected) in [
        ("{ kind: gemini, vertex: {} }", "Vertex AI needs credentials"),
        ("{ kind: gemini, vertex: { metadata: true } }", "`project` is missing"),
        (
            "{ kind: openai, vertex: { project: p, metadata: true } }",
            "`vertex` is for providers of kind `gemini` and `anthropic`",
        ),
        (
            "{ kind: gemini, vertex: { project: p, metadata: true, access_token: t } }",
            "`access_token` and `metadata` exclude each other",
        ),
        (
            "{ kind: gemini, api_key: k, vertex: { project: p, metadata: true } }",
            "`api_key` here is not for Vertex AI",
        ),
        (
            "{ kind: gemini, vertex: { project: p, location: 'a/b', metadata: true } }",
            "`a/b` is not a location",
        ),
        ("{ kind: anthropic, bedrock: { api_key: k } }", "`region` is missing"),
        ("{ kind: anthropic, bedrock: { region: us-east-1 } }", "Bedrock needs credentials"),
        (
            "{ kind: anthropic, bedrock: { region: us-east-1, access_key_id: a } }",
            "`secret_access_key` is missing",
        ),
        (
            "{ kind: anthropic, bedrock: { region: us-east-1, session_token: a, api_key: k } }",
            "`api_key` and `session_token` exclude each other",
        ),
        (
            "{ kind: anthropic, bedrock: { region: 'x.evil.example', api_key: k } }",
            "`x.evil.example` is not a region",
        ),
        (
            "{ kind: gemini, bedrock: { region: us-east-1, api_key: k } }",
            "`bedrock` is for providers of kind `anthropic` and `openai`",
        ),
        (
            "{ kind: anthropic, bedrock: { region: us-east-1, api_key: k }, \
             vertex: { project: p, metadata: true } }",
            "`vertex` and `bedrock` exclude each other",
        ),
    ] {
        assert_eq!(messages(provider), [expected], "{provider}");
    }
}

#[test]
fn a_key_file_that_is_none_is_told_without_its_content() {
    let https = r#", "token_uri": "http://oauth2.googleapis.com/token""#;
    let elsewhere = r#", "token_uri": "https://tokens.evil.example/googleapis.com""#;
    let user = r#", "token_uri": "https://x@oauth2.googleapis.com""#;
    for (key, expected) in [
        ("/run/secrets/google.json", "it is not JSON: to name a file"),
        ("{ canary", "it is not JSON (line 1)"),
        (r#"{"type": "authorized_user", "x": "canary"}"#, "its `type` is not `service_account`"),
        (r#"{"type": "service_account"}"#, "it has no `private_key`"),
        (r#"{"type": "service_account", "private_key": "canary"}"#, "is not in PEM"),
        (key_file(https), "its `token_uri` is not an address of Google"),
        (key_file(elsewhere), "its `token_uri` is not an address of Google"),
        (key_file(user), "its `token_uri` is not an address of Google"),
    ] {
        let text = "providers: { p: { kind: gemini, vertex: { project: p, \
                    credentials: \"${GOOGLE_SERVICE_ACCOUNT}\" } } }\n";
        let report = load_with(text, &with_google(key)).err().unwrap();
        let report = report.render(ColorMode::Plain);
        assert!(report.contains(expected), "{report}");
        assert!(!report.contains("canary") && !report.contains("MII"), "{report}");
    }
}

#[test]
fn clouds_have_no_live_sessions_embeddings_and_pictures() {
    let bedrock = |kind: &str, rest: &str| {
        mistakes(&format!(
            "providers: {{ p: {{ kind: {kind}, bedrock: {{ region: us-east-1, api_key: k }} }} }}\n{rest}\n"
        ))
    };
    for api in ["responses", "realtime"] {
        let model = format!("models: {{ m: {{ provider: p, api: {api} }} }}");
        let expected = format!("2:34 provider `p` has no API `{api}`");
        assert_eq!(bedrock("openai", &model), [expected]);
    }
    let realtime = "models: { m: { provider: p, api: realtime } }";
    assert_eq!(bedrock("anthropic", realtime).len(), 1, "told once");
    let embedding = "memory: { embedding: { provider: p, model: m } }";
    let found = bedrock("openai", embedding);
    assert!(
        found[0].ends_with("`p` has `bedrock`, whose embeddings are not supported"),
        "{found:?}"
    );
    let images = "builtin: { images: { provider: p, model: m } }";
    let found = bedrock("openai", images);
    assert!(
        found[0].ends_with("`p` is Amazon Bedrock, whose images are not supported"),
        "{found:?}"
    );
}

#[test]
fn the_examples_of_the_guide_are_good() {
    let keys =
        ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_CLIENT_SECRET"];
    let aws = ["AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK"];
    let mut environment = with_google(key_file(""));
    environment.variables.extend(keys.into_iter().chain(aws).map(|name| (name, "value")));
    let blocks: Vec<&str> = HOW_TO
        .split("```")
        .filter_map(|block| block.strip_prefix("yaml").and_then(|it| it.split_once('\n')))
        .map(|(_, text)| text)
        .collect();
    assert_eq!(blocks.len(), 5);
    for text in blocks {
        if let Err(report) = load_with(text, &environment) {
            panic!("{}", report.render(ColorMode::Plain));
        }
    }
}
