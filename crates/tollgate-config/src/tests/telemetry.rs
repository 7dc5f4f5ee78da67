//! What is told of calls, and to whom.

use std::time::Duration;

use tollgate_engine::settings::{BaggagePolicy, ContentCapture, EngineTelemetrySettings};
use tollgate_otlp::{OtlpConfig, OtlpProtocol};

use super::{good, refusal_of};

#[test]
fn what_is_left_out_is_the_environments() {
    for text in ["environment: a", "telemetry: {}", "telemetry: { otlp: {} }"] {
        let config = good(text);
        assert_eq!(config.otlp, OtlpConfig::default(), "{text}");
        assert_eq!(config.settings.telemetry, EngineTelemetrySettings::default(), "{text}");
    }
}

#[test]
fn every_key_is_read() {
    let config = good(
        "
telemetry:
  otlp:
    endpoint: https://otlp.example.com/base
    headers: { Authorization: Bearer x }
    protocol: http/json
    timeout_ms: 700
    spans_every_ms: 100
    metrics_every_ms: 2000
  sample_percent: 5
  service_name: front
  resource: { deployment.environment.name: staging }
  capture: redacted
  baggage: pass
",
    );
    let telemetry = EngineTelemetrySettings {
        baggage: BaggagePolicy::Passed,
        capture: ContentCapture::Redacted,
    };
    assert_eq!(config.settings.telemetry, telemetry);
    let OtlpConfig { headers, .. } = &config.otlp;
    assert_eq!((&*headers[0].0, headers[0].1.reveal()), ("authorization", "Bearer x"));
    let expected = OtlpConfig {
        endpoint: Some("https://otlp.example.com/base".to_owned()),
        headers: headers.clone(),
        protocol: Some(OtlpProtocol::Json),
        timeout: Some(Duration::from_millis(700)),
        spans_every: Some(Duration::from_millis(100)),
        metrics_every: Some(Duration::from_secs(2)),
        sample_percent: Some(5),
        service: Some("front".to_owned()),
        resource: vec![("deployment.environment.name".to_owned(), "staging".to_owned())],
    };
    assert_eq!(config.otlp, expected);
}

#[test]
fn what_cannot_be_is_refused() {
    refusal_of(
        "telemetry: { otlp: { endpoint: localhost } }",
        "1:32 `endpoint` must begin with http:// or https://: `localhost`",
    );
    refusal_of(
        "telemetry: { otlp: { protocol: grpc } }",
        "1:32 `protocol` must be one of `http/protobuf`, `http/json`, not `grpc`",
    );
    refusal_of(
        "telemetry: { sample_percent: 101 }",
        "1:30 `sample_percent` must be a whole number from 0 to 100 percent, not `101`",
    );
    refusal_of(
        "telemetry: { capture: all }",
        "1:23 `capture` must be one of `none`, `redacted`, not `all`",
    );
    refusal_of("telemetry: { endpoint: http://a }", "1:14 unknown key `endpoint`");
}
