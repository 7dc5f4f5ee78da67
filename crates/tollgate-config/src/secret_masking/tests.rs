//! S-07: secrets go in and do not come out.

use std::path::Path;

use super::super::diagnostic::Problems;
use super::super::{json, yaml_tree};
use super::SecretMasks;

const FILE: &str = "t.yaml";

/// Everything that is secret in it says `canary`.
const SECRETS: &str = "\
database: postgres://user:canary@host/db
redis: 'redis://:canary@host'
servers:
  a:
    command: x
    env:
      TOKEN: canary # stays
      REFERENCE: ${TOKEN}
      BLOCK: |
        canary
        canary
      FOLDED: >-
        canary
  b:
    url: https://x.test/mcp
    headers: { X-Key: \"canary\", Authorization: Bearer canary }
    auth: { token: &token canary }
  c:
    url: https://x.test/mcp
    category: &odd canary
    auth:
      oauth: { client_id: shown, client_secret: *token, toekn: canary }
  d:
    url: https://x.test/mcp
    auth: { token: *odd }
  e:
    command: [srv, --api-key, canary, '--token=canary', --verbose]
    args: [\"0a1b2c3d4e5f0a1b2c3d4canary\", --key, \"${KEY}\"]
  f:
    command: srv --password canary /data
  g:
    url: \"https://x.test/mcp?api_key=canary-1234\"
  - broken
";

fn text() -> String {
    SECRETS.replace("  - broken\n", "")
}

#[test]
fn s_07_no_secret_is_shown_and_no_reference_hidden() {
    let masks = SecretMasks::new();
    let shown = masks.cover(Path::new(FILE), &text()).unwrap();
    assert!(!shown.contains("canary"), "{shown}");
    for stored in [
        "[srv, --api-key, ",
        "--verbose]",
        "--key, \"${KEY}\"]",
        "REFERENCE: ${TOKEN}",
        "# stays",
        "client_id: shown",
        "url: https://x.test/mcp",
    ] {
        assert!(shown.contains(stored), "{stored}: {shown}");
    }
}

#[test]
fn s_07_saving_what_was_shown_changes_nothing() {
    let masks = SecretMasks::new();
    let shown = masks.cover(Path::new(FILE), &text()).unwrap();
    let saved = masks.uncover(Path::new(FILE), &shown, &text()).unwrap();
    let value = |text: &str| {
        let tree = yaml_tree::parse(text, &mut Problems::default()).unwrap();
        json::from_node(&tree)
    };
    assert_eq!(value(&saved), value(&text()));
    assert_eq!(masks.cover(Path::new(FILE), &saved).unwrap(), shown);
}

#[test]
fn s_07_a_text_with_a_masked_value_in_it_is_not_saved() {
    let masks = SecretMasks::new();
    let sent = format!("# it is {}\n{}", super::MASKED_VALUE, text());
    let report = masks.uncover(Path::new(FILE), &sent, &text()).unwrap_err();
    assert!(report.to_string().contains("write the secret, or better"), "{report}");
    masks.uncover(Path::new(FILE), &sent, &sent).unwrap();
}

#[test]
fn a_cover_that_covers_nothing_is_a_mistake_with_a_place() {
    let masks = SecretMasks::new();
    for cover in ["***", "***0123456789ab"] {
        let sent = format!("servers:\n  b:\n    auth: {{ token: '{cover}' }}\n");
        let report = masks.uncover(Path::new(FILE), &sent, &text()).unwrap_err();
        assert_eq!(report.to_string(), "t.yaml:3:20: this mask matches no secret of the file");
    }
}

#[test]
fn what_is_no_yaml_is_not_shown_at_all() {
    let report = SecretMasks::new().cover(Path::new(FILE), "token: canary\n  x: [").unwrap_err();
    assert!(!report.to_string().contains("canary"), "{report}");
    assert!(SecretMasks::new().cover(Path::new(FILE), SECRETS).is_err());
}

#[test]
fn a_list_of_servers_and_lone_values_are_covered_as_well() {
    let text =
        "servers:\n  - name: a\n    env: { A: canary }\nkeys:\n  - name: ops\n    key: canary\n";
    let shown = SecretMasks::new().cover(Path::new(FILE), text).unwrap();
    assert!(!shown.contains("canary") && shown.contains("name: ops"), "{shown}");
    for odd in ["servers: canary\n", "keys: canary\n", "canary\n", "keys: [canary]\n"] {
        let shown = SecretMasks::new().cover(Path::new(FILE), odd).unwrap();
        assert!(!shown.contains("canary"), "{shown}");
    }
}
