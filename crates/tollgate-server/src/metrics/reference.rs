//! Generates `docs/metrics.md` from the metric table, so that they cannot differ.

use std::fmt::Write as _;

use super::table::SECTIONS;

const HEAD: &str = "# Metrics

Made from the code: `cargo run -p tollgate-server --example metrics > docs/metrics.md`.

`GET /metrics` gives these in the text format of Prometheus. It needs the right `observe`: a key that has it, or the admin token, in
`authorization: Bearer`. `packaging/prometheus/alerts.yml` has alert rules (`promtool test rules` tries them), `packaging/grafana` a
dashboard with its provisioning, `packaging/compose.yaml` runs all of it.

Labels hold names of servers, tools, agents and models, and words from fixed lists: nothing that somebody said, no argument, no
key, no principal. Names of tools are their servers' text, and are escaped. All counters begin at 0 with the process.
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
            let (name, kind, help) = (family.name, family.kind.as_str(), family.help);
            let about = match family.about {
                "" => String::new(),
                about => format!(" {about}"),
            };
            let _ = writeln!(out, "| `{name}` | {kind} | {} | {help}{about} |", labels.join(", "));
        }
    }
    out
}
