//! Who may come in, under which name, and what nobody may believe to be in force.

use tollgate_core::date;
use tollgate_core::glob::Glob;
use tollgate_engine::settings::{OauthLoginSettings, ServerAuth, ServerTransport};
use tollgate_server::{Fingerprint, KeyRole, Right};

use super::{check, good, mistakes, refusal_of, report};

const KEYS: &str = "keys: [{ name: a, key: 0123456789abcdef0123 }]";

#[test]
fn hosts_are_written_as_in_a_host_header() {
    for (text, expected) in [
        ("listen: 127.0.0.1:1", &["127.0.0.1"][..]),
        ("listen: '[::1]:1'", &["[::1]"]),
        ("listen: 0.0.0.0:1\nhosts: [A.example]", &["a.example"]),
        (
            "listen: '[::]:1'\nhosts: ['::1', '[fe80::1]', 10.0.0.7]",
            &["[::1]", "[fe80::1]", "10.0.0.7"],
        ),
    ] {
        assert_eq!(good(&format!("{text}\n{KEYS}")).hosts, expected, "{text}");
    }
}

#[test]
fn what_no_host_header_says_is_no_host() {
    for bad in ["a:80", "http://a", "*", "a/b", "", "[a]", "ä.example"] {
        let expected = format!("1:9 `{bad}` is not the name of a host");
        refusal_of(&format!("hosts: ['{bad}']"), &expected);
    }
}

#[test]
fn origins_are_written_as_browsers_write_them() {
    for (typed, expected) in [
        ("https://app.example.com", "https://app.example.com"),
        ("HTTPS://App.Example.com:443", "https://app.example.com"),
        ("http://localhost:5173", "http://localhost:5173"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("http://[::1]", "http://[::1]"),
    ] {
        assert_eq!(good(&format!("origins: ['{typed}']")).origins, [expected], "{typed}");
    }
    assert!(good("listen: 127.0.0.1:1").origins.is_empty());
}

#[test]
fn what_no_browser_sends_as_its_origin_is_refused() {
    for bad in [
        "*",
        "null",
        "app.example.com",
        "https://",
        "https://a.example/",
        "https://a.example/x",
        "https://*.a.example",
        "https://a.example:99999",
        "https://a@b.example",
        "ftp://a.example",
    ] {
        let expected = format!("1:11 `{bad}` is not the origin of a page");
        refusal_of(&format!("origins: ['{bad}']"), &expected);
    }
}

#[test]
fn webhooks_of_incoming_calls_name_an_agent_and_have_a_signing_secret() {
    let text = |more: &str| {
        format!("agents: {{ a: {{ tools: ['*'] }} }}\nincoming_calls: {{ sip: {{ {more} }} }}")
    };
    let secret = "secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let [call] = &good(&text(&format!("{secret}, agent: a"))).incoming_calls[..] else {
        panic!("one")
    };
    assert_eq!((&*call.name, call.agent.as_str(), &call.model), ("sip", "a", &None));
    for (more, expected) in [
        (format!("{secret}, agent: b"), "there is no agent `b`"),
        (format!("{secret}, agent: a, model: m"), "there is no model `m`"),
        ("secret: whsec_short, agent: a".to_owned(), "this is no signing secret of a webhook"),
        ("secret: MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, agent: a".to_owned(), "this is no signing"),
    ] {
        let found = mistakes(&text(&more)).join("\n");
        assert!(found.contains(expected), "{more}: {found}");
    }
}

#[test]
fn s_02_keys_that_can_be_guessed_are_refused_with_what_to_do() {
    for (key, is_refused) in [
        ("a", true),
        ("0123456789abcdef012", true),
        ("0123456789abcdef0123", false),
        ("tg_0123456789abcdef0123", false),
    ] {
        let found = mistakes(&format!("keys: [{{ name: a, key: \"{key}\" }}]"));
        let expected = "1:24 the key is shorter than 20 characters".to_owned();
        assert_eq!(found, is_refused.then_some(expected).into_iter().collect::<Vec<_>>(), "{key}");
    }
    check(
        "keys: [{ name: a, key: hunter2 }]",
        "
error: the key is shorter than 20 characters
 --> t.yaml:1:24
   |
 1 | keys: [{ name: a, key: ******* }]
   |                        ^^^^^^^
   = short keys can be guessed: use `openssl rand -hex 32`, or create a key with `tollgate keys create NAME`

1 error in t.yaml
",
    );
}

#[test]
fn trusted_proxies_are_addresses_and_networks() {
    let config = good("trusted_proxies: [10.0.0.7, 10.0.0.0/8, 'fd00::/8', '::1']");
    assert_ne!(config.trusted_proxies, good("{}").trusted_proxies);
    for bad in ["proxy.example", "10.0.0.1/8", "10.0.0.0/33", "*", "", "10.0.0.7:80", "fd00::/129"]
    {
        let expected = format!("1:19 `{bad}` cannot be a trusted proxy");
        refusal_of(&format!("trusted_proxies: ['{bad}']"), &expected);
    }
}

#[test]
fn every_interface_without_names_is_pointed_out() {
    check(
        &format!("listen: 0.0.0.0:8655\n{KEYS}"),
        "
warning: `0.0.0.0:8655` is every interface, but `hosts` is not set
 --> t.yaml:1:9
   |
 1 | listen: 0.0.0.0:8655
   |         ^^^^^^^^^^^^
   = only `localhost` is accepted; add `hosts: [tools.example.com, 192.168.1.7]`

1 warning in t.yaml
",
    );
}

#[test]
fn a_key_for_no_agent_is_a_mistake() {
    let keys = "keys: [{ name: a, key: 0123456789abcdef0123, agents: [] }]";
    refusal_of(keys, "1:46 a key without agents is useless");
}

#[test]
fn a_key_is_known_by_itself_or_by_its_hash() {
    let hash = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let text = format!(
        "keys: [{{ name: a, hash: \"{hash}\", role: operator, tools: [\"roll*\"], concurrent: 3, \
         expires: 2030-02-28 }}]"
    );
    let config = good(&text);
    let key = &config.keys[0];
    assert_eq!(key.proof.fingerprint(), Fingerprint::of(b"abc"));
    assert_eq!((key.role, key.grant.concurrent), (KeyRole::Operator, Some(3)));
    assert_eq!(key.rights, [Right::Approve, Right::Observe].into_iter().collect());
    assert_eq!(key.grant.tools.as_deref(), Some(&[Glob::new("roll*")][..]));
    assert_eq!(key.expires, date::parse("2030-02-28"));
    refusal_of("keys: [{ name: a, hash: abc }]", "1:25 the hash is not a SHA-256");
    let both = format!("keys: [{{ name: a, key: 0123456789abcdef0123, hash: \"{hash}\" }}]");
    refusal_of(&both, "1:52 `key` and `hash` exclude each other");
    let twice = "0123456789abcdef0123";
    let hash = Fingerprint::of(twice.as_bytes());
    let hash: String = hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let same =
        format!("keys: [{{ name: a, key: {twice} }}, {{ name: b, hash: \"sha256:{hash}\" }}]");
    refusal_of(&same, "1:48 two entries have the same key");
    let late = "keys: [{ name: a, key: 0123456789abcdef0123, expires: tomorrow }]";
    refusal_of(late, "1:55 `expires` must be a date, not `tomorrow`");
}

#[test]
fn tokens_are_of_one_issuer_and_for_us() {
    let auth = |fields: &str| format!("auth: {{ {fields} }}");
    let issuer = "issuer: \"https://idp.example\"";
    let config = good(&auth(&format!("{issuer}, resource: \"https://g.example/mcp\"")));
    let tokens = config.auth.unwrap();
    assert_eq!((tokens.audience.as_str(), tokens.claim.as_str()), ("https://g.example/mcp", "sub"));
    assert_eq!(tokens.scopes, ["tollgate:execute"]);
    let rules = "rules: [{ claim: groups, value: ops, role: operator }, { rights: [execute] }]";
    let both = "audience: gate, resource: \"https://g.example/mcp\"";
    let tokens = good(&auth(&format!("{issuer}, {both}, {rules}"))).auth.unwrap();
    assert_eq!((tokens.audience.as_str(), tokens.rules.len()), ("gate", 2));
    assert_eq!(tokens.rules[0].rights, [Right::Approve, Right::Observe].into_iter().collect());
    assert_eq!(tokens.rules[1].when, None);
    let open = format!("listen: 0.0.0.0:1\n{}", auth(&format!("{issuer}, {both}")));
    let text = report(&open).diagnostics.remove(0).message;
    assert!(text.contains("`hosts` is not set"), "tokens are enough: {text}");
    for (fields, text) in [
        (issuer, "`resource` is missing"),
        (both, "`issuer` is missing"),
        (
            "issuer: \"http://idp.example\", audience: \"https://g/mcp\"",
            "`http://idp.example` is not https",
        ),
        (
            "issuer: x, audience: \"https://g/mcp\"",
            "`issuer` must begin with http:// or https://: `x`",
        ),
        (
            &format!("{issuer}, audience: gate"),
            "`resource` must begin with http:// or https://: `gate`",
        ),
        (
            &format!("{issuer}, resource: \"https://g/mcp/\""),
            "`https://g/mcp/` ends with `/`, or has a query",
        ),
        (&format!("{issuer}, {both}, scopes: [\"a b\"]"), "`a b` is not a scope"),
        (&format!("{issuer}, {both}, jwks_url: \"http://h/k\""), "`http://h/k` is not https"),
        (
            &format!("{issuer}, {both}, rules: [{{ claim: a }}]"),
            "a rule has `claim` and `value`, or neither",
        ),
        (&format!("{issuer}, {both}, rules: [{{ agents: [x] }}]"), "there is no agent `x`"),
        (&format!("{issuer}, {both}, jwks_uri: x"), "unknown key `jwks_uri`"),
    ] {
        let found = mistakes(&auth(fields));
        assert!(found.len() == 1 && found[0].ends_with(text), "{fields}: {found:?}");
    }
}

#[test]
fn agents_leave_the_paths_of_operators_alone() {
    for name in ["status", "test"] {
        let expected = format!("1:11 an agent cannot be named `{name}`");
        refusal_of(&format!("agents: {{ {name}: {{ tools: [roll] }} }}"), &expected);
    }
    good("agents: { tests: { tools: [roll] } }");
}

#[test]
fn what_does_nothing_is_said() {
    let text = "
redis: redis://127.0.0.1:1
servers:
  a:
    command: x
    tools:
      b: { approval: always, rate_limit: 1/s }
      c: { approval: never, probe: {} }
agents:
  sage: { tools: [roll], prompt: Hello, rate_limit: 2/s, code_mode: true }
keys: [{ name: k, key: 0123456789abcdef0123, rate_limit: 3/s }]
";
    let found = report(text);
    let warned: Vec<&str> = found.diagnostics.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(warned, ["not implemented in this version: `redis`"]);
    assert_eq!(report("").diagnostics, [], "nobody typed the embedded default");
}

#[test]
fn only_names_that_ship_or_will_are_taken_for_built_in() {
    let names = "[roll, roll_table, read_file, write_file, search_rules]";
    assert_eq!(report(&format!("agents: {{ a: {{ tools: {names} }} }}")).diagnostics, []);
    let music = "agents: { a: { tools: [play_track, stop_music] } }";
    let found = report(music);
    assert_eq!(found.diagnostics[0].message, "there is no `play_track` without `builtin.music`");
    assert_eq!(report(&format!("{music}\nbuiltin: {{ music: {{ library: m }} }}")).diagnostics, []);
    let found = report("agents: { a: { tools: [generate_image] } }");
    assert_eq!(found.diagnostics[0].message, "no tool can be named `generate_image`");
}

#[test]
fn limits_are_read_where_they_hold() {
    let config = good(
        "
limits: { in_flight: 10, per_key: 3, memory_mb: 512 }
servers: { a: { command: x, limits: { concurrent: 4, queue: 0 } }, b: { command: x } }
agents: { sage: { tools: [roll], limits: { concurrent: 2 }, rate_limit: 5/min } }
",
    );
    assert_eq!((config.front.in_flight, config.front.per_key), (10, 3));
    assert_eq!(format!("{:?}", config.front.memory), "Memory { limit: Some(536870912), .. }");
    let [a, b] = config.settings.servers.as_slice() else { panic!("two servers") };
    assert_eq!((a.slots.concurrent, a.slots.queue), (4, 0));
    assert_eq!((b.slots.concurrent, b.slots.queue), (64, 128));
    let sage = &config.settings.agents[0];
    assert_eq!((sage.concurrent, sage.rate_limit.map(|it| it.calls)), (Some(2), Some(5)));
    refusal_of(
        "limits: { per_key: 0 }",
        "1:20 `per_key` must be a whole number from 1 to 1000000 requests, not `0`",
    );
}

#[test]
fn a_login_is_one_way_to_authorize_and_no_other_beside_it() {
    let server =
        |auth: &str| format!("servers:\n  web:\n    url: https://x.test\n    auth: {auth}\n");
    let ServerTransport::StreamableHttp(endpoint) =
        &good(&server("{ login: true, scopes: [a] }")).settings.servers[0].transport
    else {
        panic!("a url is streamable http")
    };
    let login =
        OauthLoginSettings { scopes: vec!["a".to_owned()], ..OauthLoginSettings::default() };
    assert_eq!(endpoint.auth, ServerAuth::Login(login));
    good(&server("{ login: true, issuer: https://id.test/tenant }"));
    refusal_of(
        &server("{ login: true, issuer: id.test }"),
        "4:34 `issuer` must begin with http:// or https://: `id.test`",
    );
    refusal_of(&server("{ login: true, token: x }"), "4:33 two ways to authorize");
    refusal_of(
        &server("{ login: true, client_secret: x }"),
        "4:41 `client_secret` without `client_id`",
    );
}

#[test]
fn how_calls_wait_for_leave_is_read() {
    let usual = good("").settings.approvals;
    assert_eq!((usual.timeout.as_secs(), usual.waiting), (120, 256));
    let config = good("approvals: { timeout_s: 5, waiting: 2 }");
    let approvals = config.settings.approvals;
    assert_eq!((approvals.timeout.as_secs(), approvals.waiting), (5, 2));
}
