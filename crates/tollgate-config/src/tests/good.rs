//! What the config accepts, and what becomes of it.

use std::path::PathBuf;
use std::time::Duration;

use jsonschema::Draft;
use tollgate_core::agent::{Agent, Engine, MixedResponse, ToolSearch};
use tollgate_core::budget::Tier;
use tollgate_core::glob::Glob;
use tollgate_core::tier_selector::{BuiltinKeywords, KeywordLanguage, TierKeywords};
use tollgate_core::tool::{ApprovalMode, TaintRule, ToolEffect};
use tollgate_core::trust::{OnChange, OnFinding, Pinning, TrustPolicy};
use tollgate_engine::settings::{
    GatewayFiles, HttpEndpoint, MemoryDatabaseSettings, NetworkAccess, Privileges,
    ProtocolSelection, ServerAuth, ServerCalibration, ServerDesiredState, ServerSandbox,
    ServerTransport, StartMode, StdioCommand, TierSettings,
};
use tollgate_mcp::Revision;
use tollgate_server::{KeyRole, Right};

use super::super::diagnostic::Problems;
use super::super::{
    ColorMode, ConfigRequest, Severity, TlsSource, json, load_text, manual, schema, yaml_tree,
};
use super::{Fake, good, load, load_with, refusal_of, report};

const EXAMPLE: &str = include_str!("../../../../docs/tollgate.example.yaml");
const MANUAL: &str = include_str!("../../../../docs/configuration.md");

fn everything_set() -> Fake {
    let names = [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "AZURE_CLIENT_SECRET",
        "AWS_SECRET_ACCESS_KEY",
        "SECRET",
    ];
    let keys = [
        ("OPS_KEY", "ops-0123456789abcdef"),
        ("PHONE_KEY", "phone-0123456789abcdef"),
        ("RETELL_API_KEY", "retell-0123456789abcdef"),
        ("TWILIO_AUTH_TOKEN", "twilio-0123456789abcdef"),
        ("VAPI_SECRET", "vapi-0123456789abcdef"),
        ("OPENAI_WEBHOOK_SECRET", "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="),
    ];
    let set = names.into_iter().map(|name| (name, "value")).chain(keys);
    let variables = set.chain([("HOME", "/home/tollgate")]);
    Fake { variables: variables.collect(), ..Fake::default() }
}

fn command(text: &str) -> StdioCommand {
    match good(text).settings.servers.remove(0).transport {
        ServerTransport::Stdio(command) => command,
        other => panic!("{other:?}"),
    }
}

fn endpoint(text: &str) -> HttpEndpoint {
    match good(text).settings.servers.remove(0).transport {
        ServerTransport::StreamableHttp(endpoint) | ServerTransport::Sse(endpoint) => endpoint,
        other @ ServerTransport::Stdio(_) => panic!("{other:?}"),
    }
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let loaded = load_with(EXAMPLE, &everything_set())
        .unwrap_or_else(|report| panic!("{}", report.render(ColorMode::Plain)));
    let odd = loaded.report.diagnostics.iter();
    assert!(
        odd.clone().all(|it| it.severity == Severity::Warning && it.message.contains("version"))
    );
    let config = loaded.config;
    let cert = "/etc/tollgate/cert.pem".into();
    let key = "/etc/tollgate/key.pem".into();
    assert_eq!(config.tls, Some(TlsSource::Files { cert, key }));
    assert_eq!(config.hosts, ["tollgate.example.com", "127.0.0.1"]);
    let settings = &config.settings;
    assert_eq!(settings.environment, "production");
    let [files, search] = settings.servers.as_slice() else { panic!("two servers") };
    assert_eq!(files.id.as_str(), "filesystem");
    assert!(
        matches!(&files.transport, ServerTransport::Stdio(command) if command.words[0] == "npx")
    );
    let ServerTransport::StreamableHttp(endpoint) = &search.transport else { panic!("http") };
    assert!(
        matches!(&endpoint.auth, ServerAuth::ClientCredentials(oauth) if oauth.scopes == ["tools:read"])
    );
    assert_eq!(search.protocol, ProtocolSelection::Auto);
    assert_eq!(search.timeout, Duration::from_secs(10));
    let (name, tool) = search.tools.first_key_value().unwrap();
    assert_eq!(name.as_str(), "get_atis");
    assert_eq!(tool.max, Some(Duration::from_millis(800)));
    assert_eq!(tool.approval, Some(ApprovalMode::Auto));
    assert_eq!(tool.probe, Some(serde_json::json!({ "icao": "EDDF" })));
    assert_eq!(settings.default_agent.as_ref().unwrap().as_str(), "sage");
    assert_eq!(settings.agents[0].ceiling, Some(Tier::Standard));
    assert_eq!(config.settings.agents[0].persona.models, ["gpt-4o-mini", "small"]);
    assert_eq!(config.llm.models.len(), 5, "four, and the one built in");
    assert_eq!(config.keys[0].role, KeyRole::Admin);
    assert!(config.keys[0].rights.has(Right::Approve));
    assert_eq!(config.keys[1].rights, [Right::Execute].into_iter().collect());
    assert_eq!(config.settings.memory.database, MemoryDatabaseSettings::Sqlite);
    assert_eq!([files.calibrate, search.calibrate], [ServerCalibration::ByItself; 2]);
    assert_eq!(search.category.as_deref(), Some("search"));
    assert_eq!(tool.hedge, Some(false));
    let budget = &settings.budget;
    assert_eq!(budget.keywords.deep, ["think carefully"]);
    assert_eq!(budget.keywords.languages, [KeywordLanguage::German, KeywordLanguage::English]);
    assert_eq!(budget.standing.recovery, Duration::from_secs(600));
    assert_eq!(budget.calibrate_every, Duration::from_secs(300));
    assert_eq!(settings.agents[0].keywords.deep, ["consult the archives"]);
    assert_eq!(settings.agents[0].keywords.builtin, BuiltinKeywords::Included);
}

#[test]
fn what_is_left_out_of_the_budget_is_as_usual() {
    for text in ["environment: a", "budget: {}", "budget: { tiers: {}, keywords: {} }"] {
        let found = good(text).settings.budget;
        let usual = TierSettings::default();
        assert_eq!(format!("{found:?}"), format!("{usual:?}"), "{text}");
    }
    let budget = good(
        "budget: { tiers: { fast_ms: 300 }, percentile: 95, min_samples: 10, deep_interval_s: 0,
          recovery_s: 60, calibrate_interval_s: 0, keywords: { standard: [Zauber], replace: true } }",
    );
    let budget = budget.settings.budget;
    assert_eq!(budget.standing.ceilings.fast, Duration::from_millis(300));
    assert_eq!(budget.standing.ceilings.deep, Duration::from_secs(4));
    assert_eq!((budget.standing.percentile, budget.standing.min_samples), (95, 10));
    assert_eq!(budget.deep_interval, Duration::ZERO);
    assert_eq!(budget.standing.recovery, Duration::from_secs(60));
    assert_eq!(budget.calibrate_every, Duration::ZERO);
    assert_eq!(budget.keywords.standard, ["Zauber"]);
    assert_eq!(budget.keywords.builtin, BuiltinKeywords::Replaced);
}

#[test]
fn an_agent_without_a_tier_has_no_budget_and_may_have_words_of_its_own() {
    let text = "agents:
  a: { tools: [roll] }
  b: { tools: [roll], budget_tier: fast, keywords: { deep: [im Detail], languages: [de] } }
";
    let [a, b] = good(text).settings.agents.try_into().unwrap();
    assert_eq!((a.ceiling, b.ceiling), (None, Some(Tier::Fast)));
    assert_eq!(a.keywords, TierKeywords::default());
    assert_eq!(
        (b.keywords.deep, b.keywords.languages),
        (vec!["im Detail".to_owned()], vec![KeywordLanguage::German])
    );
}

#[test]
fn budgets_caches_and_probes_are_no_promises_any_more() {
    let text = "budget: { percentile: 95 }
servers:
  a:
    command: x
    calibrate: false
    defaults: { slow_response_threshold_ms: 1, slow_response_message: One moment. }
    tools:
      t: { idempotent: true, cacheable_seconds: 5, hedge: true, probe: { a: 1 } }
";
    assert_eq!(report(text).diagnostics, []);
    let server = good(text).settings.servers.remove(0);
    assert_eq!(server.calibrate, ServerCalibration::OnCommand);
    let tool = server.tools.into_values().next().unwrap();
    assert_eq!((tool.hedge, tool.cacheable), (Some(true), Some(Duration::from_secs(5))));
}

#[test]
fn a_servers_own_trust_comes_before_that_for_all() {
    let text = "trust: { pin: reviewed, on_finding: quarantine }
servers:
  a: { command: x }
  b: { command: x, trust: { pin: off, on_change: flag } }
  c: { command: x, trust: {}, tools: { t: { effect: read_only, cacheable_seconds: 5 } } }
";
    assert_eq!(report(text).diagnostics, []);
    let [a, b, c] = good(text).settings.servers.try_into().unwrap();
    let usual = TrustPolicy {
        pin: Pinning::Reviewed,
        on_change: OnChange::Quarantine,
        on_finding: OnFinding::Quarantine,
        taint: TaintRule::Ask,
    };
    assert_eq!((a.trust, c.trust), (usual, usual));
    assert_eq!(b.trust, TrustPolicy { pin: Pinning::Off, on_change: OnChange::Flag, ..usual });
    assert_eq!(c.tools.into_values().next().unwrap().effect, Some(ToolEffect::ReadOnly));
    assert_eq!(
        good("servers: { a: { command: x } }").settings.servers[0].trust,
        TrustPolicy::default()
    );
}

#[test]
fn the_example_names_every_key_there_is() {
    let mut missing = Vec::new();
    for line in MANUAL.lines().filter(|line| line.starts_with("| `")) {
        let key = line.split('`').nth(1).unwrap();
        if !EXAMPLE.contains(&format!("{key}:")) {
            missing.push(key);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_schema_takes_the_example_and_refuses_a_typo() {
    let schema = schema();
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .build(&schema)
        .expect("a schema of draft 2020-12");
    let as_json = |text: &str| {
        let mut problems = Problems::default();
        json::from_node(&yaml_tree::parse(text, &mut problems).expect("good YAML"))
    };
    for good in [EXAMPLE, super::super::DEFAULT, LIST_FORM, "servers:\n"] {
        let value = as_json(good);
        let found: Vec<String> = validator.iter_errors(&value).map(|it| it.to_string()).collect();
        assert!(found.is_empty(), "{found:?} in {good}");
    }
    for bad in ["servrs: {}", "servers: { a: { comand: x } }", "budget: { percentile: 100 }"] {
        assert!(!validator.is_valid(&as_json(bad)), "{bad}");
        assert!(load(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_manual_is_what_the_tables_say() {
    assert!(MANUAL == manual(), "run: tollgate manual > docs/configuration.md");
}

#[test]
fn without_a_file_the_embedded_default_runs() {
    for text in ["", "\n\n", "# nothing\n", "---\n", "~\n"] {
        let config = good(text);
        let names: Vec<&str> =
            config.settings.agents.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!(names, ["assistant", "sage", "barkeep"], "{text:?}");
        assert_eq!(config.settings.default_agent.unwrap().as_str(), "assistant");
        assert_eq!(config.listen.to_string(), "127.0.0.1:8655");
        assert_eq!(config.data, PathBuf::from("./.tollgate"));
        assert!(config.settings.agents[0].may_see("roll"));
        assert!(!config.settings.agents[0].may_see("write_file"));
        assert_eq!(config.settings.agents[0].ceiling, Some(Tier::Deep));
        assert_eq!(config.settings.agents[1].ceiling, Some(Tier::Standard));
        assert_eq!(config.settings.agents[2].ceiling, Some(Tier::Fast));
        assert_eq!(config.settings.agents[2].persona.engine, Engine::SpeechToSpeech);
        assert_eq!(config.llm.models.len(), 1);
        assert!(report(text).diagnostics.is_empty(), "{text:?}");
    }
}

#[test]
fn an_agent_says_how_a_model_gets_its_tools() {
    let persona = |keys: &str| {
        let text = format!("agents: {{ sage: {{ tools: [\"*\"]{keys} }} }}");
        good(&text).settings.agents.remove(0).persona
    };
    let usual = persona("");
    assert_eq!((usual.tool_search, usual.mixed_response), Default::default());
    assert!(usual.pinned_tools.is_empty());
    let set =
        persona(", tool_search: auto, pinned_tools: [roll, \"world_*\"], mixed_response: inline");
    assert_eq!((set.tool_search, set.mixed_response), (ToolSearch::Auto, MixedResponse::Inline));
    assert_eq!(set.pinned_tools, [Glob::new("roll"), Glob::new("world_*")]);
    assert_eq!(persona(", tool_search: always").tool_search, ToolSearch::Always);
}

#[test]
fn a_config_without_agents_has_one_that_sees_everything() {
    let config = good("servers: { a: { command: x } }");
    let [agent] = config.settings.agents.as_slice() else { panic!("one agent") };
    assert_eq!(agent.id, Agent::implicit().id);
    assert!(agent.may_see("a_anything"));
    assert_eq!(config.settings.agents.len(), 1);
    assert_eq!(config.settings.default_agent, None);
}

const LIST_FORM: &str = "\
servers:
  - name: dice-extended
    transport: stdio
    command: /usr/local/bin/mcp-dice-server --config /etc/dice.json
    env:
      DICE_MAX_SIDES: \"100\"
      LOG_LEVEL: debug
  - name: premium-tools
    transport: streamable-http
    url: https://premium.example.com/mcp
    auth:
      token: \"Bearer abc\"
    tools:
      - name: get_atis
        expose_as: atis
";

#[test]
fn the_list_form_of_servers_and_tools_is_read() {
    let config = good(LIST_FORM);
    let ids: Vec<&str> = config.settings.servers.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["dice-extended", "premium-tools"]);
    let ServerTransport::Stdio(command) = &config.settings.servers[0].transport else { panic!() };
    assert_eq!(command.words, ["/usr/local/bin/mcp-dice-server", "--config", "/etc/dice.json"]);
    assert_eq!(command.env["DICE_MAX_SIDES"].reveal(), "100");
    assert_eq!(config.settings.servers[1].tools.len(), 1);
}

#[test]
fn commands_are_split_like_a_shell_does_and_never_run_by_one() {
    for (typed, expected) in [
        ("npx -y files", vec!["npx", "-y", "files"]),
        ("'run \"my tool.sh\" --name=\"a b\"'", vec!["run", "my tool.sh", "--name=a b"]),
        ("\"run 'a b' c\\\\ d\"", vec!["run", "a b", "c d"]),
        ("[run, a b, \"$(id)\"]", vec!["run", "a b", "$(id)"]),
        ("\"run $(id) `id` ;\"", vec!["run", "$(id)", "`id`", ";"]),
        ("[8080, true]", vec!["8080", "true"]),
    ] {
        assert_eq!(command(&format!("servers: {{ a: {{ command: {typed} }} }}")).words, expected);
    }
    let appended = command("servers: { a: { command: run a, args: [b, c d] } }");
    assert_eq!(appended.words, ["run", "a", "b", "c d"]);
}

#[test]
fn a_variable_cannot_add_words_to_a_command() {
    let environment =
        Fake { variables: [("X", "a b; 'c")].into_iter().collect(), ..Fake::default() };
    let text = "servers: { a: { command: \"run ${X} --y=${X}\" } }";
    let config = load_with(text, &environment).unwrap().config;
    let ServerTransport::Stdio(command) = &config.settings.servers[0].transport else { panic!() };
    assert_eq!(command.words, ["run", "a b; 'c", "--y=a b; 'c"]);
}

#[test]
fn tokens_lose_the_word_bearer_and_api_keys_become_a_header() {
    for token in ["abc", "Bearer abc", "bearer   abc", " abc "] {
        let text =
            format!("servers: {{ a: {{ url: https://h/, auth: {{ token: \"{token}\" }} }} }}");
        assert!(
            matches!(endpoint(&text).auth, ServerAuth::Token(token) if token.reveal() == "abc")
        );
    }
    let text = "servers: { a: { url: https://h/, auth: { apiKey: abc }, headers: { X-A: b } } }";
    let endpoint = endpoint(text);
    assert_eq!(endpoint.auth, ServerAuth::None);
    assert_eq!(endpoint.headers["x-api-key"].reveal(), "abc");
    assert_eq!(endpoint.headers["x-a"].reveal(), "b");
}

#[test]
fn the_transport_follows_from_command_or_url() {
    let config = good(
        "servers:\n  a: { command: x }\n  b: { url: http://localhost:1/ }\n  c: { url: \"http://[::1]/\", transport: sse, protocol: 2024-11-05, enabled: false, start: lazy }\n",
    );
    let [a, b, c] = config.settings.servers.as_slice() else { panic!() };
    assert!(matches!(a.transport, ServerTransport::Stdio(_)));
    assert!(matches!(b.transport, ServerTransport::StreamableHttp(_)));
    assert!(matches!(c.transport, ServerTransport::Sse(_)));
    assert_eq!(c.protocol, ProtocolSelection::Pinned(Revision::V2024_11_05));
    assert_eq!((c.state, c.start), (ServerDesiredState::Disabled, StartMode::Lazy));
    assert_eq!((a.state, a.start), (ServerDesiredState::Enabled, StartMode::Eager));
    assert!(a.allow[0].matches("anything") && !a.trusted);
}

#[test]
fn flags_win_over_the_file() {
    let request = ConfigRequest {
        file: None,
        listen: Some("127.0.0.1:1".to_owned()),
        data: Some(PathBuf::from("/d")),
        tls: false,
    };
    let text = b"listen: 127.0.0.1:2\ndata: /e\n";
    let config =
        load_text(std::path::Path::new("t"), text, &request, &Fake::default()).unwrap().config;
    assert_eq!(config.listen.to_string(), "127.0.0.1:1");
    assert_eq!(config.data, PathBuf::from("/d"));
    assert_eq!(config.settings.data, PathBuf::from("/d"));
    assert_eq!(config.settings.builtin.files, PathBuf::from("/d/files"));
}

#[test]
fn anchors_aliases_and_merge_keys_work() {
    let config = good(
        "servers:\n  a: &a\n    command: x\n    env: { K: v }\n  b:\n    <<: *a\n    command: y\n  c: *a\n",
    );
    let words: Vec<String> = config
        .settings
        .servers
        .iter()
        .map(|server| match &server.transport {
            ServerTransport::Stdio(command) => {
                format!("{} {}", command.words[0], command.env["K"].reveal())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(words, ["x v", "y v", "x v"]);
}

#[test]
fn odd_but_possible_configs_only_warn() {
    for (text, expected) in [
        ("agents: { a: { tools: [rol] } }", "no tool can be named `rol`"),
        ("agents: { a: {} }", "agent `a` has no tools"),
        ("servers: { a: { command: x, headers: { b: c } } }", "`headers` has no effect here"),
        ("servers: { a: { command: \"x | y\" } }", "`|` is passed to the program unchanged"),
        ("servers: { a: { command: ~/x } }", "`~` in `~/x` is not expanded"),
        (
            "servers: { a: { command: x, env: { LD_PRELOAD: y } } }",
            "`LD_PRELOAD` lets the server load other code",
        ),
        (
            "servers: { a: { url: http://h.example/, auth: { token: x } } }",
            "the credential is sent unencrypted",
        ),
        (
            "listen: 127.0.0.1:1\ntrusted_proxies: [\"0.0.0.0/0\"]",
            "`trusted_proxies` trusts every address: any client can forge its address",
        ),
        (
            "servers: { a: { command: x, tools: { t: { cacheable_seconds: 5 } } } }",
            "results will not be cached",
        ),
        (
            "servers: { a: { command: x, trusted: true, tools: { t: { idempotent: false, hedge: true } } } }",
            "there will be no retries",
        ),
        ("budget: { keywords: { replace: true, languages: [de] } }", "no keyword list is left"),
    ] {
        let report = report(text);
        assert_eq!(report.count(Severity::Error), 0, "{text}");
        let found: Vec<&str> = report.diagnostics.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(found, [expected], "{text}");
    }
    for fine in [
        "agents: { a: { tools: [\"*\"] } }",
        "agents: { a: { tools: [roll, \"get_*\"] } }",
        "servers: { a: { command: x, tools: { t: { cacheable_seconds: 0, hedge: false } } } }",
        "servers: { a: { command: x, trusted: true, tools: { t: { cacheable_seconds: 5, hedge: true } } } }",
        "servers: { b: { command: x } }\nagents: { a: { tools: [b_y, \"b*\"] } }",
        "servers: { b: { command: x } }\nnames: { pattern: \"{tool}\" }\nagents: { a: { tools: [y] } }",
        "servers: { b: { command: x, tools: { q: { expose_as: z } } } }\nagents: { a: { tools: [z] } }",
    ] {
        assert_eq!(report(fine).diagnostics, [], "{fine}");
    }
}

#[test]
fn s_05_a_sandbox_has_limits_rules_and_sensible_defaults() {
    let sandbox =
        |text: &str| command(&format!("servers: {{ a: {{ command: x, {text} }} }}")).sandbox;
    assert_eq!(sandbox("args: []"), ServerSandbox::default());
    assert_eq!(sandbox("sandbox: {}"), ServerSandbox::default());
    let tight = sandbox(
        "sandbox: { memory_mb: 512, cpu_s: 60, open_files: 0, processes: 9, read: [/srv], write: [out], network: deny }",
    );
    let limits = &tight.limits;
    assert_eq!((limits.memory_bytes, limits.cpu_seconds), (Some(512 << 20), Some(60)));
    assert_eq!((limits.open_files, limits.processes), (None, Some(9)), "0 is none");
    assert_eq!(limits.file_bytes, Some(4096 << 20));
    let here = std::env::current_dir().unwrap();
    assert_eq!((tight.read, tight.write), (vec!["/srv".into()], vec![here.join("out")]));
    assert_eq!((tight.network, tight.privileges), (NetworkAccess::Deny, Privileges::Frozen));
    let free = sandbox("sandbox: { no_new_privileges: false }");
    assert_eq!(free.privileges, Privileges::AsFound);
    assert_eq!(free.gateway_files, GatewayFiles::Closed, "whatever it says");
    assert_eq!(sandbox("sandbox: none"), ServerSandbox::none());
    let warned = report("servers: { a: { command: x, sandbox: none } }");
    let message = &warned.diagnostics[0].message;
    assert_eq!(message, "`sandbox: none` gives the server access to the gateway's files");
}

#[test]
fn providers_keep_conversations_only_where_the_config_says_so() {
    let providers = "providers: { oa: { kind: openai, api_key: k } }\n";
    let config = good(&format!(
        "{providers}models:\n  a: {{ provider: oa, api: responses }}\n  \
         b: {{ provider: oa, api: responses, store: true }}\n  c: {{ provider: oa, store: false }}\n"
    ));
    let store = |name: &str| config.llm.models.iter().find(|it| it.name == name).unwrap().store;
    assert_eq!(["a", "b", "c"].map(store), [false, true, false]);
    refusal_of(
        &format!("{providers}models:\n  a: {{ provider: oa, store: true }}\n"),
        "3:29 only the Responses API has `store`",
    );
}

#[test]
fn a_deployment_can_behave_like_a_known_model() {
    let providers = "providers: { az: { kind: openai, api_key: k }, off: { kind: offline } }\n";
    let config = good(&format!(
        "{providers}models:\n  prod: {{ provider: az, id: chat-prod, behaves_like: gpt-5.5 }}\n"
    ));
    let prod = config.llm.models.iter().find(|it| it.name == "prod").unwrap();
    assert_eq!(prod.behaves_like.as_deref(), Some("gpt-5.5"));
    refusal_of(
        &format!("{providers}models:\n  prod: {{ provider: az, behaves_like: claude-opus-4-8 }}\n"),
        "3:39 the options of a model `claude-opus-4-8` are not known",
    );
    refusal_of(
        &format!("{providers}models:\n  none: {{ provider: off, behaves_like: gpt-5.5 }}\n"),
        "3:40 models of this provider have no options to choose from",
    );
}
