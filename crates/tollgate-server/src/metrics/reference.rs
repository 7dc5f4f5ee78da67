//! Generates `docs/metrics.md` from the metric table, so that they cannot differ.

use std::fmt::Write as _;

use super::table::{MetricFamily, SECTIONS};

const HEAD: &str = "# Metrics

Generated from the code: `cargo run -p tollgate-server --example metrics > docs/metrics.md`.

`GET /metrics` returns these metrics in the Prometheus text format. It requires the right `observe`: a key with this right, or the
admin token, in `authorization: Bearer`. `packaging/prometheus/alerts.yml` has alert rules (tested by `promtool test rules`),
`packaging/grafana` has a dashboard with its provisioning, `packaging/compose.yaml` runs all of them.

Labels contain names of servers, tools, agents and models, and words from fixed lists, but no utterances, arguments, keys or
principals. Names of tools come from their servers and are escaped. All counters start at 0 with the process.
";

/// The whole document.
pub fn reference() -> String {
    let mut out = HEAD.to_owned();
    for (section, families) in SECTIONS {
        let _ = write!(
            out,
            "\n## {section}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n"
        );
        for family in *families {
            let labels: Vec<String> = family.labels.iter().map(|it| format!("`{it}`")).collect();
            let kind = family.kind.as_str();
            let about = match family.about {
                "" => String::new(),
                about => format!(" {about}"),
            };
            let MetricFamily { name, help, .. } = family;
            let _ = writeln!(out, "| `{name}` | {kind} | {} | {help}{about} |", labels.join(", "));
        }
    }
    out
}
