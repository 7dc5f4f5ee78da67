//! Histograms computed from spans, with the names and buckets of the OpenTelemetry conventions.
//! Owned by the exporter task: nothing here is on the path of a call.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as NumberValue;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tollgate_engine::spans::{ERROR_TYPE, FinishedSpan, SpanAttributes, SpanKind, Value};

use super::message::{attribute, nanos, scope, text};

/// Limit on the series of one instrument. Further ones are counted together, as OpenTelemetry
/// specifies.
const MAX_SERIES: usize = 2_000;
const OVERFLOW: &str = "otel.metric.overflow";
const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

const MCP_SECONDS: &[f64] =
    &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
const SECONDS: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const AGENT_SECONDS: &[f64] =
    &[0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

const MCP_LABELS: &[&str] = &[
    "mcp.method.name",
    ERROR_TYPE,
    "gen_ai.tool.name",
    "gen_ai.prompt.name",
    "gen_ai.operation.name",
    "mcp.protocol.version",
    "network.transport",
    "server.address",
    "server.port",
];
const MODEL_LABELS: &[&str] = &[
    "gen_ai.operation.name",
    ERROR_TYPE,
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "server.address",
    "server.port",
];
const TOOL_LABELS: &[&str] =
    &["gen_ai.tool.name", ERROR_TYPE, "gen_ai.agent.name", "gen_ai.tool.type"];
const AGENT_LABELS: &[&str] = &["gen_ai.agent.name", ERROR_TYPE];

/// A metric instrument with its labels and bucket bounds.
struct Instrument {
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    bounds: &'static [f64],
    labels: &'static [&'static str],
}

const MCP_CLIENT: Instrument = Instrument {
    name: "mcp.client.operation.duration",
    unit: "s",
    about: "The duration of MCP requests as seen by the gateway, from when they are sent to their answer.",
    bounds: MCP_SECONDS,
    labels: MCP_LABELS,
};
const MCP_SERVER: Instrument = Instrument {
    name: "mcp.server.operation.duration",
    unit: "s",
    about: "The duration of MCP requests of clients, from when they are received to their answer.",
    bounds: MCP_SECONDS,
    labels: MCP_LABELS,
};
const MODEL: Instrument = Instrument {
    name: "gen_ai.client.operation.duration",
    unit: "s",
    about: "GenAI operation duration.",
    bounds: SECONDS,
    labels: MODEL_LABELS,
};
const FIRST_CHUNK: Instrument = Instrument {
    name: "gen_ai.client.operation.time_to_first_chunk",
    unit: "s",
    about: "Time to receive the first chunk of a streamed answer.",
    bounds: SECONDS,
    labels: MODEL_LABELS,
};
const USAGE: Instrument = Instrument {
    name: "gen_ai.client.token.usage",
    unit: "{token}",
    about: "Number of input and output tokens used.",
    bounds: TOKENS,
    labels: &[
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.model",
        "server.address",
        "server.port",
    ],
};
const TOOL: Instrument = Instrument {
    name: "gen_ai.execute_tool.duration",
    unit: "s",
    about: "The duration of a single tool execution.",
    bounds: SECONDS,
    labels: TOOL_LABELS,
};
const AGENT: Instrument = Instrument {
    name: "gen_ai.invoke_agent.duration",
    unit: "s",
    about: "The duration of a single agent invocation.",
    bounds: AGENT_SECONDS,
    labels: AGENT_LABELS,
};
const ALL: [&Instrument; 7] =
    [&MCP_CLIENT, &MCP_SERVER, &MODEL, &FIRST_CHUNK, &USAGE, &TOOL, &AGENT];

/// All measurements since the start. A point gets its time and its attributes when it is sent, so
/// that they are masked with the secrets of that moment.
#[derive(Default)]
pub(super) struct Histograms {
    series: HashMap<&'static str, HashMap<OtlpLabels, HistogramDataPoint>>,
}

/// Label values in the order of the instrument's names.
type OtlpLabels = Vec<(&'static str, OtlpLabelValue)>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum OtlpLabelValue {
    Text(String),
    Whole(i64),
    Flag(bool),
}

impl Histograms {
    /// Counts a span.
    pub(super) fn hear(&mut self, span: &FinishedSpan) {
        let seconds = span.took.as_secs_f64();
        let attributes = &span.attributes;
        let operation = text_of(attributes, "gen_ai.operation.name");
        let is_mcp = attributes.get("mcp.method.name").is_some();
        match (span.kind, is_mcp, operation) {
            (SpanKind::Client, true, _) => self.put(&MCP_CLIENT, &[], span, seconds),
            (SpanKind::Server, true, _) => self.put(&MCP_SERVER, &[], span, seconds),
            (_, false, Some("chat")) => self.hear_model(span, seconds),
            (_, false, Some("execute_tool")) => self.put(&TOOL, &[], span, seconds),
            (_, false, Some("invoke_agent")) => self.put(&AGENT, &[], span, seconds),
            _ => {}
        }
    }

    fn hear_model(&mut self, span: &FinishedSpan, seconds: f64) {
        self.put(&MODEL, &[], span, seconds);
        if let Some(Value::Real(first)) = span.attributes.get("gen_ai.response.time_to_first_chunk")
        {
            self.put(&FIRST_CHUNK, &[], span, *first);
        }
        for (key, kind) in
            [("gen_ai.usage.input_tokens", "input"), ("gen_ai.usage.output_tokens", "output")]
        {
            if let Some(Value::Whole(tokens)) = span.attributes.get(key) {
                let more = [("gen_ai.token.type", OtlpLabelValue::Text(kind.to_owned()))];
                self.put(&USAGE, &more, span, *tokens as f64);
            }
        }
    }

    /// `more` are labels that the span does not have.
    fn put(
        &mut self,
        instrument: &'static Instrument,
        more: &[(&'static str, OtlpLabelValue)],
        span: &FinishedSpan,
        value: f64,
    ) {
        let mut labels: OtlpLabels = instrument
            .labels
            .iter()
            .filter_map(|name| Some((*name, OtlpLabelValue::of(span.attributes.get(name)?)?)))
            .collect();
        labels.extend_from_slice(more);
        let series = self.series.entry(instrument.name).or_default();
        if series.len() >= MAX_SERIES && !series.contains_key(&labels) {
            labels = vec![(OVERFLOW, OtlpLabelValue::Flag(true))];
        }
        let point = series.entry(labels).or_insert_with(|| HistogramDataPoint {
            start_time_unix_nano: nanos(span.began),
            explicit_bounds: instrument.bounds.to_vec(),
            bucket_counts: vec![0; instrument.bounds.len() + 1],
            ..Default::default()
        });
        point.count += 1;
        *point.sum.get_or_insert(0.0) += value;
        point.min = Some(point.min.map_or(value, |least| least.min(value)));
        point.max = Some(point.max.map_or(value, |most| most.max(value)));
        // A bucket includes its upper bound.
        point.bucket_counts[instrument.bounds.partition_point(|bound| *bound < value)] += 1;
    }

    /// A request to `/v1/metrics` with the state at `now`. `lost` are dropped spans.
    pub(super) fn request(
        &self,
        resource: &Resource,
        now: SystemTime,
        lost: &DroppedSpans,
    ) -> ExportMetricsServiceRequest {
        let mut metrics: Vec<Metric> = ALL
            .iter()
            .filter_map(|instrument| {
                let series = self.series.get(instrument.name)?;
                let points = series.iter().map(|(labels, point)| HistogramDataPoint {
                    attributes: labels.iter().map(|(name, value)| value.attribute(name)).collect(),
                    time_unix_nano: nanos(now),
                    ..point.clone()
                });
                Some(instrument.metric(points.collect()))
            })
            .collect();
        metrics.push(lost.metric(now));
        let scoped = ScopeMetrics { scope: Some(scope()), metrics, ..Default::default() };
        let of_resource = ResourceMetrics {
            resource: Some(resource.clone()),
            scope_metrics: vec![scoped],
            ..Default::default()
        };
        ExportMetricsServiceRequest { resource_metrics: vec![of_resource] }
    }
}

impl Instrument {
    fn metric(&self, data_points: Vec<HistogramDataPoint>) -> Metric {
        let histogram = Histogram { data_points, aggregation_temporality: CUMULATIVE };
        Metric {
            name: self.name.to_owned(),
            description: self.about.to_owned(),
            unit: self.unit.to_owned(),
            data: Some(Data::Histogram(histogram)),
            ..Default::default()
        }
    }
}

impl OtlpLabelValue {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(Self::Text(text.to_string())),
            Value::Whole(number) => Some(Self::Whole(*number)),
            Value::Flag(flag) => Some(Self::Flag(*flag)),
            Value::Real(_) | Value::Texts(_) => None,
        }
    }

    fn attribute(&self, name: &str) -> KeyValue {
        let value = match self {
            Self::Text(value) => text(value),
            Self::Whole(number) => AttributeValue::IntValue(*number),
            Self::Flag(flag) => AttributeValue::BoolValue(*flag),
        };
        attribute(name, value)
    }
}

/// Spans dropped since the start.
pub(super) struct DroppedSpans {
    pub(super) since: SystemTime,
    pub(super) spans: u64,
}

impl DroppedSpans {
    fn metric(&self, now: SystemTime) -> Metric {
        let spans = i64::try_from(self.spans).unwrap_or(i64::MAX);
        let point = NumberDataPoint {
            start_time_unix_nano: nanos(self.since),
            time_unix_nano: nanos(now),
            value: Some(NumberValue::AsInt(spans)),
            ..Default::default()
        };
        let sum = Sum {
            data_points: vec![point],
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        };
        Metric {
            name: "tollgate.telemetry.spans.dropped".to_owned(),
            description: "Spans that could not be sent.".to_owned(),
            unit: "{span}".to_owned(),
            data: Some(Data::Sum(sum)),
            ..Default::default()
        }
    }
}

fn text_of<'s>(attributes: &'s SpanAttributes, name: &str) -> Option<&'s str> {
    match attributes.get(name)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// Default interval of the metrics export.
pub(super) const USUALLY_EVERY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
