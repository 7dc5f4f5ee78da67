//! `/api/models` and the metrics of providers.

use serde_json::json;
use tollgate_core::secret::Secret;
use tollgate_llm::settings::{EndpointSettings, RoutePolicy};

use crate::chat::ask;
use crate::model::Model;
use crate::stage::{Setup, Stage};

#[tokio::test]
async fn each_place_of_a_model_is_shown_with_its_health() {
    let model = Model::saying(|_| "well".to_owned()).await;
    let mut llm = model.settings();
    let endpoint = |name: &str, base_url: Option<&str>| EndpointSettings {
        name: name.to_owned(),
        base_url: base_url.map(str::to_owned),
        api_key: Some(Secret::new("sk-endpoint-0123456789")),
        region: None,
        weight: 2,
    };
    // Nobody listens at the first one.
    llm.providers[0].endpoints =
        vec![endpoint("away", Some("http://127.0.0.1:1/v1")), endpoint("here", None)];
    llm.models[0].pool.route = Some(RoutePolicy::Order);
    let stage = Stage::with(Setup { models: llm, ..Setup::default() }).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}]});
    let asked = ask(&stage, body).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    assert_eq!(stage.request("GET", "/api/models").send().await.status, 401);
    let shown = stage.request("GET", "/api/models").by_admin().send().await;
    assert!(!shown.text.contains("sk-endpoint"), "{}", shown.text);
    let shown = shown.json();
    let served = &shown["models"][0];
    assert_eq!((&served["name"], &served["route"]), (&json!("m"), &json!("order")));
    let targets = &served["targets"];
    assert_eq!(targets[0]["endpoint"], "away");
    assert_eq!(
        (&targets[0]["counts"]["failed"], &targets[0]["breaker"]),
        (&json!(1), &json!("closed"))
    );
    assert_eq!(targets[1]["counts"]["answered"], 1);
    assert_eq!(
        (&targets[1]["provider"], &targets[1]["id"]),
        (&json!("p"), &json!("model-at-home"))
    );
    assert_eq!((&targets[1]["weight"], &targets[1]["in_flight"]), (&json!(2), &json!(0)));
    let metrics = stage.request("GET", "/metrics").by_admin().send().await.text;
    for line in [
        r#"tollgate_provider_requests_total{provider="p",endpoint="away",model="model-at-home",outcome="failed"} 1"#,
        r#"tollgate_provider_requests_total{provider="p",endpoint="here",model="model-at-home",outcome="answered"} 1"#,
        r#"tollgate_provider_breaker{provider="p",endpoint="here",model="model-at-home",state="closed"} 1"#,
        r#"tollgate_provider_first_token_seconds_count{provider="p",endpoint="here",model="model-at-home"} 0"#,
        r#"tollgate_provider_requests_in_flight{provider="p",endpoint="here",model="fast-at-home"} 0"#,
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line} is not in\n{metrics}");
    }
}
