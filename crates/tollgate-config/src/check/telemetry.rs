//! Telemetry settings: OTLP export, baggage, capture of contents.

use tollgate_engine::settings::{BaggagePolicy, ContentCapture, EngineTelemetrySettings};
use tollgate_otlp::{OtlpConfig, OtlpProtocol};

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;
use super::{endpoint, milliseconds};

pub(super) fn telemetry(top: &SectionFields) -> EngineTelemetrySettings {
    let render = |key: &str| top.section("telemetry").and_then(|fields| fields.text(key));
    EngineTelemetrySettings {
        baggage: match render("baggage").map(|text| text.value) {
            Some("pass") => BaggagePolicy::Passed,
            _ => BaggagePolicy::Dropped,
        },
        capture: match render("capture").map(|text| text.value) {
            Some("redacted") => ContentCapture::Redacted,
            _ => ContentCapture::Nothing,
        },
    }
}

pub(super) fn otlp(top: &SectionFields, problems: &mut Problems) -> OtlpConfig {
    let Some(fields) = top.section("telemetry") else { return OtlpConfig::default() };
    let resource = fields.table("resource").into_iter();
    let mut configured = OtlpConfig {
        sample_percent: fields.whole("sample_percent").map(|it| it.value),
        service: fields.text("service_name").map(|text| text.value.to_owned()),
        resource: resource.map(|(name, value)| (name.value.clone(), value.to_owned())).collect(),
        ..OtlpConfig::default()
    };
    let Some(otlp) = fields.section("otlp") else { return configured };
    configured.endpoint = otlp
        .text("endpoint")
        .and_then(|text| endpoint::url(text, &otlp.path("endpoint"), problems));
    configured.headers = endpoint::headers(otlp, problems).into_iter().collect();
    configured.protocol = otlp.text("protocol").and_then(|text| OtlpProtocol::parse(text.value));
    configured.timeout = otlp.whole("timeout_ms").map(milliseconds);
    configured.spans_every = otlp.whole("spans_every_ms").map(milliseconds);
    configured.metrics_every = otlp.whole("metrics_every_ms").map(milliseconds);
    configured
}
