//! One real file of every format, and what becomes of it.

use std::path::Path;

use serde_json::{Value, json};
use tollgate_config::{ConfigRequest, Environment, load_text};

use super::super::{ImportContext, ImportedConfig, SecretPlacement, read};
use super::{dropped_keys, import_context, import_text, servers};
use crate::client_apps::ClientApp;

const CLAUDE_CODE: &str = include_str!("samples/claude-code.json");
const CLAUDE_DESKTOP: &str = include_str!("samples/claude-desktop.json");
const CURSOR: &str = include_str!("samples/cursor.json");
const VSCODE: &str = include_str!("samples/vscode.json");
const COPILOT: &str = include_str!("samples/copilot-cli.json");
const CODEX: &str = include_str!("samples/codex.toml");
const GEMINI: &str = include_str!("samples/gemini-cli.json");
const WINDSURF: &str = include_str!("samples/windsurf.json");
const ZED: &str = include_str!("samples/zed.json");
const OPENCODE: &str = include_str!("samples/opencode.json");
const GOOSE: &str = include_str!("samples/goose.yaml");
const CLINE: &str = include_str!("samples/cline.json");
const BIFROST: &str = include_str!("samples/bifrost.json");
const AVA: &str = include_str!("samples/ava.yaml");
const GLYPHOXA: &str = include_str!("samples/glyphoxa.yaml");
const FRUGALROUTE: &str = include_str!("samples/frugalroute.yaml");

fn others(imported: &ImportedConfig, section: &str) -> Value {
    let of = imported.others.iter().filter(|other| other.section == section);
    let pairs = of.map(|other| (other.found.name.clone(), json!(other.found.keys)));
    Value::Object(pairs.collect())
}

#[test]
fn claude_code_keeps_its_variables_and_its_projects() {
    let imported = import_text(CLAUDE_CODE);
    assert_eq!(
        servers(&imported),
        json!({
            "github": {"url": "https://api.githubcopilot.com/mcp/", "auth": {"token": "${GITHUB_TOKEN}"}},
            "db": {
                "command": ["npx", "-y", "@bytebase/dbhub@0.11.0", "--dsn", "${DSN:-sqlite:///x.db}"],
                "env": {"LOG_LEVEL": "debug"},
                "defaults": {"timeout_ms": 30000},
            },
            "linear": {
                "transport": "sse",
                "url": "https://mcp.linear.app/sse",
                "auth": {"login": true, "client_id": "abc"},
            },
            "db_2": {"command": ["other"]},
        })
    );
    let last = imported.servers.last().unwrap();
    assert!(last.notes.contains(&"for the folder /home/me/app there".to_owned()), "{last:?}");
    assert!(imported.given.is_empty(), "{imported:?}");
}

#[test]
fn claude_desktop_has_names_that_become_ids_and_secrets_that_leave() {
    let imported = import_text(CLAUDE_DESKTOP);
    assert_eq!(
        servers(&imported),
        json!({
            "My_Files": {"command": ["npx", "-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/data"]},
            "brave": {"command": ["npx", "-y", "brave"], "env": {"BRAVE_API_KEY": "${BRAVE_BRAVE_API_KEY}"}},
        })
    );
    assert_eq!(imported.servers[0].notes, ["named `My Files!` there"]);
    assert_eq!(
        imported.servers[1].notes,
        ["it contained a literal secret; set `BRAVE_BRAVE_API_KEY` instead"]
    );
    assert_eq!(imported.given[0].1.reveal(), "canary-of-mine-123");
    assert!(!format!("{imported:?}").contains("canary"), "{imported:?}");
}

#[test]
fn cursor_has_comments_commas_too_many_and_its_own_variables() {
    let imported = import_text(CURSOR);
    assert_eq!(
        servers(&imported),
        json!({
            "remote": {
                "url": "https://tools.example.com/mcp",
                "headers": {"X-Team": "green", "X-Api-Key": "${TOOLS_KEY}"},
            },
            "local": {"command": ["python3", "${WORKSPACE_FOLDER}/srv.py", "${HOME}/x"]},
        })
    );
    assert_eq!(
        dropped_keys(&imported),
        "mcpServers.local.envFile: env files are not read; write its variables into `env`\n"
    );
}

#[test]
fn what_vscode_asks_a_person_for_becomes_a_variable() {
    let imported = import_text(VSCODE);
    assert_eq!(imported.format, "VS Code");
    assert_eq!(
        servers(&imported),
        json!({
            "perplexity": {
                "command": ["npx", "-y", "server-perplexity-ask"],
                "env": {"PERPLEXITY_API_KEY": "${TOLLGATE_INPUT_PERPLEXITY_KEY}"},
            },
            "fetch": {"url": "https://x.test/mcp"},
        })
    );
    let notes = &imported.servers[0].notes;
    assert!(
        notes.contains(&"`TOLLGATE_INPUT_PERPLEXITY_KEY`: Perplexity API Key".to_owned()),
        "{notes:?}"
    );
    assert_eq!(
        dropped_keys(&imported),
        "servers.perplexity.dev: is only for the author of the server\n"
    );
    let settings = format!("{{\"editor.tabSize\": 2, \"mcp\": {VSCODE}}}");
    assert_eq!(servers(&import_text(&settings)), servers(&imported));
}

#[test]
fn copilot_says_which_tools_there_are() {
    let imported = import_text(COPILOT);
    assert_eq!(imported.format, "GitHub Copilot CLI");
    assert_eq!(
        servers(&imported),
        json!({
            "play": {"command": ["npx", "@playwright/mcp@0.0.40"]},
            "docs": {"url": "https://docs.example.com/mcp", "allow": ["search", "read"]},
        })
    );
    assert_eq!(dropped_keys(&imported), "");
}

#[test]
fn codex_names_variables_where_others_have_values() {
    let imported = import_text(CODEX);
    assert_eq!(imported.format, "Codex");
    assert_eq!(
        servers(&imported),
        json!({
            "figma": {
                "url": "https://mcp.figma.com/mcp",
                "auth": {"token": "${FIGMA_TOKEN}"},
                "headers": {"X-Region": "us-east-1", "X-Trace": "${TRACE_ID}"},
                "enabled": false,
            },
            "context7": {
                "command": ["npx", "-y", "@upstash/context7-mcp"],
                "env": {"MY_ENV_VAR": "plain", "LOCAL_TOKEN": "${LOCAL_TOKEN}", "REMOTE": "${REMOTE}"},
                "cwd": "/srv",
                "defaults": {"timeout_ms": 45000},
                "allow": ["resolve"],
                "deny": ["screenshot"],
            },
        })
    );
    assert_eq!(
        dropped_keys(&imported),
        "mcp_servers.context7.startup_timeout_sec: a server that is slow to start does not block \
         here\n"
    );
}

#[test]
fn gemini_has_two_words_for_a_url_and_bare_variables() {
    let imported = import_text(GEMINI);
    assert_eq!(imported.format, "Gemini CLI");
    assert_eq!(
        servers(&imported),
        json!({
            "http": {
                "url": "https://api.example.com/mcp",
                "auth": {"token": "${API_TOKEN}"},
                "defaults": {"timeout_ms": 5000},
                "allow": ["a"],
                "deny": ["b"],
            },
            "events": {"transport": "sse", "url": "https://api.example.com/events"},
            "py": {"command": ["python", "-m", "my_mcp_server"], "env": {"DB": "${DB_URL}"}, "cwd": "./server"},
        })
    );
    assert!(
        dropped_keys(&imported)
            .starts_with("mcpServers.http.trust: set `auto_execute` of an agent")
    );
}

#[test]
fn windsurf_zed_and_opencode_have_their_own_words() {
    for (text, format, expected) in [
        (
            WINDSURF,
            "Windsurf / Antigravity",
            json!({"remote": {
                "url": "https://example.com/mcp", "headers": {"API_KEY": "Bearer ${AUTH}"},
                "enabled": false, "deny": ["drop"],
            }}),
        ),
        (
            ZED,
            "Zed",
            json!({
                "old": {"command": ["node", "srv.js"], "env": {"A": "1"}},
                "new": {"command": ["uvx", "mcp-server-git"]},
                "web": {"url": "https://zed.example.com/mcp", "auth": {"token": "${WEB_TOKEN}"}},
            }),
        ),
        (
            OPENCODE,
            "opencode",
            json!({
                "local": {
                    "command": ["bun", "x", "my-mcp"], "env": {"KEY": "${MY_KEY}"},
                    "defaults": {"timeout_ms": 7000},
                },
                "remote": {
                    "url": "https://mcp.example.com", "auth": {"token": "${TOKEN}"}, "enabled": false,
                },
            }),
        ),
        (
            GOOSE,
            "Goose",
            json!({
                "fetch": {
                    "command": ["uvx", "mcp-server-fetch"], "env": {"FETCH_TOKEN": "${FETCH_TOKEN}"},
                    "defaults": {"timeout_ms": 300_000},
                },
                "docs": {
                    "url": "https://docs.example.com/mcp", "headers": {"X-A": "b"}, "enabled": false,
                    "defaults": {"timeout_ms": 60_000},
                },
            }),
        ),
        (
            CLINE,
            "Cline / Roo Code",
            json!({
                "a": {"url": "https://a.test/mcp", "enabled": false, "defaults": {"timeout_ms": 60_000}},
                "b": {"command": ["node", "b.js", "--token", "${B_TOKEN}"], "deny": ["rm"]},
            }),
        ),
    ] {
        let imported = import_text(text);
        assert_eq!(imported.format, format);
        assert_eq!(servers(&imported), expected, "{format}");
    }
    assert!(
        dropped_keys(&import_text(ZED)).contains("mcp-server-puppeteer: is an extension of Zed")
    );
    assert_eq!(
        dropped_keys(&import_text(GOOSE)),
        "extensions.developer: `builtin` is a part of Goose\n"
    );
}

#[test]
fn bifrost_brings_its_servers_providers_and_models() {
    let imported = import_text(BIFROST);
    assert_eq!(
        servers(&imported),
        json!({
            "filesystem": {
                "command": ["npx", "-y", "@anthropic/mcp-filesystem"],
                "env": {"HOME_DIR": "${HOME_DIR}", "MODE": "ro"},
                "code_mode": true,
                "defaults": {"timeout_ms": 30_000},
            },
            "billing": {
                "url": "${BILLING_URL}", "headers": {"Authorization": "${BILLING_AUTH}"},
                "allow": ["charge", "credit"], "defaults": {"timeout_ms": 30_000},
            },
            "shut": {
                "transport": "sse", "url": "https://s.test/sse", "deny": ["*"],
                "defaults": {"timeout_ms": 30_000},
            },
        })
    );
    assert_eq!(
        others(&imported, "providers"),
        json!({"openai": {
            "kind": "openai", "base_url": "https://api.openai.com/v1", "api_key": "${OPENAI_API_KEY}",
            "timeout_ms": 30_000, "retries": 3, "concurrent": 100,
        }})
    );
    let models = json!({"gpt-4o-mini": {"provider": "openai"}, "gpt-4o": {"provider": "openai"}});
    assert_eq!(others(&imported, "models"), models);
    let dropped = dropped_keys(&imported);
    for line in [
        "mcp.client_configs.filesystem.tools_to_auto_execute: set `auto_execute` of an agent",
        "mcp.client_configs.inside: `inprocess` runs inside Bifrost",
        "mcp.tool_manager_config.max_agent_depth: write `max_depth` of agents",
        "1 further key of `openai`: a provider has only one key",
        "providers.bedrock: its API is not supported",
        "governance: create keys with `tollgate keys create`",
    ] {
        assert!(dropped.contains(line), "{line}\n---\n{dropped}");
    }
    assert!(!format!("{imported:?}").contains("canary"), "{imported:?}");
}

#[test]
fn ava_brings_its_contexts_as_agents() {
    let imported = import_text(AVA);
    assert_eq!(imported.format, "AVA");
    let atis = &servers(&imported)["aviation_atis"];
    assert_eq!(atis["restart"], json!({"enabled": true, "max_restarts": 5, "backoff_ms": 1000}));
    assert_eq!(atis["defaults"]["slow_response_message"], "One moment...");
    assert_eq!(atis["tools"]["get_atis"]["speech_field"], "atis_text");
    assert_eq!(atis["allow"], json!(["get_atis"]));
    assert_eq!(
        others(&imported, "agents")["aviation_support"],
        json!({
            "prompt": "You help pilots.", "greeting": "Hi {caller_name}",
            "models": ["gpt-4o-realtime-preview"], "engine": "s2s",
            "tools": ["mcp_aviation_atis_get_atis", "aviation_atis_list"],
            "auto_execute": ["mcp_aviation_atis_get_atis", "aviation_atis_list"],
        })
    );
    assert_eq!(
        others(&imported, "models"),
        json!({"gpt-4o-realtime-preview": {"provider": "openai_realtime", "api": "realtime"}})
    );
    let dropped = dropped_keys(&imported);
    for line in [
        "contexts.aviation_support.tools: transfer: is a tool of AVA itself",
        "contexts.other.provider: `local` has no model",
        "asterisk: telephony and speech are not supported",
    ] {
        assert!(dropped.contains(line), "{line}\n---\n{dropped}");
    }
}

#[test]
fn glyphoxa_brings_its_characters_as_agents() {
    let imported = import_text(GLYPHOXA);
    assert_eq!(imported.format, "Glyphoxa");
    assert_eq!(
        servers(&imported),
        json!({
            "dice-extended": {
                "command": ["/usr/local/bin/mcp-dice-server", "--config", "/etc/dice.json"],
                "env": {"DICE_MAX_SIDES": "100"},
            },
            "premium-tools": {
                "url": "https://premium.example.com/mcp", "auth": {"token": "${PREMIUM_TOOLS_TOKEN}"},
            },
            "enterprise-tools": {
                "url": "https://enterprise.example.com/mcp",
                "auth": {"oauth": {
                    "client_id": "glyphoxa-prod", "client_secret": "${MCP_OAUTH_SECRET}",
                    "token_url": "https://auth.example.com/oauth/token", "scopes": ["tools:read"],
                }},
            },
        })
    );
    assert_eq!(
        others(&imported, "agents"),
        json!({
            "Greymantle_the_Sage": {
                "description": "Greymantle the Sage", "prompt": "An ancient elven scholar",
                "engine": "cascaded", "models": ["gpt-4o"], "auto_execute": ["roll", "search_rules"],
                "tools": ["roll", "search_rules"], "budget_tier": "standard",
            },
            "Bartok": {
                "description": "Bartok", "prompt": "A halfling", "engine": "s2s",
                "models": ["gpt-4o-realtime-preview", "gpt-4o"], "auto_execute": ["roll"],
                "tools": ["roll"], "budget_tier": "fast",
            },
        })
    );
    assert_eq!(others(&imported, "providers")["openai"]["api_key"], "${OPENAI_API_KEY}");
    assert!(
        dropped_keys(&imported)
            .contains("providers.stt: speech input and output are not supported")
    );
    assert!(!format!("{imported:?}").contains("canary"), "{imported:?}");
}

#[test]
fn frugalroute_sends_its_key_as_a_bearer_token() {
    let imported = import_text(FRUGALROUTE);
    assert_eq!(imported.format, "FrugalRoute");
    assert_eq!(
        servers(&imported),
        json!({
            "filesystem": {"command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/data"]},
            "remote-tools": {
                "url": "https://tools.example.com/mcp", "auth": {"token": "${REMOTE_TOOLS_API_KEY}"},
            },
        })
    );
    assert_eq!(dropped_keys(&imported), "routes: model selection is set by `models` of agents\n");
}

/// Every variable is set, so that only the keys are judged.
struct Anything;

impl Environment for Anything {
    fn variable(&self, name: &str) -> Option<String> {
        Some(if name.ends_with("URL") { "https://x.test/mcp" } else { "something" }.to_owned())
    }

    fn file(&self, _path: &str) -> std::io::Result<String> {
        Ok("something".to_owned())
    }
}

#[test]
fn what_comes_out_of_every_sample_is_a_good_config() {
    for text in [
        CLAUDE_CODE,
        CLAUDE_DESKTOP,
        CURSOR,
        VSCODE,
        COPILOT,
        CODEX,
        GEMINI,
        WINDSURF,
        ZED,
        OPENCODE,
        GOOSE,
        CLINE,
        BIFROST,
        AVA,
        GLYPHOXA,
        FRUGALROUTE,
    ] {
        let imported = import_text(text);
        let mut config = json!({ "servers": servers(&imported) });
        for section in ["agents", "providers", "models"] {
            let of = others(&imported, section);
            if of.as_object().is_some_and(|of| !of.is_empty()) {
                config[section] = of;
            }
        }
        let text = config.to_string();
        let loaded =
            load_text(Path::new("t"), text.as_bytes(), &ConfigRequest::default(), &Anything);
        if let Err(report) = loaded {
            panic!("{}: {report}\n{text}", imported.format);
        }
    }
}

#[test]
fn whose_a_file_is_may_be_said() {
    let text = r#"{"mcpServers": {"a": {"url": "https://a.test/x", "timeout": 20}}}"#;
    let check = |client: Option<&'static ClientApp>| {
        let imported = read(text, &ImportContext { client, ..import_context() }).unwrap();
        servers(&imported)["a"].clone()
    };
    assert_eq!(check(ClientApp::find("gemini"))["transport"], "sse");
    assert_eq!(check(ClientApp::find("cline"))["defaults"]["timeout_ms"], 20_000);
    assert_eq!(check(ClientApp::find("cursor"))["defaults"]["timeout_ms"], 20);
    let file = Some(Path::new("/home/a/.gemini/settings.json"));
    let imported = read(text, &ImportContext { file, ..import_context() }).unwrap();
    assert_eq!(
        (imported.format, &servers(&imported)["a"]["transport"]),
        ("Gemini CLI", &json!("sse"))
    );
}

#[test]
fn secrets_may_stay_where_that_is_wanted() {
    let context = ImportContext { secrets: SecretPlacement::InTheFile, ..import_context() };
    let imported = read(CLAUDE_DESKTOP, &context).unwrap();
    assert_eq!(servers(&imported)["brave"]["env"]["BRAVE_API_KEY"], "canary-of-mine-123");
    assert!(imported.given.is_empty());
}
