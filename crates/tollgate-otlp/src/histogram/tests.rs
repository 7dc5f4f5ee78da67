use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::resource::v1::Resource;
use serde_json::{Value as Json, json};
use tollgate_core::trace::SpanContext;
use tollgate_engine::spans::{FinishedSpan, SpanAttributes, SpanKind, Value as Told};

use super::{DroppedSpans, Histograms, MAX_SERIES};

fn span(kind: SpanKind, lines: &[(&'static str, Told)], took: u64) -> FinishedSpan {
    let mut attributes = SpanAttributes::default();
    for (name, value) in lines {
        attributes.set(name, value.clone());
    }
    FinishedSpan {
        context: SpanContext::parse(&format!("00-{}-{}-00", "1".repeat(32), "2".repeat(16)))
            .unwrap(),
        parent: None,
        name: Cow::Borrowed("it"),
        kind,
        began: SystemTime::UNIX_EPOCH,
        took: Duration::from_millis(took),
        attributes,
        events: Vec::new(),
        error: None,
    }
}

fn text(text: &'static str) -> Told {
    Told::from(text)
}

/// By name: the points, each with its labels, its count and where it stands among the buckets.
fn encode_points(histograms: &Histograms, name: &str) -> Vec<Json> {
    let lost = DroppedSpans { since: SystemTime::UNIX_EPOCH, spans: 3 };
    let request = histograms.request(&Resource::default(), SystemTime::UNIX_EPOCH, &lost);
    let request = serde_json::to_value(&request).unwrap();
    let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| metric["name"] == name);
    let points = found.map(|metric| metric["histogram"]["dataPoints"].as_array().unwrap().clone());
    points.unwrap_or_default()
}

#[test]
fn spans_are_counted_under_the_names_of_the_conventions() {
    let mut histograms = Histograms::default();
    let call = [("mcp.method.name", text("tools/call")), ("gen_ai.tool.name", text("roll"))];
    for took in [10, 11, 400_000] {
        histograms.hear(&span(SpanKind::Client, &call, took));
    }
    histograms.hear(&span(SpanKind::Server, &call, 20));
    let points = encode_points(&histograms, "mcp.client.operation.duration");
    assert_eq!(points.len(), 1);
    let buckets = points[0]["bucketCounts"].as_array().unwrap();
    assert_eq!(buckets.len(), points[0]["explicitBounds"].as_array().unwrap().len() + 1);
    assert_eq!((&buckets[0], &buckets[1], &buckets[14]), (&json!("1"), &json!("1"), &json!("1")));
    assert_eq!((&points[0]["count"], &points[0]["min"]), (&json!("3"), &json!(0.01)));
    assert_eq!(encode_points(&histograms, "mcp.server.operation.duration")[0]["sum"], 0.02);
    assert!(
        encode_points(&histograms, "gen_ai.execute_tool.duration").is_empty(),
        "it is the client's"
    );
}

#[test]
fn a_question_to_a_model_has_tokens_and_a_first_chunk() {
    let mut histograms = Histograms::default();
    let requests = [
        ("gen_ai.operation.name", text("chat")),
        ("gen_ai.request.model", text("m")),
        ("gen_ai.usage.input_tokens", Told::Whole(100)),
        ("gen_ai.usage.output_tokens", Told::Whole(5)),
        ("gen_ai.response.time_to_first_chunk", Told::Real(0.3)),
    ];
    histograms.hear(&span(SpanKind::Client, &requests, 900));
    histograms.hear(&span(
        SpanKind::Internal,
        &[("gen_ai.operation.name", text("execute_tool"))],
        5,
    ));
    histograms.hear(&span(
        SpanKind::Internal,
        &[("gen_ai.operation.name", text("invoke_agent"))],
        5,
    ));
    let mut usage: Vec<String> = encode_points(&histograms, "gen_ai.client.token.usage")
        .iter()
        .map(|point| {
            let labels = point["attributes"].as_array().unwrap();
            let kind = labels.iter().find(|it| it["key"] == "gen_ai.token.type").unwrap();
            format!("{} {}", kind["value"]["stringValue"].as_str().unwrap(), point["sum"])
        })
        .collect();
    usage.sort();
    assert_eq!(usage, ["input 100.0", "output 5.0"]);
    let first = encode_points(&histograms, "gen_ai.client.operation.time_to_first_chunk");
    assert_eq!(first[0]["sum"], 0.3);
    for name in [
        "gen_ai.client.operation.duration",
        "gen_ai.execute_tool.duration",
        "gen_ai.invoke_agent.duration",
    ] {
        assert_eq!(encode_points(&histograms, name).len(), 1, "{name}");
    }
}

#[test]
fn too_many_series_are_counted_together() {
    let mut histograms = Histograms::default();
    for number in 0..MAX_SERIES + 10 {
        let name = Told::from(format!("tool{number}"));
        let lines = [("mcp.method.name", text("tools/call")), ("gen_ai.tool.name", name)];
        histograms.hear(&span(SpanKind::Client, &lines, 1));
    }
    let points = encode_points(&histograms, "mcp.client.operation.duration");
    assert_eq!(points.len(), MAX_SERIES + 1);
    let rest = points.iter().find(|it| it["attributes"][0]["key"] == "otel.metric.overflow");
    assert_eq!(rest.unwrap()["count"], "10");
}
