//! Trace context: from headers and `_meta` of clients to `_meta` and headers of servers and models.

use serde_json::{Map, Value, json};
use tollgate_engine::settings::{BaggagePolicy, EngineSettings, EngineTelemetrySettings};

use crate::model::Model;
use crate::stage::{Setup, Stage};
use crate::upstream::Upstream;

const OUTER: &str = "00-11111111111111111111111111111111-1111111111111111-01";
const INNER: &str = "00-22222222222222222222222222222222-2222222222222222-00";

/// What a client says, and what its server hears: of headers and `_meta` alike.
struct Case {
    headers: &'static [(&'static str, &'static str)],
    meta: Value,
    received: Value,
}

fn cases() -> Vec<Case> {
    vec![
        Case { headers: &[], meta: json!({}), received: json!({}) },
        Case {
            headers: &[("traceparent", OUTER), ("tracestate", "a=1"), ("tracestate", "b=2")],
            meta: json!({}),
            received: json!({"traceparent": OUTER, "tracestate": "a=1,b=2"}),
        },
        Case {
            headers: &[],
            meta: json!({"traceparent": INNER, "tracestate": "c=3"}),
            received: json!({"traceparent": INNER, "tracestate": "c=3"}),
        },
        // The inner one wins; what belongs to the outer one goes with it.
        Case {
            headers: &[("traceparent", OUTER), ("tracestate", "a=1")],
            meta: json!({"traceparent": INNER}),
            received: json!({"traceparent": INNER}),
        },
        // What is malformed is as good as absent.
        Case {
            headers: &[("traceparent", OUTER)],
            meta: json!({"traceparent": "00-1", "tracestate": 7}),
            received: json!({"traceparent": OUTER}),
        },
        Case {
            headers: &[("traceparent", OUTER), ("traceparent", INNER)],
            meta: json!({"traceparent": [INNER], "baggage": {"a": 1}}),
            received: json!({}),
        },
        // What a client says of itself to everybody is not for everybody.
        Case {
            headers: &[("baggage", "user=ada")],
            meta: json!({"traceparent": INNER, "baggage": "admin=true"}),
            received: json!({"traceparent": INNER}),
        },
    ]
}

fn read_stream(up: &Upstream) -> (Value, Value) {
    let keys = ["traceparent", "tracestate", "baggage"];
    let headers = up.script.headers.lock().clone();
    let text = |key: &str| headers.get(key).map(|it| json!(it.to_str().unwrap()));
    let by_header = keys.iter().filter_map(|key| Some(((*key).to_owned(), text(key)?)));
    let meta = up.script.metas.lock().pop().unwrap();
    let by_meta = keys.iter().filter_map(|key| Some(((*key).to_owned(), meta.get(key)?.clone())));
    (by_header.collect::<Map<_, _>>().into(), by_meta.collect::<Map<_, _>>().into())
}

#[tokio::test]
async fn a_servers_parent_is_what_the_client_said_in_both_eras() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    for Case { headers, meta, received: expected } in cases() {
        let params = json!({"name": "up_data", "_meta": meta});
        for call in
            [stage.modern("tools/call", params.clone()), session.call(1, "tools/call", &params)]
        {
            let call = headers.iter().fold(call, |call, (name, value)| call.header(name, value));
            assert_eq!(call.brief().await, "200 ok", "{headers:?} {meta}");
            assert_eq!(
                read_stream(&up),
                (expected.clone(), expected.clone()),
                "{headers:?} {meta}"
            );
        }
    }
}

#[tokio::test]
async fn calls_of_the_rest_api_are_followed_too() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let body = json!({"name": "up_data"}).to_string();
    let call = stage.request("POST", "/v1/tools/execute").body(body);
    let call = call.header("content-type", "application/json").header("traceparent", OUTER);
    assert_eq!(call.status().await, 200);
    let expected = json!({"traceparent": OUTER});
    assert_eq!(read_stream(&up), (expected.clone(), expected));
}

#[tokio::test]
async fn baggage_goes_on_where_the_operator_wants_it() {
    let up = Upstream::start().await;
    let stage = Stage::with(Setup { upstream: Some(up.address), ..Setup::default() }).await;
    let telemetry = EngineTelemetrySettings {
        baggage: BaggagePolicy::Passed,
        ..EngineTelemetrySettings::default()
    };
    let settings = EngineSettings { telemetry, ..stage.settings.clone() };
    stage.running.reconfigure(&settings, || {}).await;
    for (meta, expected) in [
        (json!({"baggage": "user=ada"}), json!({"baggage": "user=ada"})),
        (json!({"baggage": "user = ada, \"x\""}), json!({"baggage": "from=header"})),
        (json!({"traceparent": INNER}), json!({"traceparent": INNER, "baggage": "from=header"})),
    ] {
        let call = stage.modern("tools/call", json!({"name": "up_data", "_meta": meta}));
        assert_eq!(call.header("baggage", "from=header").brief().await, "200 ok");
        assert_eq!(read_stream(&up), (expected.clone(), expected), "{meta}");
    }
}

/// The chat APIs, once as they pass a request on and once with an agent's loop.
#[tokio::test]
async fn models_providers_hear_of_the_trace_but_not_of_baggage() {
    let model = Model::saying(|_| "hello".to_owned()).await;
    let stage = Stage::with(Setup { models: model.settings(), ..Setup::default() }).await;
    for headers in [&[][..], &[("x-tollgate-agent", "default")][..]] {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        let call = stage.request("POST", "/v1/chat/completions").body(body.to_string());
        let call = call.header("content-type", "application/json").header("baggage", "user=ada");
        let call = call.header("traceparent", OUTER).header("tracestate", "a=1");
        let call = headers.iter().fold(call, |call, (name, value)| call.header(name, value));
        assert_eq!(call.status().await, 200, "{headers:?}");
        let sent = model.headers.lock().pop().unwrap();
        assert_eq!(sent["traceparent"], OUTER);
        assert_eq!(sent["tracestate"], "a=1");
        assert!(!sent.contains_key("baggage"), "{sent:?}");
    }
}
