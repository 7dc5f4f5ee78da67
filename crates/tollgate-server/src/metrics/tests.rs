//! That the table is sound, and the reference is what the table says.

use std::collections::BTreeSet;

use super::reference::reference;
use super::table::{MetricFamily, MetricFamilyKind, SECTIONS};

const DOCUMENT: &str = include_str!("../../../../docs/metrics.md");

fn families() -> impl Iterator<Item = &'static &'static MetricFamily> {
    SECTIONS.iter().flat_map(|(_, families)| families.iter())
}

#[test]
fn the_reference_is_made_from_the_table() {
    let how = "run: cargo run -p tollgate-server --example metrics > docs/metrics.md";
    assert!(DOCUMENT == reference(), "{how}");
}

#[test]
fn names_are_as_prometheus_wants_them() {
    let mut names = BTreeSet::new();
    for family in families() {
        let MetricFamily { name, kind, help, labels, .. } = family;
        assert!(names.insert(name), "{name} stands twice");
        let is_plain = |text: &str| text.chars().all(|it| it.is_ascii_lowercase() || it == '_');
        assert!(is_plain(name) && labels.iter().all(|label| is_plain(label)), "{name}");
        assert_eq!(*kind == MetricFamilyKind::Counter, name.ends_with("_total"), "{name}");
        assert!(help.ends_with('.') && !help.contains(['\n', '\\']), "{name}");
        assert!(*kind != MetricFamilyKind::Histogram || !labels.contains(&"le"), "{name}");
    }
}

#[test]
fn no_label_holds_what_somebody_said_or_who_it_was() {
    let allowed = [
        "action",
        "server",
        "tool",
        "status",
        "method",
        "outcome",
        "tier",
        "mcp_method_name",
        "error_type",
        "result",
        "rule",
        "reason",
        "state",
        "model",
        "part",
        "provider",
        "endpoint",
        "direction",
        "agent",
        "kind",
        "dialect",
        "scope",
        "version",
    ];
    for family in families() {
        for label in family.labels {
            assert!(allowed.contains(label), "{}: is `{label}` bounded?", family.name);
        }
    }
}
