use std::time::Duration;

use tollgate_core::secret::Secret;

use super::{OtlpConfig, OtlpProtocol, OtlpSettings, OtlpStartError};

fn of(
    configured: &OtlpConfig,
    variables: &[(&'static str, &'static str)],
) -> Result<Option<OtlpSettings>, OtlpStartError> {
    let variable = |name: &str| {
        let named = variables.iter().rfind(|(known, _)| *known == name);
        named.map(|(_, value)| (*value).to_owned())
    };
    OtlpSettings::of(configured, &variable)
}

/// Where spans and metrics go, or why nothing does.
fn check(variables: &[(&'static str, &'static str)], expected: &str) {
    let text = match of(&OtlpConfig::default(), variables) {
        Err(error) => error.to_string(),
        Ok(None) => "off".to_owned(),
        Ok(Some(settings)) => {
            let place = |target: &Option<super::OtlpTarget>| {
                target.as_ref().map_or("-".to_owned(), |target| {
                    let OtlpProtocol::Protobuf = target.protocol else {
                        return format!("{} json", target.url);
                    };
                    target.url.to_string()
                })
            };
            format!("{} {}", place(&settings.traces), place(&settings.metrics))
        }
    };
    assert_eq!(text, expected, "{variables:?}");
}

const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");

#[test]
fn variables_of_the_specification_say_where_it_goes() {
    check(&[], "off");
    check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], "off");
    check(&[BASE], "http://c:4318/v1/traces http://c:4318/v1/metrics");
    check(&[BASE, ("OTEL_SDK_DISABLED", "TRUE")], "off");
    check(&[BASE, ("OTEL_METRICS_EXPORTER", "none")], "http://c:4318/v1/traces -");
    check(&[BASE, ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")], "off");
    check(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/x")], "https://t/x -");
    check(
        &[
            BASE,
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/own"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ],
        "http://c:4318/v1/traces json http://m/own",
    );
}

#[test]
fn what_cannot_be_is_named() {
    check(
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318")],
        "`OTEL_EXPORTER_OTLP_ENDPOINT` must begin with http:// or https://",
    );
    check(
        &[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
        "`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`, which is not supported: use `http/protobuf` or \
         `http/json`",
    );
    check(
        &[BASE, ("OTEL_TRACES_EXPORTER", "zipkin")],
        "`OTEL_TRACES_EXPORTER` is `zipkin`: `otlp` or `none`",
    );
    check(
        &[BASE, ("OTEL_EXPORTER_OTLP_HEADERS", "nonsense")],
        "`OTEL_EXPORTER_OTLP_HEADERS` must be like `key=value,key=value`",
    );
    check(
        &[BASE, ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c")],
        "`OTEL_EXPORTER_OTLP_HEADERS`: `a b` is not a valid header name",
    );
    check(
        &[BASE, ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")],
        "`OTEL_EXPORTER_OTLP_TIMEOUT` must be a whole number of milliseconds",
    );
    check(
        &[BASE, ("OTEL_BSP_SCHEDULE_DELAY", "-1")],
        "`OTEL_BSP_SCHEDULE_DELAY` must be a whole number, not `-1`",
    );
    check(
        &[BASE, ("OTEL_TRACES_SAMPLER", "some")],
        "`OTEL_TRACES_SAMPLER` is `some` with ``, which is not a sampler",
    );
    check(
        &[BASE, ("OTEL_RESOURCE_ATTRIBUTES", "x")],
        "`OTEL_RESOURCE_ATTRIBUTES` must be like `key=value,key=value`",
    );
}

#[test]
fn what_the_config_says_goes_before_the_environment() {
    let configured = OtlpConfig {
        endpoint: Some("http://own:1/otlp".to_owned()),
        headers: vec![("x-key".to_owned(), Secret::new("s"))],
        protocol: Some(OtlpProtocol::Json),
        timeout: Some(Duration::from_secs(1)),
        service: Some("front".to_owned()),
        resource: vec![("region".to_owned(), "eu".to_owned())],
        ..OtlpConfig::default()
    };
    let variables = [
        BASE,
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-other=1"),
        ("OTEL_SERVICE_NAME", "other"),
        ("OTEL_RESOURCE_ATTRIBUTES", "region=us,team=a%20b,service.version=9"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "250"),
    ];
    let settings = of(&configured, &variables).unwrap().unwrap();
    let traces = settings.traces.unwrap();
    assert_eq!(traces.url, "http://own:1/otlp/v1/traces");
    assert_eq!(traces.headers.len(), 1);
    assert_eq!(traces.headers["x-key"], "s");
    assert!(format!("{:?}", traces.headers).contains("Sensitive"), "it is not shown");
    assert_eq!(traces.timeout, Duration::from_secs(1));
    assert_eq!(settings.metrics_every, Duration::from_millis(250));
    let render = |key: &str| {
        settings.resource.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    };
    assert_eq!(render("service.name"), Some("front"));
    assert_eq!((render("region"), render("team")), (Some("eu"), Some("a b")));
    assert_eq!(render("service.version"), Some("9"));
}
