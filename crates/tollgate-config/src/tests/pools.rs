//! Several endpoints of a provider, and several providers of a model.

use std::time::Duration;

use tollgate_llm::settings::{ModelSettings, RoutePolicy};

use super::{good, refusal_of};

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
        ("{ id: x }", "2:14 `models.m` needs `provider`"),
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
