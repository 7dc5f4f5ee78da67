//! `tollgate memory`, without a gateway and through a running one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::running::Served;
use crate::{run_with_input, tollgate};

/// Whom a command asks.
#[derive(Clone, Copy)]
struct GatewayPaths<'a> {
    folder: &'a Path,
    listen: &'a str,
    data: &'a str,
}

impl<'a> GatewayPaths<'a> {
    fn nobody(folder: &'a TempDir) -> Self {
        Self { folder: folder.path(), listen: "127.0.0.1:0", data: "./data" }
    }

    fn gateway(served: &'a Served) -> Self {
        Self { folder: served.folder.path(), listen: &served.address, data: "./data" }
    }

    fn run(self, arguments: &[&str]) -> crate::Run {
        let where_to = ["--listen", self.listen, "--data", self.data];
        tollgate(self.folder, &[&["memory"], arguments, &where_to].concat())
    }

    fn well(self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
        run.stdout
    }

    fn json(self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.well(&[arguments, &["--json"]].concat())).unwrap()
    }
}

const TRANSCRIPT: &str = "# The harbour\n\nMira: The silver key is under the third step.\n\
    Tam: Aye, by the lighthouse.\n";

fn whole_story(asked: GatewayPaths<'_>) {
    assert_eq!(
        asked.well(&["add-entity", "npc", "Mira Voss", "age=41", "trade=smuggler"]),
        "saved as `npc-mira-voss`\n"
    );
    asked.well(&["add-entity", "location", "Lighthouse"]);
    asked.well(&["relate", "npc-mira-voss", "keeps", "location-lighthouse", "--confidence", "0.5"]);
    let fact = ["add", "Mira Voss is afraid of herons", "--about", "npc-mira-voss"];
    assert!(asked.well(&fact).starts_with("saved as fact "));
    assert_eq!(
        asked.well(&["show", "npc-mira-voss"]),
        "Mira Voss, npc (id npc-mira-voss)\n  age: 41\n  trade: smuggler\n  \
         Mira Voss keeps Lighthouse (id location-lighthouse), perhaps\n  \
         Mira Voss is afraid of herons\n"
    );
    let file = "2026-01-05-harbour.txt";
    fs::write(asked.folder.join(file), TRANSCRIPT).unwrap();
    let tried = asked.well(&["import", file, "--dry-run"]);
    assert!(tried.contains("2 entries") && tried.contains("nothing was saved"), "{tried}");
    assert_eq!(asked.json(&["sessions"])["sessions"], serde_json::json!([]));
    let taken = asked.well(&["import", file]);
    let expected = "2026-01-05-harbour.txt: 2 entries of session `2026-01-05-harbour`, from 2026-01-05T00:00:00Z\n";
    assert_eq!(taken, expected);
    let again = asked.well(&["import", file]);
    assert!(again.ends_with("; new: nothing\n"), "{again}");
    let shown = asked.well(&["show", "2026-01-05-harbour"]);
    assert!(shown.contains("2026-01-05 00:00  Mira: The silver key"), "{shown}");
    let found = asked.json(&["search", "where is the silver key?"]);
    assert_eq!(found["results"][0]["speaker"], "Mira", "{found}");
    let found = asked.json(&["search", "heron"]);
    assert_eq!(found["results"][0]["about"], "npc-mira-voss", "{found}");
    let table = asked.well(&["search", "--entities", "mira"]);
    assert!(table.contains("npc-mira-voss  npc   Mira Voss  age=41 trade=smuggler"), "{table}");
    asked.well(&["export", "-o", "all.jsonl"]);
    let exported = asked.folder.join("all.jsonl");
    assert_eq!(exported.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let lines = fs::read_to_string(&exported).unwrap();
    assert_eq!((lines.lines().count(), asked.well(&["export"])), (6, lines));
    asked.well(&["import", "all.jsonl", "--namespace", "copy"]);
    let namespaces = asked.json(&["namespaces"]);
    let names: Vec<&str> = namespaces["namespaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["namespace"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["copy", "default"]);
    let gone = asked.well(&["forget", "--session", "2026-01-05-harbour"]);
    assert!(gone.contains("2 entries"), "{gone}");
    asked.well(&["forget", "--everything", "--namespace", "copy", "--yes"]);
    assert_eq!(asked.json(&["sessions", "-n", "copy"])["sessions"], serde_json::json!([]));
}

#[test]
fn what_is_remembered_by_command_is_there_without_a_gateway() {
    let folder = TempDir::new().unwrap();
    whole_story(GatewayPaths::nobody(&folder));
}

#[test]
fn and_the_same_goes_through_a_gateway_that_runs() {
    let served = Served::start("agents: { sage: { tools: [search_facts] } }");
    let asked = GatewayPaths::gateway(&served);
    whole_story(asked);
    let rows = served.ask("GET", "/api/audit?kind=memory&limit=100").json();
    let lines: Vec<String> = rows["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!("{} {} {}", row["principal"], row["outcome"], row["name"]).replace('"', "")
        })
        .collect();
    for expected in [
        "admin kept npc-mira-voss",
        "admin kept npc-mira-voss keeps location-lighthouse",
        "admin imported lines",
        "admin forgotten 2026-01-05-harbour",
        "admin forgotten copy",
    ] {
        assert!(lines.iter().any(|it| it == expected), "{expected}: {lines:?}");
    }
    asked.well(&["backup", "copy.db"]);
    assert!(asked.folder.join("copy.db").metadata().unwrap().len() > 0);
    let twice = asked.run(&["backup", "copy.db"]);
    assert_eq!(twice.code, Some(1), "a backup replaces nothing");
}

#[test]
fn what_is_wrong_is_named_with_its_file_and_line() {
    let folder = TempDir::new().unwrap();
    let asked = GatewayPaths::nobody(&folder);
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("bad.jsonl", "{\"kind\":\"fact\",\"text\":\"x\"}\n\n{\"kind\":\"fact\"}\n");
    write("empty.txt", "\n# Nothing\n");
    write("bad.json", "[{\"speaker\": \"a\"}]");
    write("bad.srt", "1\n00:0x --> 00:02\nOh\n");
    for (arguments, code, message) in [
        (&["import", "bad.jsonl"][..], 1, "bad.jsonl:3: `text` is missing"),
        (&["import", "empty.txt"], 1, "empty.txt: it contains no utterances"),
        (&["import", "bad.json"], 1, "bad.json: entry 1: it has none of `text`"),
        (&["import", "bad.srt"], 1, "bad.srt:2: `00:0x` is not a time"),
        (&["import", "none.txt"], 1, "none.txt: No such file"),
        (&["import", "a.txt", "b.txt", "--session", "s"], 2, "`--session` requires a single file"),
        (&["import", "empty.txt", "--date", "soon"], 1, "it contains no utterances"),
        (&["import", "bad.jsonl", "--date", "2026-01-01"], 2, "remove `--session` and `--date`"),
        (&["import", "-"], 2, "requires `--format`"),
        (&["show", "nobody"], 1, "there is neither an entity nor a session `nobody`"),
        (&["relate", "a", "b", "c"], 1, "there is no entity `a`"),
        (&["add", " "], 1, "`text` is empty"),
        (&["add", "x", "--about", "nobody"], 1, "there is no entity `nobody`"),
        (&["add", "x", "--agent", "nobody"], 1, "there is no agent `nobody`"),
        (&["add", "x", "--namespace", "a/b/c"], 1, "`namespace`: "),
        (&["add-entity", "npc", "Mira", "age"], 2, "`age` is not KEY=VALUE"),
        (&["forget"], 2, "required"),
        (&["forget", "--everything", "--namespace", "x"], 2, "--yes"),
        (&["forget", "--before", "soon"], 1, "`before` is a time"),
        (&["forget", "--fact", "7"], 1, "there is no fact `7`"),
    ] {
        let run = asked.run(arguments);
        assert_eq!(run.code, Some(code), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    let piped =
        ["memory", "import", "-", "--format", "text", "--session", "s", "--date", "2026-01-01"];
    let run =
        run_with_input(folder.path(), &[&piped[..], &["--data", "./data"]].concat(), TRANSCRIPT);
    assert_eq!((run.code, run.stdout.contains("2 entries of session `s`")), (Some(0), true));
}
