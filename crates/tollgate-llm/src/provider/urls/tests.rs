use tollgate_core::secret::Secret;

use super::{base, endpoint};
use crate::conversation::ResponseDelivery;
use crate::dialect::Dialect;
use crate::settings::{
    AwsCredentials, BedrockSettings, CloudSettings, GoogleCredentials, ProviderKind,
    ProviderSettings, ProviderTimeouts, VertexSettings,
};

fn provider(kind: ProviderKind, base_url: Option<&str>) -> ProviderSettings {
    ProviderSettings {
        name: "p".to_owned(),
        kind,
        base_url: base_url.map(str::to_owned),
        api_key: None,
        cloud: None,
        endpoints: Vec::new(),
        headers: Vec::new(),
        patience: ProviderTimeouts::default(),
        concurrent: 1,
        retries: 0,
    }
}

fn check(
    base_url: Option<&str>,
    dialect: Dialect,
    id: &str,
    delivery: ResponseDelivery,
    expected: &str,
) {
    let kind = match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => ProviderKind::OpenAi,
        Dialect::Anthropic => ProviderKind::Anthropic,
        Dialect::Gemini => ProviderKind::Gemini,
    };
    let base = base(&provider(kind, base_url)).unwrap();
    assert_eq!(endpoint(&base, dialect, id, delivery).unwrap().to_string(), expected);
}

#[test]
fn each_dialect_has_its_path() {
    use Dialect::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
    use ResponseDelivery::{Streamed, Whole};
    let google = "https://generativelanguage.googleapis.com/v1beta";
    check(None, OpenAiChat, "m", Whole, "https://api.openai.com/v1/chat/completions");
    check(None, OpenAiResponses, "m", Streamed, "https://api.openai.com/v1/responses");
    check(None, Anthropic, "m", Whole, "https://api.anthropic.com/v1/messages");
    check(None, Gemini, "m", Whole, &format!("{google}/models/m:generateContent"));
    let streamed = format!("{google}/models/m:streamGenerateContent?alt=sse");
    check(None, Gemini, "m", Streamed, &streamed);
}

#[test]
fn a_base_url_may_end_in_a_slash_a_version_or_a_question() {
    use Dialect::{Anthropic, Gemini, OpenAiChat};
    use ResponseDelivery::{Streamed, Whole};
    check(Some("http://h:1/v1/"), OpenAiChat, "m", Whole, "http://h:1/v1/chat/completions");
    check(Some("http://h:1"), OpenAiChat, "m", Whole, "http://h:1/chat/completions");
    check(Some("http://h:1/a"), Anthropic, "m", Whole, "http://h:1/a/v1/messages");
    check(Some("http://h:1/a/v1"), Anthropic, "m", Whole, "http://h:1/a/v1/messages");
    let azure = Some("https://x.example/d?api-version=2024-10-21");
    let expected = "https://x.example/d/chat/completions?api-version=2024-10-21";
    check(azure, OpenAiChat, "m", Whole, expected);
    let expected = "http://h/v1/models/m:streamGenerateContent?k=1&alt=sse";
    check(Some("http://h/v1?k=1"), Gemini, "m", Streamed, expected);
}

#[test]
fn b_ch_11_a_models_name_leads_nowhere_else() {
    let models = "http://h/v1beta/models";
    for (id, path) in [
        ("models/gemini-x", format!("{models}/gemini-x")),
        ("tunedModels/mine", "http://h/v1beta/tunedModels/mine".to_owned()),
        ("../../x", format!("{models}/..%2F..%2Fx")),
        ("..", format!("{models}/..")),
        ("models/../files", format!("{models}/..%2Ffiles")),
        ("a b?c#d:e%2e", format!("{models}/a%20b%3Fc%23d%3Ae%252e")),
        ("语", format!("{models}/%E8%AF%AD")),
    ] {
        let expected = format!("{path}:generateContent");
        check(Some("http://h"), Dialect::Gemini, id, ResponseDelivery::Whole, &expected);
    }
}

#[test]
fn what_is_no_url_is_refused_without_being_repeated() {
    let error =
        base(&provider(ProviderKind::OpenAi, Some("http://h/se cret"))).unwrap_err().to_string();
    assert!(error.starts_with("`base_url` is not a URL"), "{error}");
    assert!(!error.contains("cret"), "{error}");
}

#[test]
fn clouds_have_an_address_for_each_region() {
    use ResponseDelivery::{Streamed, Whole};
    let secret = || Secret::new("s");
    let url = |cloud: &CloudSettings, kind, base_url, region: &str, delivery| {
        let cloud = Some(cloud.in_region(region));
        let settings = ProviderSettings { cloud, ..provider(kind, base_url) };
        let dialect = match kind {
            ProviderKind::Anthropic => Dialect::Anthropic,
            ProviderKind::Gemini => Dialect::Gemini,
            _ => Dialect::OpenAiChat,
        };
        endpoint(&base(&settings).unwrap(), dialect, "m:1", delivery).unwrap().to_string()
    };
    let vertex = CloudSettings::Vertex(VertexSettings {
        project: "p".to_owned(),
        location: String::new(),
        credentials: GoogleCredentials::AccessToken(secret()),
    });
    for (region, host) in [
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us-east5", "us-east5-aiplatform.googleapis.com"),
    ] {
        let found = url(&vertex, ProviderKind::Gemini, None, region, Streamed);
        let path = "publishers/google/models/m%3A1:streamGenerateContent?alt=sse";
        assert_eq!(found, format!("https://{host}/v1/projects/p/locations/{region}/{path}"));
    }
    let proxy = Some("https://proxy.example/v1/");
    assert_eq!(
        url(&vertex, ProviderKind::Anthropic, proxy, "eu", Whole),
        "https://proxy.example/v1/projects/p/locations/eu/publishers/anthropic/models/m%3A1:rawPredict"
    );
    let bedrock = CloudSettings::Bedrock(BedrockSettings {
        region: String::new(),
        credentials: AwsCredentials::ApiKey(secret()),
    });
    let claude = |region, delivery| url(&bedrock, ProviderKind::Anthropic, None, region, delivery);
    let expected = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m%3A1/invoke";
    assert_eq!(claude("us-east-1", Whole), expected);
    let expected = "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/m%3A1/invoke-with-response-stream";
    assert_eq!(claude("cn-north-1", Streamed), expected);
    for base_url in [None, Some("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1")] {
        assert_eq!(
            url(&bedrock, ProviderKind::OpenAi, base_url, "us-west-2", Whole),
            "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1/chat/completions"
        );
    }
}
