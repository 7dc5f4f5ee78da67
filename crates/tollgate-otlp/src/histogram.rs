//! Histograms computed from spans, with the names and buckets of the OpenTelemetry conventions.
//! Owned by the exporter task: nothing here is on the path of a call.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use tollgate_engine::spans::{ERROR_TYPE, FinishedSpan, SpanAttributes, SpanKind, Value as Told};

use super::message::{OtlpMessage, OtlpValue};
use super::spans::{attribute, nanos, scope, text_value};

/// Limit on the series of one instrument. Further ones are counted together, as OpenTelemetry
/// specifies.
const MOST_SERIES: usize = 2_000;
const OVERFLOW: &str = "otel.metric.overflow";
const CUMULATIVE: u32 = 2;

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

/// All measurements since the start.
#[derive(Default)]
pub(super) struct Histograms {
    series: HashMap<&'static str, HashMap<OtlpLabels, HistogramSeries>>,
}

/// Label values in the order of the instrument's names.
type OtlpLabels = Vec<(&'static str, OtlpLabelValue)>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum OtlpLabelValue {
    Text(String),
    Whole(i64),
    Flag(bool),
}

struct HistogramSeries {
    since: SystemTime,
    count: u64,
    sum: f64,
    least: f64,
    most: f64,
    buckets: Vec<u64>,
}

impl Histograms {
    /// Counts a span.
    pub(super) fn hear(&mut self, span: &FinishedSpan) {
        let seconds = span.took.as_secs_f64();
        let said = &span.attributes;
        let operation = text(said, "gen_ai.operation.name");
        let is_mcp = said.get("mcp.method.name").is_some();
        match (span.kind, is_mcp, operation) {
            (SpanKind::Client, true, _) => self.put((&MCP_CLIENT, &[]), span, seconds),
            (SpanKind::Server, true, _) => self.put((&MCP_SERVER, &[]), span, seconds),
            (_, false, Some("chat")) => self.hear_model(span, seconds),
            (_, false, Some("execute_tool")) => self.put((&TOOL, &[]), span, seconds),
            (_, false, Some("invoke_agent")) => self.put((&AGENT, &[]), span, seconds),
            _ => {}
        }
    }

    fn hear_model(&mut self, span: &FinishedSpan, seconds: f64) {
        self.put((&MODEL, &[]), span, seconds);
        if let Some(Told::Real(first)) = span.attributes.get("gen_ai.response.time_to_first_chunk")
        {
            self.put((&FIRST_CHUNK, &[]), span, *first);
        }
        for (key, kind) in
            [("gen_ai.usage.input_tokens", "input"), ("gen_ai.usage.output_tokens", "output")]
        {
            if let Some(Told::Whole(tokens)) = span.attributes.get(key) {
                let more = [("gen_ai.token.type", OtlpLabelValue::Text(kind.to_owned()))];
                self.put((&USAGE, &more), span, *tokens as f64);
            }
        }
    }

    /// `more` are labels that the span does not have.
    fn put(
        &mut self,
        (instrument, more): (&'static Instrument, &[(&'static str, OtlpLabelValue)]),
        span: &FinishedSpan,
        value: f64,
    ) {
        let mut labels: OtlpLabels = instrument
            .labels
            .iter()
            .filter_map(|name| Some((*name, label(span.attributes.get(name)?)?)))
            .collect();
        labels.extend_from_slice(more);
        let series = self.series.entry(instrument.name).or_default();
        if series.len() >= MOST_SERIES && !series.contains_key(&labels) {
            labels = vec![(OVERFLOW, OtlpLabelValue::Flag(true))];
        }
        let one = series.entry(labels).or_insert_with(|| HistogramSeries {
            since: span.began,
            count: 0,
            sum: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            buckets: vec![0; instrument.bounds.len() + 1],
        });
        one.count += 1;
        one.sum += value;
        one.least = one.least.min(value);
        one.most = one.most.max(value);
        // A bucket includes its upper bound.
        one.buckets[instrument.bounds.partition_point(|bound| *bound < value)] += 1;
    }

    /// A request to `/v1/metrics` with the state at `now`. `lost` are dropped spans.
    pub(super) fn request(
        &self,
        resource: &OtlpMessage,
        now: SystemTime,
        lost: &DroppedSpans,
    ) -> OtlpMessage {
        let mut metrics: Vec<OtlpMessage> = ALL
            .iter()
            .filter_map(|instrument| {
                let series = self.series.get(instrument.name)?;
                let points = series.iter().map(|it| point(instrument, it, now)).collect();
                Some(metric(instrument, points))
            })
            .collect();
        metrics.push(lost.metric(now));
        let scoped = OtlpMessage::default().with(1, "scope", OtlpValue::One(scope())).with(
            2,
            "metrics",
            OtlpValue::Many(metrics),
        );
        let of_resource = OtlpMessage::default()
            .with(1, "resource", OtlpValue::One(resource.clone()))
            .with(2, "scopeMetrics", OtlpValue::Many(vec![scoped]));
        OtlpMessage::default().with(1, "resourceMetrics", OtlpValue::Many(vec![of_resource]))
    }
}

/// Spans dropped since the start.
pub(super) struct DroppedSpans {
    pub(super) since: SystemTime,
    pub(super) spans: u64,
}

impl DroppedSpans {
    fn metric(&self, now: SystemTime) -> OtlpMessage {
        let spans = i64::try_from(self.spans).unwrap_or(i64::MAX);
        let point = OtlpMessage::default()
            .with(2, "startTimeUnixNano", OtlpValue::Fixed64(nanos(self.since)))
            .with(3, "timeUnixNano", OtlpValue::Fixed64(nanos(now)))
            .with(6, "asInt", OtlpValue::Fixed64(spans.cast_unsigned()));
        let sum = OtlpMessage::default()
            .with(1, "dataPoints", OtlpValue::Many(vec![point]))
            .with(2, "aggregationTemporality", OtlpValue::Small(CUMULATIVE))
            .with(3, "isMonotonic", OtlpValue::Flag(true));
        OtlpMessage::default()
            .with(1, "name", OtlpValue::Text("tollgate.telemetry.spans.dropped".to_owned()))
            .with(2, "description", OtlpValue::Text("Spans that could not be sent.".to_owned()))
            .with(3, "unit", OtlpValue::Text("{span}".to_owned()))
            .with(7, "sum", OtlpValue::One(sum))
    }
}

fn metric(instrument: &Instrument, points: Vec<OtlpMessage>) -> OtlpMessage {
    let histogram = OtlpMessage::default().with(1, "dataPoints", OtlpValue::Many(points)).with(
        2,
        "aggregationTemporality",
        OtlpValue::Small(CUMULATIVE),
    );
    OtlpMessage::default()
        .with(1, "name", OtlpValue::Text(instrument.name.to_owned()))
        .with(2, "description", OtlpValue::Text(instrument.about.to_owned()))
        .with(3, "unit", OtlpValue::Text(instrument.unit.to_owned()))
        .with(9, "histogram", OtlpValue::One(histogram))
}

fn point(
    instrument: &Instrument,
    (labels, series): (&OtlpLabels, &HistogramSeries),
    now: SystemTime,
) -> OtlpMessage {
    let labels = labels.iter().map(|(name, label)| {
        let value = match label {
            OtlpLabelValue::Text(text) => text_value(text),
            OtlpLabelValue::Whole(number) => {
                OtlpMessage::default().with(3, "intValue", OtlpValue::Signed(*number))
            }
            OtlpLabelValue::Flag(flag) => {
                OtlpMessage::default().with(2, "boolValue", OtlpValue::Flag(*flag))
            }
        };
        attribute(name, value)
    });
    OtlpMessage::default()
        .with(9, "attributes", OtlpValue::Many(labels.collect()))
        .with(2, "startTimeUnixNano", OtlpValue::Fixed64(nanos(series.since)))
        .with(3, "timeUnixNano", OtlpValue::Fixed64(nanos(now)))
        .with(4, "count", OtlpValue::Fixed64(series.count))
        .with(5, "sum", OtlpValue::Double(series.sum))
        .with(6, "bucketCounts", OtlpValue::Fixed64s(series.buckets.clone()))
        .with(7, "explicitBounds", OtlpValue::Doubles(instrument.bounds.to_vec()))
        .with(11, "min", OtlpValue::Double(series.least))
        .with(12, "max", OtlpValue::Double(series.most))
}

fn label(value: &Told) -> Option<OtlpLabelValue> {
    match value {
        Told::Text(text) => Some(OtlpLabelValue::Text(text.to_string())),
        Told::Whole(number) => Some(OtlpLabelValue::Whole(*number)),
        Told::Flag(flag) => Some(OtlpLabelValue::Flag(*flag)),
        Told::Real(_) | Told::Texts(_) => None,
    }
}

fn text<'s>(said: &'s SpanAttributes, name: &str) -> Option<&'s str> {
    match said.get(name)? {
        Told::Text(text) => Some(text),
        _ => None,
    }
}

/// Default interval of the metrics export.
pub(super) const USUALLY_EVERY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
