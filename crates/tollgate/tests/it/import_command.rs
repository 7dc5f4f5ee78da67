//! `tollgate import` and `POST /api/import`: servers of other programs into the config file.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::running::Served;
use crate::{Run, run_with_input, tollgate_with};

const CONFIG: &str = "# mine\nlisten: 127.0.0.1:1\nservers:\n  web:\n    url: https://x.test/mcp\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tollgate.yaml"), CONFIG).unwrap();
    fs::create_dir_all(folder.path().join("home/.cursor")).unwrap();
    let cursor = r#"{
        // mine
        "mcpServers": {
            "web": {"url": "https://other.test/mcp"},
            "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"GIT_TOKEN": "canary", "A": "${B}"}, "x": 1},
        },
    }"#;
    fs::write(folder.path().join("home/.cursor/mcp.json"), cursor).unwrap();
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Run {
    let home = folder.join("home");
    tollgate_with(folder, arguments, &[("HOME", home.to_str().unwrap())])
}

fn config(folder: &Path) -> String {
    fs::read_to_string(folder.join("tollgate.yaml")).unwrap()
}

#[test]
fn a_program_is_found_by_its_name_and_clashes_are_decided() {
    let folder = folder();
    let folder = folder.path();
    let open = run(folder, &["import", "cursor"]);
    assert_eq!(open.code, Some(1), "{}{}", open.stdout, open.stderr);
    assert!(open.stdout.contains("! web (already exists)"), "{}", open.stdout);
    assert!(open.stderr.contains("`--overwrite`, `--skip` or `--rename`"), "{}", open.stderr);
    assert_eq!(config(folder), CONFIG);
    let tried = run(folder, &["import", "--from", "cursor", "--dry-run"]);
    assert_eq!(tried.code, Some(0), "{}", tried.stderr);
    assert!(tried.stdout.contains("- mcpServers.git.x: has no equivalent"), "{}", tried.stdout);
    assert!(tried.stderr.contains("nothing was changed"), "{}", tried.stderr);
    let renamed = run(folder, &["import", "cursor", "--rename"]);
    assert_eq!(renamed.code, Some(0), "{}", renamed.stderr);
    for (output, words) in [
        (&renamed.stdout, "+ web (as `web_2`: the name already exists)"),
        (&renamed.stdout, "it contained a literal secret; set `GIT_GIT_TOKEN` instead"),
        (&renamed.stderr, "the gateway needs `B` in its environment"),
        (&renamed.stderr, "the gateway needs `GIT_GIT_TOKEN` in its environment"),
    ] {
        assert!(output.contains(words), "{words}\n{output}");
    }
    let text = config(folder);
    assert!(
        text.starts_with(CONFIG) && text.contains("  web_2:\n    url: https://other.test/mcp\n")
    );
    assert!(text.contains("GIT_TOKEN: ${GIT_GIT_TOKEN}"), "{text}");
    for words in [&text, &renamed.stdout, &renamed.stderr, &tried.stdout] {
        assert!(!words.contains("canary"), "{words}");
    }
    let again = run(folder, &["import", "cursor", "--only", "git"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("= git (there already)"), "{}", again.stdout);
    assert_eq!(config(folder), text);
    let over = run(folder, &["import", "cursor", "--overwrite", "--only", "web"]);
    assert_eq!(over.code, Some(0), "{}", over.stderr);
    assert!(config(folder).contains("  web:\n    url: https://other.test/mcp\n"));
}

#[test]
fn two_programs_with_other_secrets_for_the_same_name_keep_both() {
    let folder = folder();
    let folder = folder.path();
    let claude = r#"{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"GIT_TOKEN": "canary-2"}}}}"#;
    fs::write(folder.join("home/.claude.json"), claude).unwrap();
    let both = run(folder, &["import", "--rename"]);
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    let text = config(folder);
    for words in ["  git_2:\n", "GIT_TOKEN: ${GIT_GIT_TOKEN}\n", "GIT_TOKEN: ${GIT_GIT_TOKEN_2}\n"]
    {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

/// One variable has one value, also when somebody imports twice.
#[test]
fn a_variable_of_the_config_is_not_given_to_another_secret() {
    let folder = folder();
    let folder = folder.path();
    let server = |word: &str, secret: &str| {
        json!({"mcpServers": {"h": {"command": "h", "args": [word], "env": {"OTHER_TOKEN": secret}}}})
            .to_string()
    };
    let first = run_with_input(folder, &["import", "-"], &server("a", "aaaa1234bbb"));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let text = config(folder);
    for more in [&["import", "-"][..], &["import", "-", "--rename"]] {
        let again = run_with_input(folder, more, &server("a", "aaaa1234bbb"));
        assert_eq!((again.code, config(folder)), (Some(0), text.clone()), "{}", again.stderr);
    }
    let other = run_with_input(folder, &["import", "-", "--rename"], &server("b", "cccc1234ddd"));
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    for words in [
        "  h:\n",
        "OTHER_TOKEN: ${H_OTHER_TOKEN}\n",
        "  h_2:\n",
        "OTHER_TOKEN: ${H_OTHER_TOKEN_2}\n",
    ] {
        assert!(config(folder).contains(words), "{words}\n{}", config(folder));
    }
    assert!(other.stdout.contains("set `H_OTHER_TOKEN_2` instead"), "{}", other.stdout);
    assert!(other.stderr.contains("needs `H_OTHER_TOKEN_2`"), "{}", other.stderr);
    assert!(!other.stderr.contains("needs `H_OTHER_TOKEN` "), "{}", other.stderr);
    // What is replaced leaves its variable to what replaces it.
    let over = run_with_input(folder, &["import", "-", "--overwrite"], &server("c", "eeee1234fff"));
    assert_eq!(over.code, Some(0), "{}", over.stderr);
    assert_eq!(config(folder).matches("${H_OTHER_TOKEN}").count(), 1, "{}", config(folder));
    // Whoever has it set knows that it is another.
    let set = [("H_OTHER_TOKEN", "eeee1234fff")];
    fs::write(folder.join("h.json"), server("c", "gggg1234hhh")).unwrap();
    let known = tollgate_with(folder, &["import", "h.json", "--rename"], &set);
    assert_eq!(known.code, Some(0), "{}", known.stderr);
    assert!(config(folder).contains("${H_OTHER_TOKEN_3}"), "{}", config(folder));
}

#[test]
fn names_that_are_alike_clash() {
    let folder = folder();
    let folder = folder.path();
    let alike = r#"{"mcpServers": {"WEB": {"url": "https://a.test/mcp"}}}"#;
    assert_eq!(run_with_input(folder, &["import", "-"], alike).code, Some(1));
    let renamed = run_with_input(folder, &["import", "-", "--rename"], alike);
    assert_eq!(renamed.code, Some(0), "{}", renamed.stderr);
    assert!(config(folder).contains("  WEB_2:\n"), "{}", config(folder));
    let over = run_with_input(folder, &["import", "-", "--overwrite"], alike);
    assert_eq!(over.code, Some(0), "{}", over.stderr);
    assert!(config(folder).contains("  web:\n    url: https://a.test/mcp\n"), "{}", config(folder));
}

#[test]
fn only_those_that_were_asked_for_count() {
    let folder = folder();
    let folder = folder.path();
    let web = run(folder, &["import", "cursor", "--only", "web", "--overwrite"]);
    assert_eq!(web.code, Some(0), "{}", web.stderr);
    assert!(!web.stderr.contains("needs"), "{}", web.stderr);
    let text = config(folder);
    let none = run(folder, &["import", "cursor", "--only", "git,nosuch"]);
    assert_eq!(none.code, Some(1), "{}", none.stderr);
    assert!(none.stderr.contains("there is no server `nosuch` in it"), "{}", none.stderr);
    assert_eq!(config(folder), text);
}

#[test]
fn links_of_editors_are_taken_from_the_command_line() {
    let folder = folder();
    let folder = folder.path();
    let server = "%7B%22name%22%3A%22pg%22%2C%22url%22%3A%22https%3A%2F%2Fpg.test%2Fmcp%22%7D";
    for scheme in ["vscode", "vscode-insiders"] {
        let link = run(folder, &["import", &format!("{scheme}:mcp/install?{server}")]);
        assert_eq!(link.code, Some(0), "{}", link.stderr);
        assert!(config(folder).contains("  pg:\n"), "{}", config(folder));
    }
}

#[test]
fn a_name_that_was_made_free_is_taken_for_the_next() {
    let folder = folder();
    let folder = folder.path();
    let more = r#"{"mcpServers": {"web": {"url": "https://a.test/mcp"}, "web_2": {"url": "https://b.test/mcp"}}}"#;
    let renamed = run_with_input(folder, &["import", "-", "--rename"], more);
    assert_eq!(renamed.code, Some(0), "{}", renamed.stderr);
    let text = config(folder);
    assert!(text.contains("  web_2:\n    url: https://a.test/mcp\n"), "{text}");
    assert!(text.contains("  web_2_2:\n    url: https://b.test/mcp\n"), "{text}");
}

#[test]
fn programs_are_told_in_json_what_was_done() {
    let folder = folder();
    let folder = folder.path();
    let body = run(folder, &["--json", "import", "--skip"]);
    let body: Value =
        serde_json::from_str(&body.stdout).unwrap_or_else(|_| panic!("{}", body.stderr));
    assert_eq!((&body["applied"], &body["needs"]), (&json!(true), &json!(["B", "GIT_GIT_TOKEN"])));
    let source = &body["sources"][0];
    assert_eq!(source["format"], "Cursor");
    assert_eq!(source["things"][0]["action"], "skip");
    assert_eq!(source["things"][1]["action"], "add");
    assert_eq!(source["dropped"][0]["what"], "mcpServers.git.x");
    assert!(body["diff"].as_str().unwrap().contains("+  git:"), "{body}");
}

/// As without a name: what runs without a file, and what was brought.
#[test]
fn a_named_file_that_is_not_there_is_made() {
    let folder = folder();
    let folder = folder.path();
    let named = ["--config", "new.yaml"];
    let tried = run(folder, &[&["import", "npx -y thing", "--dry-run"][..], &named].concat());
    assert_eq!(tried.code, Some(0), "{}", tried.stderr);
    assert!(!folder.join("new.yaml").exists());
    let brought = run(folder, &[&["import", "npx -y thing"][..], &named].concat());
    assert_eq!(brought.code, Some(0), "{}", brought.stderr);
    let added = ["servers", "add", "other", "--no-test", "--url", "https://other.test/mcp"];
    let added = run(folder, &[&added[..], &named].concat());
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    let listed = run(folder, &[&["check", "--json"][..], &named].concat());
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let text = fs::read_to_string(folder.join("new.yaml")).unwrap();
    assert!(text.contains("default_agent:") && text.contains("\n  thing:\n"), "{text}");
    assert!(text.contains("\n  other:\n"), "{text}");
    assert_eq!(config(folder), CONFIG);
    let nowhere = run(folder, &["import", "npx -y thing", "--config", "no/folder/new.yaml"]);
    assert_eq!(nowhere.code, Some(1), "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("no/folder"), "{}", nowhere.stderr);
}

#[test]
fn lines_files_and_standard_input_are_sources_too() {
    let folder = folder();
    let folder = folder.path();
    let line = run(folder, &["import", "npx -y @scope/mcp-thing@1.0", "--name", "mine"]);
    assert_eq!(line.code, Some(0), "{}", line.stderr);
    assert!(
        config(folder)
            .ends_with("  mine:\n    command: [\"npx\", \"-y\", \"@scope/mcp-thing@1.0\"]\n")
    );
    fs::write(
        folder.join("glyphoxa.yaml"),
        "npcs:\n  - { name: Old Sage, personality: wise, tools: [roll] }\n",
    )
    .unwrap();
    let file = run(folder, &["import", "glyphoxa.yaml"]);
    assert_eq!(file.code, Some(0), "{}", file.stderr);
    assert!(file.stdout.contains("+ agents.Old_Sage"), "{}", file.stdout);
    assert!(config(folder).contains("\nagents:\n  Old_Sage:\n"), "{}", config(folder));
    let piped = run_with_input(folder, &["import", "-"], r#"{"url": "https://piped.test/mcp"}"#);
    assert_eq!(piped.code, Some(0), "{}", piped.stderr);
    assert!(config(folder).contains("  piped:\n"), "{}", config(folder));
    assert_eq!(run(folder, &["check"]).code, Some(0));
    for (words, code) in [
        (&["import", "nowhere"][..], 2),
        (&["import", "npx a && b"], 1),
        (&["import", "zed"], 1),
        (&["import", "--from", "emacs"], 2),
        (&["import", "--skip", "--rename"], 2),
    ] {
        let run = run(folder, words);
        assert_eq!(run.code, Some(code), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn a_pasted_text_is_shown_by_the_gateway() {
    let served = Served::start(CONFIG.split_once("listen: 127.0.0.1:1\n").unwrap().1);
    let mut line = served.line();
    let text = r#"{"mcpServers": {"web": {"url": "https://b.test/mcp"}, "gh": {"url": "https://g.test/mcp", "headers": {"Authorization": "Bearer canary"}}}}"#;
    let read = line.send("POST /api/import", &[], &json!({ "text": text }).to_string());
    assert_eq!(read.status, 200, "{read:?}");
    let answer = read.json();
    assert_eq!(
        (&answer["servers"][0]["clash"], &answer["servers"][1]["clash"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(answer["servers"][1]["server"]["auth"]["token"], "${GH_TOKEN}");
    assert_eq!(answer["given"], json!({"GH_TOKEN": "canary"}), "whoever pasted it has it already");
    assert_eq!(read.body.matches("canary").count(), 1, "{read:?}");
    assert!(!served.log().contains("canary"));
    let refused = line.send("POST /api/import", &[], r#"{"text": "{\"a\": "}"#);
    assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("unreadable_text")));
}

#[test]
fn a_pasted_secret_gets_a_variable_that_the_config_does_not_use() {
    let served = Served::start("agents:\n  clerk: {description: 'of ${GH_TOKEN:-nobody}'}\n");
    let text = r#"{"mcpServers": {"gh": {"url": "https://g.test/mcp", "headers": {"Authorization": "Bearer canary"}}}}"#;
    let body = json!({ "text": text }).to_string();
    let read = served.line().send("POST /api/import", &[], &body);
    let answer = read.json();
    assert_eq!(answer["servers"][0]["server"]["auth"]["token"], "${GH_TOKEN_2}", "{answer}");
    assert_eq!(answer["given"], json!({"GH_TOKEN_2": "canary"}));
}
