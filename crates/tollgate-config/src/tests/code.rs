//! How programs are run, and for whom there is code mode.

use std::path::PathBuf;
use std::time::Duration;

use tollgate_core::budget::Tier;
use tollgate_core::code_mode::BindingLevel;
use tollgate_core::tool::ToolReach;
use tollgate_engine::settings::{CodeModeSettings, UnapprovedCallPolicy};

use super::{check, good, refusal_of, report};

#[test]
fn what_is_left_out_is_as_usual() {
    for text in ["environment: a", "code: {}", "code: { spare_workers: 1 }"] {
        let settings = good(text).settings;
        assert_eq!(settings.code, CodeModeSettings::default(), "{text}");
        assert_eq!(settings.global.code_from, Tier::Fast, "{text}");
    }
    assert!(!good("").settings.has_code_mode(), "nobody asked for it");
}

#[test]
fn every_limit_is_read() {
    let config = good(
        "
code:
  binding_level: tool
  tier: deep
  timeout_ms: 5000
  max_calls: 7
  max_steps: 2000
  max_memory_mb: 128
  max_output_kb: 8
  max_programs: 3
  spare_workers: 2
  approval: refuse
  worker: /opt/tollgate-worker
",
    );
    assert_eq!(config.settings.global.code_from, Tier::Deep);
    let CodeModeSettings { limits, memory_bytes, binding, spare, together, unapproved, worker } =
        config.settings.code;
    assert_eq!(limits.time, Duration::from_secs(5));
    assert_eq!((memory_bytes, binding), (128 << 20, BindingLevel::Tool));
    let fence = limits.fence;
    assert_eq!((fence.calls, fence.steps), (7, 2000));
    assert_eq!((fence.heap_bytes, fence.output_bytes), (32 << 20, 8 << 10));
    assert_eq!((spare, together, unapproved), (2, 3, UnapprovedCallPolicy::Refused));
    assert_eq!(worker, PathBuf::from("/opt/tollgate-worker"));
}

#[test]
fn servers_and_agents_are_called_in_code_one_by_one() {
    let config = good(
        "
servers: { a: { command: x, code_mode: true }, b: { command: x, code_mode: false }, code: { command: x } }
agents: { sage: { tools: [roll], code_mode: true }, quick: { tools: [roll] } }
",
    );
    let reach: Vec<ToolReach> = config.settings.servers.iter().map(|server| server.reach).collect();
    assert_eq!(reach, [ToolReach::Code, ToolReach::Direct, ToolReach::Direct]);
    let in_code: Vec<bool> =
        config.settings.agents.iter().map(|agent| agent.persona.code_mode).collect();
    assert_eq!(in_code, [true, false]);
    assert!(config.settings.has_code_mode());
}

#[test]
fn limits_that_are_none_are_refused() {
    for (typed, expected) in [
        ("max_memory_mb: 32", "`max_memory_mb` must be a whole number from 64 to 16384 megabytes"),
        ("max_calls: 0", "`max_calls` must be a whole number from 1 to 10000 calls"),
        ("max_steps: 10", "`max_steps` must be a whole number from 1000 to 1000000000000 steps"),
        ("max_output_kb: 0", "`max_output_kb` must be a whole number from 1 to 2048 kilobytes"),
        ("max_programs: 0", "`max_programs` must be a whole number from 1 to 1000 programs"),
        ("spare_workers: 65", "`spare_workers` must be a whole number from 0 to 64 processes"),
        ("timeout_ms: 0", "`timeout_ms` must be a whole number from 1 to 600000 milliseconds"),
        ("approval: ask", "`approval` must be one of `wait`, `refuse`"),
        ("binding_level: file", "`binding_level` must be one of `server`, `tool`"),
        ("tier: slow", "`tier` must be one of `fast`, `standard`, `deep`"),
    ] {
        let (name, value) = typed.split_once(": ").unwrap();
        let column = "code: { ".len() + name.len() + ": ".len() + 1;
        refusal_of(
            &format!("code: {{ {typed} }}"),
            &format!("1:{column} {expected}, not `{value}`"),
        );
    }
    refusal_of("code: { worker: \"\" }", "1:17 `worker` has an invalid path");
    refusal_of("code: { max_call: 1 }", "1:9 unknown key `max_call`");
    refusal_of("code: true", "1:7 `code` must be a map, not `true`");
}

#[test]
fn limits_that_cannot_hold_are_pointed_out() {
    check(
        r#"
code:
  spare_workers: 4
  max_programs: 2
  worker: ~/bin/tollgate-worker
"#,
        r#"
warning: `spare_workers: 4` is more than `max_programs: 2`
 --> t.yaml:2:18
   |
 2 |   spare_workers: 4
   |                  ^
   = more than `max_programs` are never used

warning: `~` in `~/bin/tollgate-worker` is not expanded
 --> t.yaml:4:11
   |
 4 |   worker: ~/bin/tollgate-worker
   |           ^^^^^^^^^^^^^^^^^^^^^
   = write `${HOME}` instead

2 warnings in t.yaml
"#,
    );
}

#[test]
fn an_agent_whose_turns_are_too_short_for_code_is_told() {
    check(
        r#"
code: { tier: deep }
agents:
  quick: { tools: [roll], budget_tier: standard, code_mode: true }
  sage: { tools: [roll], budget_tier: deep, code_mode: true }
  free: { tools: [roll], code_mode: true }
  plain: { tools: [roll], budget_tier: fast }
"#,
        r#"
warning: `code_mode` has no effect: `quick` has no deep turn
 --> t.yaml:3:61
   |
 3 |   quick: { tools: [roll], budget_tier: standard, code_mode: true }
   |                                                             ^^^^
   = its `budget_tier` is standard; code mode begins at deep

1 warning in t.yaml
"#,
    );
    let spoken =
        "agents: { a: { tools: [roll], engine: s2s, budget_tier: fast, code_mode: true } }";
    assert_eq!(
        report(spoken).diagnostics[0].message,
        "`code_mode` has no effect: `a` has no deep turn",
        "who speaks has time for programs in deep turns only"
    );
}

#[test]
fn words_of_other_sections_lead_to_the_right_place() {
    for (typed, expected) in [
        (
            "enabled: true",
            "write `code_mode: true` for servers or agents whose tools are called from code",
        ),
        ("memory_mb: 64", "write `max_memory_mb:`"),
        ("max_step: 5", "did you mean `max_steps`?"),
    ] {
        let found = report(&format!("code: {{ {typed} }}"));
        assert_eq!(found.diagnostics[0].help[0], expected);
    }
}

#[test]
fn who_does_without_code_mode_may_deny_its_means() {
    let text = "tools: { deny: [executeToolCode, searchTools] }";
    assert_eq!(report(text).diagnostics, []);
    let found = report("tools: { deny: [executeToolcode] }");
    assert_eq!(found.diagnostics[0].help, ["did you mean `executeToolCode`?"]);
}
