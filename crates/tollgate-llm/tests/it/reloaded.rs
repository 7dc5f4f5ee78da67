//! Which models there are, before and after a change of the config.

use tollgate_llm::dialect::Dialect;
use tollgate_llm::provider::ModelRegistry;
use tollgate_llm::settings::{self, LlmSettings, ProviderApi, ProviderKind, ProviderSettings};

use crate::fake::{Fake, json};
use crate::stage::{clock, model, provider, request};
use crate::wire::ANSWER;

fn models(settings: &LlmSettings, earlier: Option<&ModelRegistry>) -> ModelRegistry {
    ModelRegistry::new(settings, clock(), earlier).unwrap()
}

fn settings(address: std::net::SocketAddr) -> LlmSettings {
    LlmSettings {
        providers: vec![provider(ProviderKind::Anthropic, address)],
        models: vec![model("m")],
    }
}

#[tokio::test]
async fn a_provider_that_did_not_change_keeps_its_connections() {
    let fake = Fake::start(vec![json(200, ANSWER)]).await;
    let settings = settings(fake.address);
    let before = models(&settings, None);
    before.find("m").unwrap().ask(&request("hello")).await.unwrap();
    let after =
        models(&LlmSettings { models: vec![model("n")], ..settings.clone() }, Some(&before));
    drop(before);
    assert!(after.find("m").is_none());
    after.find("n").unwrap().ask(&request("hello")).await.unwrap();
    let changed = ProviderSettings { retries: 7, ..settings.providers[0].clone() };
    let last = models(&LlmSettings { providers: vec![changed], ..settings }, Some(&after));
    last.find("m").unwrap().ask(&request("hello")).await.unwrap();
    let connections: Vec<usize> = fake.requests_seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 1]);
}

#[tokio::test]
async fn any_model_of_a_provider_can_be_named() {
    let fake = Fake::start(vec![json(200, ANSWER)]).await;
    let mut settings = settings(fake.address);
    settings.models.push(settings::ModelSettings { name: "fake/special".to_owned(), ..model("s") });
    let models = models(&settings, None);
    let found = models.find("fake/some/new:model").unwrap();
    assert_eq!(
        (found.settings.id.as_str(), found.settings.context_window),
        ("some/new:model", 128_000)
    );
    found.ask(&request("hello")).await.unwrap();
    assert_eq!(fake.only().json()["model"], "some/new:model");
    let known = models.find("fake/m-id").unwrap();
    assert_eq!((known.settings.name.as_str(), known.settings.context_window), ("fake/m-id", 8_192));
    assert_eq!(models.find("fake/special").unwrap().settings.id, "s-id");
}

#[tokio::test]
async fn b_ch_11_names_that_are_none() {
    let fake = Fake::start(vec![]).await;
    let models = models(&settings(fake.address), None);
    for name in ["", "/", "M", "fake", "fake/", "other/m", "../../x", "fake/a\nb", "m/"] {
        assert!(models.find(name).is_none(), "{name:?}");
    }
    assert!(models.find(&format!("fake/{}", "x".repeat(1 << 20))).is_none());
}

#[tokio::test]
async fn the_built_in_model_is_always_there() {
    let models = models(&LlmSettings::default(), None);
    let offline = models.find("offline").unwrap();
    assert_eq!(offline.dialect(), None);
    let answer = offline.ask(&request("who are you?")).await.unwrap();
    assert!(answer.text().contains("I am Tollgate's offline model"));
    let names: Vec<&str> = models.list().iter().map(|it| it.settings.name.as_str()).collect();
    assert_eq!(names, ["offline"]);
}

#[tokio::test]
async fn each_kind_of_provider_has_its_dialect() {
    let address = "127.0.0.1:1".parse().unwrap();
    for (kind, api, dialect) in [
        (ProviderKind::OpenAi, ProviderApi::Chat, Some(Dialect::OpenAiChat)),
        (ProviderKind::OpenAi, ProviderApi::Responses, Some(Dialect::OpenAiResponses)),
        (ProviderKind::Anthropic, ProviderApi::Responses, Some(Dialect::Anthropic)),
        (ProviderKind::Gemini, ProviderApi::Chat, Some(Dialect::Gemini)),
        (ProviderKind::Offline, ProviderApi::Chat, None),
    ] {
        let settings = LlmSettings {
            providers: vec![provider(kind, address)],
            models: vec![settings::ModelSettings { api, ..model("m") }],
        };
        assert_eq!(models(&settings, None).find("m").unwrap().dialect(), dialect);
    }
}

#[test]
fn a_model_of_nobody_is_refused() {
    let settings = LlmSettings { providers: Vec::new(), models: vec![model("m")] };
    let error = ModelRegistry::new(&settings, clock(), None).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "model `m` names provider `fake`, which does not exist");
}
