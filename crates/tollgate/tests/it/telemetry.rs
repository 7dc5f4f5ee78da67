//! `tollgate telemetry`: export and import of figures.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::fake;
use crate::tollgate;

const EXPORT: &str = r#"{"format":"tollgate-telemetry/1","tools":[
    {"category":"search","tool":"look_up","calls":3,"errors":1,"badge":"lightning","histogram":[[17,2]]}]}"#;

#[test]
fn figures_are_exported_and_merged() {
    let folder = TempDir::new().unwrap();
    let gateway =
        fake::serve(&[("GET /healthz", r#"{"tollgate":"0.1.0"}"#), ("GET /api/telemetry", EXPORT)]);
    let listen = gateway.address.to_string();
    let export = |words: &[&str]| {
        let words = [&["telemetry", "export", "--listen", &listen], words].concat();
        tollgate(folder.path(), &words)
    };
    let run = export(&[]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let figures: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(figures, serde_json::from_str::<Value>(EXPORT).unwrap());
    let run = export(&["--out", "a.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(run.stderr, "statistics of 1 tool are in a.json\n");

    let run = tollgate(folder.path(), &["telemetry", "merge", "a.json", "a.json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let merged: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(merged["tools"][0]["calls"], 6);
    assert_eq!(merged["tools"][0]["histogram"][0][1], 4);
    let run = tollgate(folder.path(), &["telemetry", "merge", "a.json", "--out", "no/b.json"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.starts_with("error: no/b.json: No such file"), "{}", run.stderr);
}

#[test]
fn a_bad_file_is_named_with_its_field() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("good.json"), EXPORT).unwrap();
    fs::write(folder.path().join("bad.json"), EXPORT.replace("\"calls\":3", "\"calls\":\"x\""))
        .unwrap();
    fs::write(folder.path().join("bytes.json"), [0xff, 0xfe, 0x00]).unwrap();
    for (file, expected) in [
        ("bad.json", "error: bad.json: `tools[0].calls`: must be a whole number, 0 or more\n"),
        ("none.json", "error: none.json: No such file or directory (os error 2)\n"),
        ("bytes.json", "error: bytes.json: stream did not contain valid UTF-8\n"),
    ] {
        let words = ["telemetry", "merge", "good.json", file, "--out", "out.json"];
        let run = tollgate(folder.path(), &words);
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), expected));
        assert!(!folder.path().join("out.json").exists(), "nothing is written");
    }
    assert_eq!(tollgate(folder.path(), &["telemetry", "merge"]).code, Some(2));
}
