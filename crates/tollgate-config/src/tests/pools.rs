//! Several endpoints of a provider, and several providers of a model.

use std::time::Duration;

use tollgate_llm::settings::{CloudSettings, ModelSettings, RoutePolicy};

use super::{good, mistakes, refusal_of};

const PROVIDERS: &str = "providers: { a: { kind: anthropic, api_key: k }, b: { kind: openai } }\n";

fn model(text: &str) -> ModelSettings {
    let config = good(&format!("{PROVIDERS}models: {{ m: {text} }}\n"));
    config.llm.models.into_iter().find(|model| model.name == "m").unwrap()
}

#[test]
fn endpoints_have_keys_and_addresses_of_their_own() {
    let config = good(
        "providers:\n  p:\n    kind: openai\n    api_key: shared\n    endpoints:\n      \
         - { name: eu, base_url: 'https://eu.example.com/v1', weight: 3 }\n      \
         - { api_key: other }\n",
    );
    let [eu, second] = &config.llm.providers[0].endpoints[..] else { panic!() };
    assert_eq!((eu.name.as_str(), eu.weight), ("eu", 3));
    assert_eq!(eu.base_url.as_deref(), Some("https://eu.example.com/v1"));
    assert!(eu.api_key.is_none(), "the provider's");
    assert_eq!((second.name.as_str(), second.weight), ("2", 1));
    assert_eq!(second.api_key.as_ref().unwrap().reveal(), "other");
}

#[test]
fn a_model_has_one_provider_or_several() {
    let one = model("{ provider: a, id: x }");
    assert_eq!((one.provider.as_deref(), one.id.as_str()), (Some("a"), "x"));
    assert_eq!((one.route(), one.pool.providers.len()), (RoutePolicy::Weight, 0));
    let several = model("{ providers: [{ provider: b, id: y, price: 0.25 }, { provider: a }] }");
    assert_eq!((several.provider.as_deref(), several.id.as_str()), (Some("b"), "y"));
    let [first, second] = &several.pool.providers[..] else { panic!() };
    assert_eq!((first.id.as_str(), first.price), ("y", Some(250_000)));
    assert_eq!((second.id.as_str(), second.price, second.weight), ("m", None, 1));
    assert_eq!((several.route(), several.pool.hedge_after), (RoutePolicy::Order, None));
}

#[test]
fn routes_and_hedging_are_read() {
    for (word, expected) in [
        ("order", RoutePolicy::Order),
        ("weight", RoutePolicy::Weight),
        ("latency", RoutePolicy::Latency),
        ("cost", RoutePolicy::Cost),
    ] {
        let model = model(&format!("{{ provider: a, route: {word}, hedge_after_ms: 700 }}"));
        assert_eq!(model.route(), expected);
        assert_eq!(model.pool.hedge_after, Some(Duration::from_millis(700)));
    }
}

#[test]
fn mistakes_in_pools_are_pointed_out() {
    for (text, expected) in [
        ("{ id: x }", "2:11 `models.m` needs `provider`"),
        (
            "{ provider: a, providers: [{ provider: b }] }",
            "2:26 `provider` and `providers` exclude each other",
        ),
        ("{ providers: [{ provider: c }] }", "2:40 there is no provider `c`"),
        (
            "{ providers: [{ provider: a, price: cheap }] }",
            "2:50 `price` must be a number such as `3.75`, not `cheap`",
        ),
    ] {
        refusal_of(&format!("{PROVIDERS}models: {{ m: {text} }}\n"), expected);
    }
    refusal_of(
        "providers: { p: { kind: openai, endpoints: [{ name: '2' }, { api_key: k }] } }\n",
        "1:60 there are two endpoints `2`",
    );
}

#[test]
fn a_resource_of_azure_has_a_key_or_an_application() {
    let azure = |text: &str| {
        let config = good(&format!(
            "providers: {{ p: {{ kind: openai, base_url: 'https://r.openai.azure.com', {text} }} }}\n"
        ));
        match config.llm.providers[0].cloud.clone() {
            Some(CloudSettings::Azure(azure)) => azure,
            other => panic!("{text}: {other:?}"),
        }
    };
    let plain = azure("api_key: k, azure: {}");
    assert_eq!((plain.api_version, plain.entra.is_none()), (None, true));
    let dated = azure("api_key: k, azure: { api_version: 2025-04-01-preview }");
    assert_eq!(dated.api_version.as_deref(), Some("2025-04-01-preview"));
    let entra = azure("azure: { tenant: t, client_id: c, client_secret: s }").entra.unwrap();
    assert_eq!((entra.tenant.as_str(), entra.client_secret.reveal()), ("t", "s"));
    assert_eq!(entra.authority, None);
}

#[test]
fn mistakes_with_azure_are_pointed_out() {
    for (provider, expected) in [
        ("{ kind: openai, azure: {} }", "1:33 Azure OpenAI needs `base_url`"),
        (
            "{ kind: anthropic, base_url: 'https://r', azure: {} }",
            "1:59 `azure` is for providers of kind `openai`",
        ),
        (
            "{ kind: openai, base_url: 'https://r', azure: { api_version: v1 } }",
            "1:78 `api_version` must be a date, not `v1`",
        ),
        (
            "{ kind: openai, base_url: 'https://r', azure: { tenant: t, client_id: c } }",
            "1:56 `client_secret` is missing",
        ),
    ] {
        refusal_of(&format!("providers: {{ p: {provider} }}\n"), expected);
    }
    let both = "{ kind: openai, base_url: 'https://r', api_key: k, azure: { tenant: t, client_id: c, client_secret: s } }";
    let found = mistakes(&format!("providers: {{ p: {both} }}\n"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("`api_key` and `client_secret` exclude each other"), "{found:?}");
    let with_api = |azure: &str, api: &str| {
        mistakes(&format!(
            "providers: {{ p: {{ kind: openai, base_url: 'https://r', api_key: k, azure: {azure} }} }}\n\
             models: {{ m: {{ provider: p, api: {api} }} }}\n"
        ))
    };
    assert!(with_api("{}", "responses").is_empty());
    let dated = "{ api_version: 2024-10-21 }";
    assert_eq!(with_api(dated, "responses"), ["2:34 provider `p` has no API `responses`"]);
    assert_eq!(with_api("{}", "realtime"), ["2:34 provider `p` has no API `realtime`"]);
}
