//! House rules as tests: who may name whom, how long files get, what documents promise.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_testkit::{RepositoryFile, root, sources};

/// Which crates a crate may depend on. Anything else is a change of the architecture.
const CRATES: &[(&str, &[&str])] = &[
    ("tollgate-core", &[]),
    ("tollgate-mcp", &["tollgate-core"]),
    ("tollgate-store", &["tollgate-core"]),
    ("tollgate-sandbox", &[]),
    ("tollgate-worker", &["tollgate-sandbox"]),
    ("tollgate-engine", &["tollgate-core", "tollgate-mcp", "tollgate-store", "tollgate-sandbox"]),
    ("tollgate-llm", &["tollgate-core", "tollgate-mcp", "tollgate-engine"]),
    ("tollgate-otlp", &["tollgate-core", "tollgate-mcp", "tollgate-engine"]),
    (
        "tollgate-server",
        &[
            "tollgate-core",
            "tollgate-mcp",
            "tollgate-store",
            "tollgate-sandbox",
            "tollgate-engine",
            "tollgate-llm",
        ],
    ),
    (
        "tollgate-config",
        &[
            "tollgate-core",
            "tollgate-mcp",
            "tollgate-engine",
            "tollgate-llm",
            "tollgate-otlp",
            "tollgate-server",
        ],
    ),
    (
        "tollgate",
        &[
            "tollgate-core",
            "tollgate-mcp",
            "tollgate-store",
            "tollgate-engine",
            "tollgate-llm",
            "tollgate-otlp",
            "tollgate-server",
            "tollgate-config",
        ],
    ),
    (
        "tollgate-bench",
        &[
            "tollgate-core",
            "tollgate-mcp",
            "tollgate-store",
            "tollgate-engine",
            "tollgate-llm",
            "tollgate-sandbox",
            "tollgate-testkit",
        ],
    ),
    ("tollgate-testkit", &[]),
    ("tollgate-model", &[]),
    (
        "tollgate-fuzz",
        &[
            "tollgate-core",
            "tollgate-mcp",
            "tollgate-engine",
            "tollgate-llm",
            "tollgate-sandbox",
            "tollgate-server",
            "tollgate-config",
            "tollgate",
        ],
    ),
];

/// Who may use a library that must not spread.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("axum", &["tollgate-server"]),
    ("rmcp", &["tollgate-engine"]),
    ("rusqlite", &["tollgate-store"]),
    ("tokio-postgres", &["tollgate-store"]),
    ("starlark", &["tollgate-worker"]),
    ("tokio-tungstenite", &["tollgate-llm", "tollgate-server", "tollgate-bench", "tollgate-fuzz"]),
    (
        "tokio",
        &[
            "tollgate-mcp",
            "tollgate-store",
            "tollgate-sandbox",
            "tollgate-engine",
            "tollgate-llm",
            "tollgate-otlp",
            "tollgate-server",
            "tollgate",
            "tollgate-bench",
            "tollgate-testkit",
            "tollgate-fuzz",
        ],
    ),
];

/// Modules of a crate, bottom first: a module names only modules that stand before it.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "tollgate-core",
        &[
            "sync",
            "failpoint",
            "text",
            "confusables",
            "date",
            "address",
            "digest",
            "glob",
            "secret",
            "secret_values",
            "trace",
            "lease",
            "json",
            "mask",
            "id",
            "nearest",
            "relevance",
            "memory",
            "budget",
            "latency",
            "tier_assignment",
            "score",
            "tier_selector",
            "backoff",
            "circuit_breaker",
            "rate",
            "retry_budget",
            "slow_response",
            "agent",
            "model_usage",
            "template",
            "schema",
            "tool",
            "sanitize",
            "probe",
            "code_mode",
            "names",
            "trust",
            "catalog",
            "filter",
            "view",
            "call",
            "call_policy",
            "turn",
            "policy",
            "admission",
            "approval",
            "plan",
            "shaping",
        ],
    ),
    (
        "tollgate-sandbox",
        &[
            "frames",
            "clock",
            "limits",
            "stopwatch",
            "host",
            "failure",
            "source",
            "exit_reason",
            "frame_io",
            "program",
            "run_slots",
            "worker",
            "pool",
            "run",
            "sandbox",
            "fake_worker",
        ],
    ),
    (
        "tollgate-engine",
        &[
            "clock",
            "random",
            "panics",
            "spans",
            "disk",
            "web",
            "embedding",
            "settings",
            "policy_snapshot",
            "confine",
            "record",
            "calls",
            "backend",
            "notices",
            "results",
            "limits",
            "model_usage",
            "caller",
            "seal",
            "owners",
            "pins",
            "audit",
            "recorder",
            "memory",
            "builtin",
            "mirrored_headers",
            "tickets",
            "dialogue",
            "approvals",
            "resource_watches",
            "meters",
            "probe_limiter",
            "conversations",
            "upstream",
            "server_set",
            "registry",
            "revocations",
            "executor",
            "reuse",
            "answer",
            "servers",
            "gate",
            "calibration",
            "start",
            "fuzzing",
        ],
    ),
    (
        "tollgate-llm",
        &[
            "dialect",
            "model_capabilities",
            "extra",
            "error",
            "settings",
            "conversation",
            "delta",
            "gateway_report",
            "format",
            "static_model",
            "tools",
            "request_fitting",
            "tokens",
            "token_count",
            "embedding",
            "relevance",
            "window",
            "mode",
            "cascade",
            "routing",
            "offline",
            "provider",
            "usage",
            "turn",
            "agent",
            "realtime",
        ],
    ),
    (
        "tollgate-mcp",
        &[
            "memory_budget",
            "answer_budget",
            "error_code",
            "flood_control",
            "header",
            "line",
            "per_worker",
            "revision",
            "sse",
            "tasks",
            "envelope",
            "offload",
            "web",
            "meta",
            "client",
        ],
    ),
    (
        "tollgate-store",
        &[
            "durable_file",
            "error",
            "migrations",
            "number",
            "database",
            "audit",
            "client_secrets",
            "keys",
            "live_calls",
            "logins",
            "measurements",
            "memory",
            "model_usage",
            "pins",
            "open",
        ],
    ),
    (
        "tollgate-worker",
        &[
            "bindings", "confine", "nearest", "outcome", "pipe", "watchdog", "hints", "show",
            "failure", "check", "convert", "rounding", "session", "calls", "builtins", "program",
        ],
    ),
    (
        "tollgate-otlp",
        &[
            "baggage_pairs",
            "error",
            "message",
            "sampler",
            "spans",
            "histogram",
            "settings",
            "queue",
            "sender",
            "exporter",
        ],
    ),
    (
        "tollgate-server",
        &[
            "wire_schema",
            "accept",
            "config_service",
            "events",
            "gemini_route",
            "memory_check",
            "tier_assignment",
            "tls",
            "api_error",
            "entity_edit_locks",
            "error_mapping",
            "fields",
            "filters",
            "panic_guard",
            "pressure",
            "response_store",
            "variables",
            "limits",
            "access",
            "body",
            "auth",
            "host_guard",
            "cors",
            "in_flight",
            "unproven_senders",
            "request_context",
            "mcp_session",
            "realtime_threads",
            "call_registry",
            "incoming_calls",
            "phone_lines",
            "app_state",
            "webhook",
            "chat",
            "key_maintenance",
            "mcp",
            "page",
            "protected_resource",
            "readiness",
            "realtime",
            "request_span",
            "revocation",
            "ops",
            "admin",
            "metrics",
            "rest",
            "telephony",
            "openapi",
            "router",
            "serve",
            "fuzzing",
        ],
    ),
    (
        "tollgate-config",
        &[
            "line_redaction",
            "secrets",
            "suggest",
            "expand",
            "table",
            "diagnostic",
            "wording",
            "raw",
            "render",
            "source",
            "syntax",
            "yaml_tree",
            "json",
            "node_checks",
            "file",
            "read",
            "edit",
            "secret_masking",
            "check",
            "manual",
            "schema",
            "fuzzing",
        ],
    ),
    (
        "tollgate",
        &[
            "client_apps",
            "oauth_consent",
            "open_files",
            "private_file",
            "process_memory",
            "signals",
            "telemetry",
            "transcript",
            "command_error",
            "logging",
            "admin_token",
            "arguments",
            "local_ca",
            "output",
            "app",
            "cli",
            "import",
            "prompt",
            "connect",
            "gateway",
            "mcp_registry",
            "reload",
            "commands",
        ],
    ),
    (
        "tollgate-bench",
        &[
            "campaign",
            "clock",
            "error",
            "machine",
            "samples",
            "serve",
            "table",
            "bare_proxy",
            "tcp_relay",
            "chat",
            "fixed_response",
            "process",
            "speech",
            "tokens",
            "wire",
            "config",
            "echo",
            "load",
            "mock_model",
            "code_tokens",
            "misbehaving_servers",
            "stdio_echo",
            "upstream",
            "scenario",
            "soak",
        ],
    ),
    (
        "tollgate-testkit",
        &["attack", "cgroup", "embedding", "postgres", "worker", "ws", "realtime", "skip"],
    ),
    ("tollgate-model", &[]),
    (
        "tollgate-fuzz",
        &[
            "config",
            "headers",
            "models",
            "programs",
            "realtime",
            "results",
            "tools",
            "web",
            "websocket",
            "wire",
        ],
    ),
];

/// Files that may be longer than a reader likes, each with its reason. This list only shrinks.
const LONG: &[(&str, &str)] = &[];

const MAX_LINES: usize = 500;

#[test]
fn crates_depend_only_downwards() {
    for (name, allowed) in CRATES {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let dependencies = section(&manifest, "[dependencies]");
        for (other, _) in CRATES {
            let named = dependencies.iter().any(|line| key(line) == *other);
            assert!(!named || allowed.contains(other), "{name} must not depend on {other}");
        }
        for (library, users) in LIBRARIES {
            let named = dependencies.iter().any(|line| key(line) == *library);
            assert!(!named || users.contains(name), "{name} must not use {library}");
        }
    }
}

#[test]
fn every_crate_is_in_the_map() {
    let known: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    for manifest in sources("crates", "Cargo.toml") {
        let name = manifest.path.split('/').nth(1).expect("crates/<name>/Cargo.toml");
        assert!(known.contains(name), "{name} is not in the map of crates");
    }
}

#[test]
fn every_crate_has_layers() {
    for (krate, _) in CRATES {
        let has_layers = LAYERS.iter().any(|(known, _)| known == krate);
        assert!(has_layers, "{krate} has no layers");
    }
}

#[test]
fn modules_only_name_modules_below_them() {
    for (krate, layers) in LAYERS {
        let folder = format!("crates/{krate}/src/");
        let files = sources(&folder, ".rs");
        let (roots, files): (Vec<_>, Vec<_>) = files
            .into_iter()
            .filter(|source| !is_test(source))
            .partition(|source| ["lib", "main"].contains(&top_module(source, &folder)));
        let exports = roots.iter().flat_map(|root| root_exports(&code(&root.text), layers));
        let exports: BTreeMap<String, &str> = exports.collect();
        let mut found = BTreeSet::new();
        for source in &files {
            let module = top_module(source, &folder);
            found.insert(module);
            let Some(own) = layers.iter().position(|layer| *layer == module) else {
                panic!("{}: module `{module}` has no place in the layers", source.path);
            };
            for name in names_of_root(&code(&source.text), depth(source, &folder)) {
                let named = exports.get(&name).map_or(name.as_str(), |module| *module);
                let is_above = layers[own + 1..].contains(&named);
                assert!(!is_above, "{} names `{named}`, which stands above it", source.path);
            }
        }
        for layer in *layers {
            assert!(found.contains(layer), "{krate} has no module `{layer}`: take it off the list");
        }
    }
}

/// The scanner is only worth something if it sees every way to write a path.
#[test]
fn paths_to_modules_are_found_however_they_are_written() {
    let text = "//! Not crate::comment\n\
        use crate::one::Thing;\n\
        use crate::{two, three::{self, inner}, four::Five as Six};\n\
        use super::super::seven;\n\
        use super::sibling;\n\
        use super::super::{eight::Nine, ten};\n\
        fn f() { crate::eleven::g(); } // crate::comment\n\
        #[cfg(test)]\nmod tests {\n    use crate::tested;\n}\n";
    let found = names_of_root(&code(text), 2);
    let expected = ["eight", "eleven", "four", "one", "seven", "ten", "three", "two"];
    assert_eq!(found, expected.map(str::to_owned).into());
    let exports = root_exports("pub use two::{A, B as C};\nmod two;\n", &["two"]);
    assert!(
        exports.contains(&("A".to_owned(), "two")) && exports.contains(&("C".to_owned(), "two"))
    );
}

/// The module of the crate that a file belongs to.
fn top_module<'s>(source: &'s RepositoryFile, folder: &str) -> &'s str {
    let inside = source.path.strip_prefix(folder).expect("it was found there");
    inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs")
}

/// How many `super::` lead from a file to the root of its crate.
fn depth(source: &RepositoryFile, folder: &str) -> usize {
    source.path.strip_prefix(folder).expect("it was found there").split('/').count()
}

/// Without comments, and without tests at the end of a file.
fn code(text: &str) -> String {
    let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let uncommented = shipped.lines().map(|line| line.split("//").next().unwrap_or_default());
    uncommented.collect::<Vec<_>>().join("\n")
}

/// What of the crate's root a file names: by `crate::`, or by as many `super::` as lead there.
fn names_of_root(code: &str, depth: usize) -> BTreeSet<String> {
    let by_super = "super::".repeat(depth);
    let mut found = BTreeSet::new();
    for prefix in ["crate::", &by_super] {
        for (at, _) in code.match_indices(prefix) {
            let is_path_start =
                !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
            let after = &code[at + prefix.len()..];
            if is_path_start && !after.starts_with("super::") {
                found.extend(first_segments(after));
            }
        }
    }
    found
}

/// `a::b` has one first segment, `{a, b::{c, d}}` has two.
fn first_segments(path: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
        text.trim_start().chars().take_while(is_word).collect()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let mut depth = 0_usize;
    let mut segments = vec![word(group)];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => segments.push(word(&group[at + 1..])),
            _ => {}
        }
    }
    segments
}

/// Names that the root takes from a module, with that module: who names them names it.
fn root_exports<'l>(code: &str, layers: &[&'l str]) -> Vec<(String, &'l str)> {
    let mut exports = Vec::new();
    for taken in code.split("use ").skip(1) {
        let statement = taken.split(';').next().unwrap_or_default();
        let Some((module, names)) = statement.split_once("::") else { continue };
        let Some(module) = layers.iter().find(|layer| **layer == module.trim()) else { continue };
        let words = names.split(|c: char| !c.is_alphanumeric() && c != '_');
        exports.extend(words.filter(|it| !it.is_empty()).map(|it| (it.to_owned(), *module)));
    }
    exports
}

#[test]
fn files_have_one_job_and_say_which() {
    for source in sources("crates", ".rs") {
        assert!(source.text.starts_with("//!") || is_test(&source), "{}: no `//!`", source.path);
        let lines = source.text.lines().count();
        let excused = LONG.iter().any(|(path, _)| *path == source.path);
        let fits = lines <= MAX_LINES || excused || is_test(&source);
        assert!(fits, "{} has {lines} lines; more than {MAX_LINES} is two jobs", source.path);
        let name = source.path.rsplit('/').next().unwrap_or_default();
        let vague = ["utils.rs", "helpers.rs", "common.rs", "types.rs", "misc.rs"];
        assert!(!vague.contains(&name), "{}: the name says nothing", source.path);
    }
    for (path, _) in LONG {
        let still = read(path).lines().count() > MAX_LINES;
        assert!(still, "{path} is short enough now: take it off the list");
    }
}

#[test]
fn nothing_is_left_undone_or_skipped() {
    // Put together here, so that this file does not find itself.
    let marks = [["FIX", "ME"], ["todo", "!("], ["unimplemented", "!("], ["#[ig", "nore"]];
    for source in sources("crates", ".rs") {
        for [one, two] in marks {
            let mark = format!("{one}{two}");
            assert!(!source.text.contains(&mark), "{} has {mark}", source.path);
        }
    }
}

#[test]
fn paths_in_documents_exist() {
    let files: Vec<String> =
        ["rs", "md", "yaml", "toml", "py"].iter().flat_map(|it| paths(it)).collect();
    let mut documents = sources("docs/adr", ".md");
    for path in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        documents.push(RepositoryFile { path: path.to_owned(), text: read(path) });
    }
    for RepositoryFile { path, text } in &documents {
        for word in text.split('`').skip(1).step_by(2) {
            let looks =
                [".rs", ".md", ".yaml", ".toml"].iter().any(|ending| word.ends_with(ending));
            let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
            if looks && plain && word != "tollgate.yaml" {
                let suffix = format!("/{word}");
                let in_crate = path_in_crate(word);
                let is_meant =
                    |file: &String| file == word || *file == in_crate || file.ends_with(&suffix);
                let found = files.iter().any(is_meant);
                assert!(found, "{path} names `{word}`, which does not exist");
            }
        }
    }
}

/// `engine/gate.rs` is short for `crates/tollgate-engine/src/gate.rs`; `tollgate` is the binary.
fn path_in_crate(word: &str) -> String {
    let (krate, file) = word.split_once('/').unwrap_or(("", word));
    let prefix = if krate == "tollgate" { "" } else { "tollgate-" };
    format!("crates/{prefix}{krate}/src/{file}")
}

#[test]
fn every_refusal_is_in_the_list_of_errors() {
    let listed = read("docs/errors.md");
    for (file, name) in [
        ("crates/tollgate-core/src/policy.rs", "pub enum PermitError"),
        ("crates/tollgate-engine/src/caller.rs", "pub enum CallError"),
    ] {
        // `Refused` only wraps a refusal, which is listed under its own name.
        for variant in variants(&read(file), name).into_iter().filter(|it| it != "Refused") {
            assert!(listed.contains(&variant), "docs/errors.md does not list `{variant}`");
        }
    }
}

/// Both ways: a code that is not explained helps nobody, and one that is gone misleads.
#[test]
fn codes_of_problems_are_those_in_the_list_of_errors() {
    let document = read("docs/errors.md");
    let (_, table) = document.split_once("## What HTTP says").expect("the section is there");
    let sources = sources("crates/tollgate-server/src", ".rs");
    let shipped: Vec<&RepositoryFile> = sources.iter().filter(|source| !is_test(source)).collect();
    for source in &shipped {
        for code in source.text.split("ApiError::new(").skip(1).filter_map(first_text) {
            let listed = table.contains(&format!("`{code}`"));
            assert!(listed, "{}: docs/errors.md does not list `{code}`", source.path);
        }
    }
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        let cell = row.split('|').nth(2).unwrap_or_default();
        for code in cell.split('`').skip(1).step_by(2) {
            let quoted = format!("\"{code}\"");
            let made = shipped.iter().any(|source| source.text.contains(&quoted));
            assert!(made, "docs/errors.md lists `{code}`, which nothing says");
        }
    }
}

/// S-06: a sample that fetches whatever is newest is a hole in the supply chain. Also what the page
/// proposes, and what a reader pastes from the documents.
#[test]
fn s_06_samples_pin_what_they_run() {
    let kinds = [".yaml", ".yml", ".json", ".toml", ".md"];
    let folders = ["docs", "examples", "packaging", "interop"];
    let mut samples: Vec<RepositoryFile> = folders
        .iter()
        .flat_map(|folder| kinds.iter().flat_map(|kind| sources(folder, kind)))
        .chain(sources("ui/src", ".tsx"))
        .collect();
    samples.push(RepositoryFile { path: "README.md".to_owned(), text: read("README.md") });
    let mut pinned = 0;
    for source in &samples {
        for line in source.text.lines() {
            for package in fetched_packages(line) {
                let version = package.trim_start_matches('@').split_once('@');
                let is_pinned = version
                    .is_some_and(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit()))
                    || package.contains("==");
                assert!(is_pinned, "{}: `{}` runs an unpinned package", source.path, line.trim());
                pinned += 1;
            }
        }
    }
    assert!(pinned > 10, "samples are looked at: {pinned}");
}

/// The packages that `npx` and its like fetch in this line: the first word behind them that is no option.
fn fetched_packages(line: &str) -> Vec<&str> {
    const RUNNERS: [&str; 5] = ["npx", "bunx", "pnpx", "uvx", "pipx"];
    let separators = |c: char| c.is_whitespace() || "\"'`,[]{}()".contains(c);
    let mut words = line.split(separators).filter(|word| !word.is_empty());
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if !RUNNERS.contains(&word) {
            continue;
        }
        let is_option = |word: &&str| word.starts_with('-') || *word == "args:" || *word == "run";
        let package = words.by_ref().find(|word| !is_option(word));
        // In prose a runner is named without anything behind it.
        found.extend(package.filter(|it| it.contains(['@', '/', '-', '=']) && !it.contains(':')));
    }
    found
}

/// S-06: nothing is built by other versions than those that were looked at.
#[test]
fn s_06_lock_files_are_kept_and_obeyed() {
    for lock in ["Cargo.lock", "crates/tollgate-worker/Cargo.lock", "ui/package-lock.json"] {
        assert!(read(lock).len() > 1_000, "{lock}");
        let ignored = read(".gitignore").lines().any(|line| line.trim_matches('/') == lock);
        assert!(!ignored, "{lock} is not committed");
    }
    let makefile = read("Makefile");
    assert!(!makefile.contains("npm install"), "`npm ci` keeps to the lock");
    let is_build =
        |line: &&str| line.contains("cargo build") || line.contains(":= --manifest-path");
    for line in makefile.lines().filter(is_build) {
        assert!(line.contains("--locked") || line.contains("$(OF_"), "{line}");
    }
}

/// S-10: what comes from outside reaches SQL as bound values only. The memory puts names of its own
/// tables and columns together; nobody else makes SQL at all.
#[test]
fn s_10_sql_is_not_made_of_pieces() {
    let verbs = ["\"SELECT ", "\"INSERT ", "\"UPDATE ", "\"DELETE ", "\"PRAGMA ", "\"ALTER "];
    let memory = "crates/tollgate-store/src/memory/";
    let others = [memory, "crates/tollgate-bench/", "crates/tollgate-testkit/"];
    let mut looked_at = 0;
    for source in sources("crates", ".rs") {
        if is_test(&source) || others.iter().any(|path| source.path.starts_with(path)) {
            continue;
        }
        for (at, _) in source.text.match_indices("format!(") {
            looked_at += 1;
            let arguments: String = source.text[at..].chars().take(120).collect();
            let made = verbs.iter().find(|verb| arguments.contains(**verb));
            assert_eq!(made, None, "{} makes SQL: {arguments}", source.path);
        }
    }
    assert!(looked_at > 100, "{looked_at}");
}

/// The first literal of an argument list, if it stands before the list's end and reads like a code.
fn first_text(arguments: &str) -> Option<&str> {
    let (before, rest) = arguments.split_once('"')?;
    let (code, _) = rest.split_once('"')?;
    let is_code = !code.is_empty() && code.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    (is_code && !before.contains(';')).then_some(code)
}

fn is_test(source: &RepositoryFile) -> bool {
    source.path.contains("/tests/") || source.path.ends_with("tests.rs")
}

fn paths(ending: &str) -> Vec<String> {
    sources("", &format!(".{ending}")).into_iter().map(|source| source.path).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn section<'t>(manifest: &'t str, header: &str) -> Vec<&'t str> {
    let after = manifest.split(header).nth(1).unwrap_or_default();
    after.lines().skip(1).take_while(|line| !line.starts_with('[')).collect()
}

fn key(line: &str) -> &str {
    line.split(['.', '=', ' ']).next().unwrap_or_default()
}

/// The names of an enum's variants: lines one level in that begin with a capital.
fn variants(text: &str, name: &str) -> Vec<String> {
    let body = text.split(name).nth(1).unwrap_or_default();
    let body = body.split("\n}").next().unwrap_or_default();
    body.lines()
        .filter(|line| line.starts_with("    ") && !line.starts_with("     "))
        .map(|line| line.trim())
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default())
        .map(str::to_owned)
        .collect()
}
