//! SECURITY.md is true where it can be checked: the limits that the config has, and what a release
//! is made of.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use tollgate_testkit::{root, skip};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The cells of a table's rows, without the bars.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.map(|row| row.split(" | ").collect())
}

/// Keys of a section of the config with their defaults, from the generated manual.
fn document_sections<'t>(manual: &'t str, section: &str) -> Vec<(String, &'t str)> {
    let (_, after) =
        manual.split_once(&format!("\n## `{section}`\n")).expect("the section is there");
    let table = after.split("\n## ").next().unwrap_or_default();
    let keys: Vec<(String, &str)> = rows(table)
        .filter(|cells| cells[0].starts_with('`'))
        .map(|cells| (format!("{section}.{}", cells[0].trim_matches('`')), cells[2]))
        .collect();
    assert!(!keys.is_empty(), "`{section}` has no keys");
    keys
}

/// Both ways: a limit that nobody told callers of helps nobody, and one that is gone misleads.
#[test]
fn every_limit_of_the_config_is_in_security_md_with_its_default() {
    let manual = read("docs/configuration.md");
    let security = read("SECURITY.md");
    let mut known = BTreeSet::new();
    for section in ["limits", "shutdown", "approvals"] {
        for (key, default) in document_sections(&manual, section) {
            let cell = format!("`{key}`");
            let row = rows(&security).find(|cells| cells.get(2) == Some(&cell.as_str()));
            let row = row.unwrap_or_else(|| panic!("SECURITY.md has no row for `{key}`"));
            assert_eq!(row.len(), 4, "{row:?}");
            assert_eq!(row[1], default, "the default of `{key}` in SECURITY.md");
            assert!(!row[3].is_empty(), "SECURITY.md says what a caller sees of `{key}`");
            known.insert(cell);
        }
    }
    for cells in rows(&security).filter(|cells| cells.len() == 4) {
        let is_ours =
            ["`limits.", "`shutdown.", "`approvals."].iter().any(|it| cells[2].starts_with(it));
        assert!(!is_ours || known.contains(cells[2]), "{}: the config has no such key", cells[2]);
    }
}

/// CycloneDX 1.6: what is required, and what makes it useful.
#[test]
fn the_bill_of_materials_names_all_that_a_release_is_made_of() {
    if !skip::require_program("python3") {
        return;
    }
    let output = Command::new(root().join("scripts/sbom")).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "scripts/sbom: {complaint}");
    let bom: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
    assert!(bom["serialNumber"].as_str().is_some_and(|it| it.starts_with("urn:uuid:")));
    assert!(bom["version"].is_u64() && bom["metadata"]["timestamp"].is_string());
    assert_eq!(bom["metadata"]["component"]["name"], "tollgate");
    let components = bom["components"].as_array().unwrap();
    let mut references =
        BTreeSet::from([bom["metadata"]["component"]["bom-ref"].as_str().unwrap()]);
    for component in components {
        for key in ["type", "name", "version", "purl", "bom-ref"] {
            assert!(component[key].is_string(), "{component} has no `{key}`");
        }
        let licence = component["licenses"][0]["expression"].as_str().unwrap_or_default();
        assert!(!licence.is_empty() && !licence.contains('/'), "{component}");
        assert!(references.insert(component["bom-ref"].as_str().unwrap()), "twice: {component}");
    }
    for dependency in bom["dependencies"].as_array().unwrap() {
        let named =
            dependency["dependsOn"].as_array().into_iter().flatten().chain([&dependency["ref"]]);
        for reference in named.filter_map(Value::as_str) {
            assert!(references.contains(reference), "{reference} is no component");
        }
    }
    let has = |name: &str| components.iter().any(|component| component["name"] == name);
    for name in ["tokio", "rustls", "tollgate-core", "starlark", "react"] {
        assert!(has(name), "{name} is missing");
    }
    for name in ["proptest", "tempfile", "tollgate-testkit", "vite"] {
        assert!(!has(name), "{name} is for tests only");
    }
}
