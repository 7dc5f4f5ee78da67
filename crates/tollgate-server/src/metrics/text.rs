//! Prometheus text format, version 0.0.4: families, samples, histograms. Labels may contain
//! untrusted text, so everything that could end a quote or a line is escaped.

use std::fmt::{Display, Write as _};

use tollgate_engine::calls::HistogramSnapshot;

use super::table::{MetricFamily, MetricFamilyKind};

#[derive(Default)]
pub(super) struct PrometheusText {
    out: String,
}

/// One histogram with cumulative counts per bound.
pub(super) struct HistogramBuckets<'b> {
    pub(super) counts: &'b [(u64, u64)],
    /// The same bounds as text.
    pub(super) bounds: &'b [String],
    pub(super) count: u64,
    pub(super) sum: f64,
}

impl<'b> HistogramBuckets<'b> {
    /// From durations, in seconds.
    pub(super) fn of(spans: &'b HistogramSnapshot, bounds: &'b [String]) -> Self {
        let HistogramSnapshot { up_to, count, sum } = spans;
        Self { counts: up_to, bounds, count: *count, sum: sum.as_secs_f64() }
    }
}

/// Encoded label pairs of a sample.
pub(super) struct MetricLabels(String);

impl MetricLabels {
    pub(super) const fn none() -> Self {
        Self(String::new())
    }

    /// One value per label of the family, in the same order.
    pub(super) fn of(family: &MetricFamily, values: &[&str]) -> Self {
        let mut pairs = String::new();
        for (label, value) in family.labels.iter().zip(values) {
            if !pairs.is_empty() {
                pairs.push(',');
            }
            let _ = write!(pairs, "{label}=\"");
            escape(value, &mut pairs);
            pairs.push('"');
        }
        Self(pairs)
    }
}

/// Control characters and line separators are replaced: they could break lines or control
/// terminals.
fn escape(value: &str, out: &mut String) {
    for sign in value.chars() {
        match sign {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\u{2028}' | '\u{2029}' => out.push('\u{fffd}'),
            sign if sign.is_control() => out.push('\u{fffd}'),
            sign => out.push(sign),
        }
    }
}

impl PrometheusText {
    /// Must be called once, before all samples of the family.
    pub(super) fn family(&mut self, family: &MetricFamily) {
        let MetricFamily { name, help, .. } = family;
        let kind = family.kind.as_str();
        let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(super) fn sample(
        &mut self,
        family: &MetricFamily,
        labels: &MetricLabels,
        value: impl Display,
    ) {
        let name = family.name;
        let _ = match labels.0.as_str() {
            "" => writeln!(self.out, "{name} {value}"),
            labels => writeln!(self.out, "{name}{{{labels}}} {value}"),
        };
    }

    /// A family of one sample without labels.
    pub(super) fn single(&mut self, family: &MetricFamily, value: impl Display) {
        self.family(family);
        self.sample(family, &MetricLabels::none(), value);
    }

    pub(super) fn histogram(
        &mut self,
        family: &MetricFamily,
        labels: &MetricLabels,
        buckets: &HistogramBuckets<'_>,
    ) {
        let name = family.name;
        let pairs = &labels.0;
        let HistogramBuckets { counts, bounds, count, sum } = buckets;
        let comma = if pairs.is_empty() { "" } else { "," };
        for ((_, count), bound) in counts.iter().zip(*bounds) {
            for part in [name, "_bucket{", pairs, comma, "le=\"", bound] {
                self.out.push_str(part);
            }
            let _ = writeln!(self.out, "\"}} {count}");
        }
        let _ = writeln!(self.out, "{name}_bucket{{{pairs}{comma}le=\"+Inf\"}} {count}");
        let (open, close) = if pairs.is_empty() { ("", "") } else { ("{", "}") };
        let _ = writeln!(self.out, "{name}_sum{open}{pairs}{close} {sum}");
        let _ = writeln!(self.out, "{name}_count{open}{pairs}{close} {count}");
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

/// Upper bounds of buckets in seconds, in Prometheus notation.
pub(super) fn seconds(micros: &[u64]) -> Vec<String> {
    #[expect(clippy::cast_precision_loss, reason = "bounds are small and round")]
    let written = |micros: &u64| (*micros as f64 / 1e6).to_string();
    micros.iter().map(written).collect()
}

impl MetricFamilyKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{HistogramBuckets, HistogramSnapshot, MetricLabels, PrometheusText, seconds};
    use crate::metrics::table::{CALL_LATENCY, MetricFamily, MetricFamilyKind};

    const MESSAGES: MetricFamily = MetricFamily {
        name: "t_total",
        kind: MetricFamilyKind::Counter,
        help: "What was told.",
        labels: &["server", "tool"],
        about: "",
    };

    #[test]
    fn strangers_text_stays_within_its_quotes() {
        for (name, expected) in [
            ("roll", "roll"),
            (r#"a"} 1"#, r#"a\"} 1"#),
            (r"back\slash", r"back\\slash"),
            ("two\nlines", r"two\nlines"),
            ("a\r\u{85}\u{2028}b\u{1b}[2J", "a\u{fffd}\u{fffd}\u{fffd}b\u{fffd}[2J"),
            ("würfel 🎲", "würfel 🎲"),
        ] {
            let mut text = PrometheusText::default();
            text.sample(&MESSAGES, &MetricLabels::of(&MESSAGES, &["s", name]), 1);
            let expected = format!("t_total{{server=\"s\",tool=\"{expected}\"}} 1\n");
            assert_eq!(text.finish(), expected, "{name}");
        }
    }

    #[test]
    fn a_histogram_has_its_buckets_its_sum_and_its_count() {
        let spans = HistogramSnapshot {
            up_to: vec![(1_000, 1), (500_000, 3)],
            count: 4,
            sum: Duration::from_millis(1_250),
        };
        let bounds = seconds(&[1_000, 500_000]);
        let mut text = PrometheusText::default();
        text.family(&CALL_LATENCY);
        let labels = MetricLabels::of(&CALL_LATENCY, &["fast"]);
        let buckets = HistogramBuckets::of(&spans, &bounds);
        text.histogram(&CALL_LATENCY, &labels, &buckets);
        text.histogram(&CALL_LATENCY, &MetricLabels::none(), &buckets);
        let lines: Vec<String> = text.finish().lines().map(str::to_owned).collect();
        assert_eq!(
            &lines[2..],
            [
                r#"tollgate_call_latency_seconds_bucket{tier="fast",le="0.001"} 1"#,
                r#"tollgate_call_latency_seconds_bucket{tier="fast",le="0.5"} 3"#,
                r#"tollgate_call_latency_seconds_bucket{tier="fast",le="+Inf"} 4"#,
                r#"tollgate_call_latency_seconds_sum{tier="fast"} 1.25"#,
                r#"tollgate_call_latency_seconds_count{tier="fast"} 4"#,
                r#"tollgate_call_latency_seconds_bucket{le="0.001"} 1"#,
                r#"tollgate_call_latency_seconds_bucket{le="0.5"} 3"#,
                r#"tollgate_call_latency_seconds_bucket{le="+Inf"} 4"#,
                "tollgate_call_latency_seconds_sum 1.25",
                "tollgate_call_latency_seconds_count 4",
            ]
        );
    }
}
