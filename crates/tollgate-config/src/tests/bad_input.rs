//! The bad inputs of group B-CF, one test per id, and what the security rules ask of the config.

use std::time::Instant;

use super::super::{ConfigRequest, load_text};
use super::{Fake, good, load, load_with, mistakes, refusal_of, report};

const FINE: &str = "servers: { a: { command: x } }";

/// The one server of `servers: { a: { command: x, <keys> } }`.
fn with(keys: &str) -> String {
    format!("servers: {{ a: {{ command: x, {keys} }} }}")
}

#[test]
fn b_cf_01_empty_comment_tab_mark_and_other_encodings() {
    for empty in ["", "# only a comment\n", "\u{feff}", "   \n"] {
        assert_eq!(good(empty).settings.agents.len(), 3, "{empty:?}");
    }
    assert_eq!(good("\u{feff}environment: laptop\n").settings.environment, "laptop");
    refusal_of("servers:\n\ta:\n\t\tcommand: x\n", "2:1 a tab cannot indent a line of YAML");
    refusal_of("servers:\n  a:\n  \tcommand: x\n", "3:3 a tab cannot indent a line of YAML");
    let wide = |text: &str| -> Vec<u8> {
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    let environment = Fake::default();
    for bytes in [wide("listen: x"), wide("listen: x")[2..].to_vec(), vec![0xfe, 0xff, 0, b'a']] {
        let path = std::path::Path::new("t.yaml");
        let report = load_text(path, &bytes, &ConfigRequest::default(), &environment).unwrap_err();
        assert_eq!(report.to_string(), "t.yaml: the config is UTF-16 or UTF-32, not UTF-8");
    }
    let path = std::path::Path::new("t.yaml");
    let latin = load_text(path, b"a: 1\nb: caf\xe9\n", &ConfigRequest::default(), &environment);
    assert_eq!(latin.unwrap_err().to_string(), "t.yaml: the config is not UTF-8 (line 2)");
}

#[test]
fn b_cf_02_bombs_are_refused_quickly() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let begun = now();
    let bombs = [
        laughs,
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        "a:\n".chars().cycle().take(300).collect(),
        format!("a: [{}]", "b,".repeat(400_000)),
        format!("{{{}}}", (0..80_000).map(|n| format!("k{n}: 1,")).collect::<String>()),
        format!("keys: [{}]", "{key: abc},".repeat(20_000)),
        "x".repeat(2 * 1024 * 1024),
    ];
    for bomb in bombs {
        assert!(load(&bomb).is_err(), "{}", &bomb[..20]);
    }
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    refusal_of("a: &a [*a]\n", "1:8 this alias is recursive");
    good(FINE);
}

#[expect(clippy::disallowed_methods, reason = "a bound on real time is the point")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn b_cf_03_duplicate_keys_merge_cycles_and_odd_keys() {
    refusal_of("listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", "2:1 duplicate key `listen`");
    refusal_of("servers:\n  a: { command: x }\n  a: { command: y }\n", "3:3 duplicate key `a`");
    refusal_of(
        "servers: [{ name: a, command: x }, { name: a, command: y }]",
        "1:44 `a` appears twice in `servers`",
    );
    refusal_of("x: &x\n  <<: *x\n", "2:7 this alias is recursive");
    refusal_of("<<: 5\n", "1:5 `<<` takes a map");
    refusal_of("? [a]\n: b\n", "1:3 a list or map cannot be a key");
    refusal_of("*a : b\n", "1:1 this is not YAML: while parsing node, found unknown anchor");
    refusal_of("? &k listen\n: 127.0.0.1:1\n*k : 127.0.0.1:2\n", "1:3 duplicate key `listen`");
    refusal_of("listen: !!str 127.0.0.1:1\n", "1:9 tags such as `!!str` are not supported");
    refusal_of("listen: 127.0.0.1:1\n---\ndata: x\n", "2:1 a second document begins here");
}

#[test]
fn b_cf_04_what_is_typed_where_a_text_is_meant_stays_that_text() {
    for text in
        ["no", "on", "0o17", "1e3", "12:30", "0x1F", "true", "1_000", "007", "1.10", "=", "y"]
    {
        let config = good(&format!("environment: {text}"));
        assert_eq!(config.settings.environment, text);
    }
    for text in ["~", "null", ""] {
        let found = mistakes(&format!("environment: {text}"));
        assert_eq!(found.len(), 1, "{text}");
        assert!(found[0].ends_with("`environment` has no value"), "{found:?}");
    }
    assert_eq!(good("environment: \"\"").settings.environment, "");
    for (text, expected) in [
        ("yes", "1:38 `trusted` must be `true` or `false`, not `yes`"),
        ("\"true\"", "1:38 `trusted` must be `true` or `false`, not `true`"),
        ("1", "1:38 `trusted` must be `true` or `false`, not `1`"),
    ] {
        refusal_of(&with(&format!("trusted: {text}")), expected);
    }
}

#[test]
fn b_cf_05_unknown_keys_and_wrong_shapes() {
    refusal_of("servrs: {}", "1:1 unknown key `servrs`");
    refusal_of("gateway: disabled", "1:1 unknown key `gateway`");
    refusal_of("servers: { a: { command: x, timeout_ms: 5 } }", "1:29 unknown key `timeout_ms`");
    refusal_of("budget: fast", "1:9 `budget` must be a map, not `fast`");
    refusal_of(
        "agents: 5",
        "1:9 `agents` must be a map of names, or a list of entries with a `name`, not `5`",
    );
    refusal_of("[a, b]", "1:1 the config must be a map");
    refusal_of("just text", "1:1 the config must be a map");
    refusal_of(&with("allow: \"*\""), "1:36 `allow` must be a list, not `*`");
    refusal_of(&with("env: [a]"), "1:29 `env` must be a map of names and texts");
    refusal_of("servers: [x]", "1:11 an entry of `servers` must be a map with a `name`, not `x`");
    refusal_of("servers: [{ command: x }]", "1:13 an entry of `servers` has no `name`");
    refusal_of("tls: { cert: a }", "1:1 `key` is missing");
    assert_eq!(mistakes("lisen: 1\nagnts: 2\nkeyss: 3\n").len(), 3, "all at once");
}

#[test]
fn b_cf_06_ids_of_servers() {
    let id = |id: &str| format!("servers: {{ \"{id}\": {{ command: x }} }}");
    for bad in ["..", "", "a b", "1a", "dé", "日本", "a/b", "-a", &"a".repeat(300), "a.b"] {
        let found = mistakes(&id(bad));
        assert_eq!(found.len(), 1, "{bad}");
        assert!(found[0].contains("invalid server id"), "{found:?}");
    }
    for (a, b) in [("Files-1", "files_1"), ("a-b", "a_b"), ("A", "a")] {
        let text = format!("servers:\n  {a}: {{ command: x }}\n  {b}: {{ command: x }}\n");
        refusal_of(&text, &format!("3:3 another server has a name like `{b}`"));
    }
    assert_eq!(mistakes(&id("memory")), Vec::<String>::new(), "built-in servers step aside");
    refusal_of(
        "agents:\n  a: { tools: [roll] }\n  A: { tools: [roll] }\n",
        "3:3 another agent has a name like `A`",
    );
}

#[test]
fn b_cf_07_commands_urls_and_environment() {
    refusal_of(
        "servers: { a: { command: x, url: http://h/ } }",
        "1:12 server `a` has both `command` and `url`",
    );
    refusal_of(
        "servers: { a: { trusted: true } }",
        "1:12 server `a` needs either `url` or `command`",
    );
    refusal_of("servers: { a: { command: [] } }", "1:17 `command` has no program");
    refusal_of("servers: { a: { command: \"\" } }", "1:26 `command` has no program");
    refusal_of("servers: { a: { command: \"x 'y\" } }", "1:26 a quote in `command` is not closed");
    refusal_of(
        "servers: { a: { command: [x, [y]] } }",
        "1:30 an entry of `command` must be a text, not a list",
    );
    for (url, expected) in [
        ("file:///etc/passwd", "`url` must begin with http:// or https://: `file:///etc/passwd`"),
        ("ftp://h/", "`url` must begin with http:// or https://: `ftp://h/`"),
        ("//h/", "`url` must begin with http:// or https://: `//h/`"),
        ("http://", "`url` has no host: `http://`"),
        ("http:///x", "`url` has no host: `http:///x`"),
        ("http://user:pw@h/", "`url` must not contain a user and a password"),
        ("http://user@h/", "`url` must not contain a user and a password"),
        ("http://h:0/", "`url` has a port that is not from 1 to 65535: `http://h:0/`"),
        ("http://h:70000/", "`url` has a port that is not from 1 to 65535: `http://h:70000/`"),
        ("http://a b/", "`url` is not a URL: `http://a b/`"),
    ] {
        refusal_of(&format!("servers: {{ a: {{ url: \"{url}\" }} }}"), &format!("1:22 {expected}"));
    }
    refusal_of(&with("env: { A: [b] }"), "1:36 `A` must be a text");
    refusal_of(&with("env: { A: ~ }"), "1:39 `A` has no value");
    refusal_of(&with("env: { \"A=B\": c }"), "1:36 `A=B` cannot be an environment variable");
    for name in ["LD_PRELOAD", "PATH", "NODE_OPTIONS"] {
        let report = report(&with(&format!("env: {{ {name}: x }}")));
        assert_eq!(report.diagnostics.len(), 1, "{name}: a warning");
        assert!(load(&with(&format!("env: {{ {name}: x }}"))).is_ok());
    }
    let header =
        |pair: &str| format!("servers: {{ a: {{ url: http://h/, headers: {{ {pair} }} }} }}");
    refusal_of(&header("Host: x"), "1:44 the header `Host` is set by the gateway");
    refusal_of(&header("\"a b\": x"), "1:44 `a b` is not a valid header name");
    refusal_of(
        &header("a: \"x\\r\\ny: z\""),
        "1:44 the value of the header `a` contains a line break",
    );
    refusal_of(&header("a: x, A: y"), "1:50 duplicate header `A`");
}

#[test]
fn b_cf_08_variables() {
    let environment = Fake {
        variables: [("SET", "value"), ("EMPTY", ""), ("NESTED", "${SET}"), ("B", "SET")]
            .into_iter()
            .collect(),
        ..Fake::default()
    };
    for (typed, expected) in [
        ("${SET}", "value"),
        ("a${SET}b${SET}", "avaluebvalue"),
        ("${EMPTY}", ""),
        ("${EMPTY:-d}", "d"),
        ("${UNSET:-}", ""),
        ("${UNSET:-a b}", "a b"),
        ("${SET:-d}", "value"),
        ("${NESTED}", "${SET}"),
        ("$${SET}", "${SET}"),
        ("$$${SET}", "$${SET}"),
        ("$SET $ $$", "$SET $ $$"),
        ("}", "}"),
    ] {
        let config = load_with(&format!("environment: \"{typed}\""), &environment).unwrap().config;
        assert_eq!(config.settings.environment, expected, "{typed}");
    }
    for (typed, expected) in [
        ("${UNSET}", "the variable `UNSET` is not set"),
        ("${${B}}", "nested `${…}` is not supported"),
        ("${UNSET:-${B}}", "nested `${…}` is not supported"),
        ("${SET", "`${` without `}`"),
        ("${}", "`` is not the name of a variable"),
        ("${A B}", "`A B` is not the name of a variable"),
        ("${1A}", "`1A` is not the name of a variable"),
    ] {
        let report = load_with(&format!("environment: \"{typed}\""), &environment).unwrap_err();
        assert_eq!(report.to_string(), format!("t.yaml:1:14: `environment`: {expected}"));
    }
    refusal_of(
        &with("defaults: { timeout_ms: \"${SET}\" }"),
        "1:53 `timeout_ms` must be a whole number from 1 to 3600000 milliseconds, not `${SET}`",
    );
    refusal_of("\"${SET}\": x", "1:1 unknown key `${SET}`");
}

#[test]
fn b_cf_09_numbers_and_ports() {
    let range = "must be a whole number from 1 to 3600000 milliseconds";
    for bad in ["0", "-1", "1e18", "5 parsecs", "1.5", "18446744073709551616", "0x10", "1_000"] {
        let text = with(&format!("defaults: {{ timeout_ms: {bad} }}"));
        refusal_of(&text, &format!("1:53 `timeout_ms` {range}, not `{bad}`"));
    }
    refusal_of(
        &with("defaults: { timeout_ms: \"5\" }"),
        &format!("1:53 `timeout_ms` {range}, not `5`"),
    );
    refusal_of(
        &with("defaults: { timeout_ms: ~ }"),
        &format!("1:53 `timeout_ms` {range}, not nothing"),
    );
    for bad in ["127.0.0.1:70000", "127.0.0.1", ":8655", "8655", "example.com:80", "127.0.0.1:-1"] {
        let text = format!("listen: \"{bad}\"");
        refusal_of(&text, &format!("1:9 `listen` must be an address and a port, not `{bad}`"));
    }
    assert_eq!(good("listen: 127.0.0.1:0").listen.port(), 0);
    assert_eq!(good("listen: localhost:80").listen.to_string(), "127.0.0.1:80");
    assert_eq!(good("listen: \"[::1]:80\"").listen.to_string(), "[::1]:80");
    refusal_of(
        "budget: { tiers: { fast_ms: 2000 } }",
        "1:11 the tiers must be increasing: fast 2000, standard 1500, deep 4000",
    );
    let budget = |pair: &str| format!("budget: {{ {pair} }}");
    for (key, range, values) in [
        ("percentile", "1 to 99", ["0", "100", "-50", "p95"]),
        ("min_samples", "1 to 100 calls", ["0", "101", "1.5", "many"]),
        ("recovery_s", "1 to 86400 seconds", ["0", "-1", "86401", "10min"]),
        ("hold_s", "0 to 86400 seconds", ["-1", "86401", "30s", "3e1"]),
        ("calibrate_interval_s", "0 to 86400 seconds", ["-1", "86401", "never", "1e3"]),
        ("deep_interval_s", "0 to 86400 seconds", ["-1", "86401", "false", "0.5"]),
    ] {
        for value in values {
            let column = 13 + key.len();
            let expected =
                format!("1:{column} `{key}` must be a whole number from {range}, not `{value}`");
            refusal_of(&budget(&format!("{key}: {value}")), &expected);
        }
    }
}

#[test]
fn b_cf_09_keywords() {
    let keywords = |pair: &str| format!("budget: {{ keywords: {{ {pair} }} }}");
    for silent in ["", "  ", "?!", "…", "- -"] {
        let expected = format!("1:30 the keyword `{silent}` can never match");
        refusal_of(&keywords(&format!("deep: [\"{silent}\"]")), &expected);
    }
    refusal_of(
        &keywords("languages: [fr]"),
        "1:35 an entry of `languages` must be one of `de`, `en`, not `fr`",
    );
    refusal_of(&keywords("deep: quest"), "1:29 `deep` must be a list, not `quest`");
    refusal_of(&keywords("fast: [now]"), "1:23 unknown key `fast`");
    refusal_of(
        "agents: { a: { tools: [roll], keywords: { standard: [\"!\"] } } }",
        "1:54 the keyword `!` can never match",
    );
    let odd = keywords("deep: [\"${HOME}\", \"Straße\", \"日本\", \"C3PO\"]");
    assert_eq!(good(&odd).settings.budget.keywords.deep, ["${HOME}", "Straße", "日本", "C3PO"]);
}

#[test]
fn b_cf_10_agents() {
    let unknown = report("agents: { a: { tools: [no_such_tool] } }");
    assert_eq!(unknown.to_string(), "t.yaml:1:24: no tool can be named `no_such_tool`");
    assert!(load("agents: { a: { tools: [no_such_tool] } }").is_ok(), "servers come and go");
    refusal_of(
        "agents: { a: { tools: [roll], budget_tier: FASTEST } }",
        "1:44 `budget_tier` must be one of `fast`, `standard`, `deep`, not `FASTEST`",
    );
    assert!(good("agents: { a: { tools: [\"*\"] } }").settings.agents[0].may_see("anything"));
    refusal_of("default_agent: x", "1:16 there is no agent `x`");
    refusal_of("agents: { a: { tools: [roll] } }\ndefault_agent: b", "2:16 there is no agent `b`");
    refusal_of("agents: { a: { tools: [\"*\"], models: [x] } }", "1:39 there is no model `x`");
    refusal_of(
        "agents: { a: { tools: [\"*\"], engine: sentence_cascade } }",
        "1:38 `engine: sentence_cascade` needs an `opener_model`",
    );
}

#[test]
fn b_cf_12_secrets_from_files() {
    let environment = Fake {
        files: [
            ("/s/a", "hunter2"),
            ("/s/lf", "hunter2\n"),
            ("/s/crlf", "hunter2\r\n"),
            ("/s/two", "a\n\n"),
        ]
        .into_iter()
        .collect(),
        ..Fake::default()
    };
    for (path, expected) in
        [("/s/a", "hunter2"), ("/s/lf", "hunter2"), ("/s/crlf", "hunter2"), ("/s/two", "a\n")]
    {
        let text = format!("environment: \"${{file:{path}}}\"");
        let config = load_with(&text, &environment).unwrap().config;
        assert_eq!(config.settings.environment, expected, "{path}");
        assert_eq!(config.secret_files, [std::path::PathBuf::from(path)], "servers may not access");
    }
    let missing = load_with("environment: \"${file:/s/none}\"", &environment).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "t.yaml:1:14: `environment`: cannot read the file `/s/none`: no such file"
    );
}

#[test]
fn s_01_a_command_is_words_and_no_shell_sees_it() {
    let config = good("servers: { a: { command: \"sh -c 'touch /x; id' && rm\" } }");
    let tollgate_engine::settings::ServerTransport::Stdio(command) =
        &config.settings.servers[0].transport
    else {
        panic!("a command")
    };
    assert_eq!(command.words, ["sh", "-c", "touch /x; id", "&&", "rm"]);
}

#[test]
fn s_02_only_loopback_is_served_without_keys() {
    let key = "keys: [{ name: a, key: \"0123456789abcdef0123\" }]\n";
    let empty = "keys: [{ name: a, key: \"\" }]\n";
    for (listen, keys, expected) in [
        ("127.0.0.1:1", "", vec![]),
        ("\"[::1]:1\"", "", vec![]),
        ("127.0.0.1:1", key, vec![]),
        ("0.0.0.0:1", key, vec![]),
        ("0.0.0.0:1", empty, vec!["2:24 the key is empty"]),
        ("127.0.0.1:1", empty, vec!["2:24 the key is empty"]),
        ("0.0.0.0:1", "keys: [{ name: a, key: \"${NO:-}\" }]\n", vec!["2:24 the key is empty"]),
        ("0.0.0.0:1", "keys: [{ name: a, key: \"  \" }]\n", vec!["2:24 the key is empty"]),
        ("0.0.0.0:1", "keys: [{ name: a }]\n", vec!["2:8 `key` is missing"]),
    ] {
        assert_eq!(mistakes(&format!("listen: {listen}\n{keys}")), expected, "{listen} {keys}");
    }
    // Keys may have been made by command: only the start knows.
    for (listen, keys) in [("0.0.0.0:1", ""), ("10.0.0.1:1", "keys: []\n"), ("\"[::]:1\"", "")] {
        let found = report(&format!("listen: {listen}\n{keys}"));
        let text = format!(
            "`{}` can be reached from outside, but the config has no keys",
            listen.trim_matches('"')
        );
        assert_eq!(found.diagnostics[0].message, text);
    }
}

#[test]
fn s_07_the_config_is_no_way_in() {
    let huge = format!("environment: {}\n", "x".repeat(1024 * 1024));
    refusal_of(&huge, "the config is larger than 1 MiB");
    let environment =
        Fake { variables: [("V", "${W}"), ("W", "w")].into_iter().collect(), ..Fake::default() };
    let config = load_with("environment: \"${V}\"", &environment).unwrap().config;
    assert_eq!(config.settings.environment, "${W}", "never twice");
    let text = "agents: { a: { tools: [\"*\"], prompt: \"say ${V}\" } }";
    let loaded = load_with(text, &environment).unwrap();
    assert_eq!(
        loaded.config.settings.agents[0].persona.prompt.as_deref(),
        Some("say ${V}"),
        "prose stays"
    );
    assert_eq!(loaded.report.diagnostics[0].message, "`${V}` is not expanded in `prompt`");
}
