//! What is remembered: where, whose, and how it is found.

use std::time::Duration;

use tollgate_core::agent::{self, RecallPolicy, RecordPolicy};
use tollgate_core::memory::MemoryName;
use tollgate_core::secret::Secret;
use tollgate_engine::settings::{MemoryDatabaseSettings, MemorySettings};
use tollgate_llm::settings::{EmbeddingSettings, RemoteEmbeddingSettings};

use super::{check, good, mistakes, refusal_of, report};

const OPENAI: &str = "providers: { openai: { kind: openai }, claude: { kind: anthropic } }\n";

fn memory(text: &str) -> MemorySettings {
    good(&format!("{OPENAI}{text}")).settings.memory
}

fn embedding(text: &str) -> Option<EmbeddingSettings> {
    good(&format!("{OPENAI}memory: {{ embedding: {text} }}")).embedding
}

#[test]
fn what_is_left_out_is_as_usual() {
    for text in ["environment: a", "memory: {}", "memory:", "memory: { keep_days: 0 }"] {
        assert_eq!(good(text).settings.memory, MemorySettings::default(), "{text}");
    }
    let config = good("agents: { a: { tools: [roll] }, b: { tools: [roll], memory: {} } }");
    for found in config.settings.agents {
        assert_eq!(found.memory, agent::AgentMemoryPolicy::default());
    }
}

#[test]
fn the_database_is_the_memorys_and_no_promise_any_more() {
    for url in ["postgres://u:p@h/db", "postgresql://h/db?sslmode=require", "postgres:///db"] {
        let text = format!("database: {url}");
        assert_eq!(memory(&text).database, MemoryDatabaseSettings::Postgres(Secret::new(url)));
        assert_eq!(report(&text).diagnostics, [], "it holds");
    }
    assert_eq!(memory("database: sqlite").database, MemoryDatabaseSettings::Sqlite);
    for url in ["mysql://h/db", "postgres", "postgres://", "\"\"", "SQLite", "./memory.db"] {
        let expected = "1:11 `database` must be `sqlite` or begin with postgres://";
        refusal_of(&format!("database: {url}"), expected);
    }
}

#[test]
fn an_embedding_is_served_or_on_this_machine() {
    let served = |dimensions, passage: &str, question: &str| {
        Some(EmbeddingSettings::Served(RemoteEmbeddingSettings {
            provider: "openai".to_owned(),
            model: "e".to_owned(),
            dimensions,
            passage_prefix: passage.to_owned(),
            question_prefix: question.to_owned(),
        }))
    };
    let text = "{ provider: openai, model: e, dimensions: 256 }";
    assert_eq!(embedding(text), served(Some(256), "", ""));
    let text = "{ provider: openai, model: e, passage_prefix: 'p: ', question_prefix: 'q: ' }";
    assert_eq!(embedding(text), served(None, "p: ", "q: "));
    assert_eq!(embedding("{ local: / }"), Some(EmbeddingSettings::Local("/".into())));
    assert_eq!(report("memory: { embedding: { local: / } }").diagnostics, []);
    assert_eq!(memory("memory: { keep_days: 2 }").keep, Some(Duration::from_secs(172_800)));
    assert_eq!(good("environment: a").embedding, None);
}

#[test]
fn an_embedding_that_cannot_be_is_refused() {
    for (typed, expected) in [
        ("{ model: e }", "2:11 `embedding` needs `provider` or `local`"),
        ("{ provider: openai }", "2:11 `model` is missing"),
        ("{ provider: openai, model: \" \" }", "2:49 `model` is missing"),
        ("{ provider: openia, model: e }", "2:34 there is no provider `openia`"),
        (
            "{ provider: claude, model: e }",
            "2:34 `claude` is of kind `anthropic`, which has no embeddings",
        ),
        (
            "{ provider: openai, model: e, local: / }",
            "2:59 `provider` and `local` exclude each other",
        ),
        ("{ local: /, model: e }", "2:41 `model` has no effect with `local`"),
        ("{ local: \"\" }", "2:31 `local` has an invalid path"),
        ("{ local: /, dims: 3 }", "2:34 unknown key `dims`"),
        (
            "{ provider: openai, model: e, dimensions: 0 }",
            "2:64 `dimensions` must be a whole number from 1 to 16384 numbers, not `0`",
        ),
    ] {
        refusal_of(&format!("{OPENAI}memory: {{ embedding: {typed} }}"), expected);
    }
    refusal_of(
        "memory: { keep_days: 40000 }",
        "1:22 `keep_days` must be a whole number from 0 to 36500 days, not `40000`",
    );
}

#[test]
fn a_misspelt_provider_and_a_model_that_is_not_there_are_pointed_out() {
    check(
        r#"
providers: { openai: { kind: openai } }
memory: { embedding: { provider: opneai, model: e } }
"#,
        r#"
error: there is no provider `opneai`
 --> t.yaml:2:34
   |
 2 | memory: { embedding: { provider: opneai, model: e } }
   |                                  ^^^^^^
   = did you mean `openai`?
   = there are: openai

1 error in t.yaml
"#,
    );
    check(
        r#"
memory: { embedding: { local: /no/such/model } }
"#,
        r#"
warning: `/no/such/model` does not exist
 --> t.yaml:1:31
   |
 1 | memory: { embedding: { local: /no/such/model } }
   |                               ^^^^^^^^^^^^^^
   = the gateway does not start without the model

1 warning in t.yaml
"#,
    );
}

#[test]
fn an_agent_has_one_memory_and_says_what_goes_into_it() {
    let text = "agents:
  a: { tools: [roll], memory: { namespace: waterdeep, record: own, recall: true } }
  b: { tools: [roll], memory: { namespace: a.b-c_1, record: shared } }
  c: { tools: [roll], memory: { record: off } }
";
    let agents = good(text).settings.agents;
    let found: Vec<_> = agents.into_iter().map(|agent| agent.memory).collect();
    let name = |text| MemoryName::parse(text).unwrap();
    let usual = agent::AgentMemoryPolicy::default();
    let a = agent::AgentMemoryPolicy {
        namespace: name("waterdeep"),
        record: RecordPolicy::Own,
        recall: RecallPolicy::On,
    };
    let b = agent::AgentMemoryPolicy {
        namespace: name("a.b-c_1"),
        record: RecordPolicy::Shared,
        ..agent::AgentMemoryPolicy::default()
    };
    assert_eq!(found, [a, b, usual]);
    assert_eq!(report(text).diagnostics, []);
    let found = report("agents: { a: { tools: [roll], memory: { record: shared } } }");
    let expected = "conversations are shared with every agent without a `namespace`";
    assert_eq!(found.diagnostics[0].message, expected);
}

#[test]
fn b_me_3_no_name_reaches_into_another_tenant() {
    for bad in ["acme/waterdeep", "a b", "../x", "ä", "\"\""] {
        let text = format!("agents: {{ a: {{ tools: [roll], memory: {{ namespace: {bad} }} }} }}");
        let found = mistakes(&text);
        assert!(found[0].contains("invalid namespace"), "{bad}: {found:?}");
        let text = format!("keys: [{{ name: k, key: 0123456789abcdef0123, tenant: {bad} }}]");
        let found = mistakes(&text);
        assert!(found[0].contains("invalid tenant"), "{bad}: {found:?}");
    }
}

#[test]
fn a_key_and_a_rule_for_tokens_say_whose_memory_it_is() {
    let config = good(
        "keys:
  - { name: a, key: 0123456789abcdef0123, tenant: acme }
  - { name: b, key: fedcba98765432100123, role: admin }
auth:
  issuer: https://idp.example
  resource: https://gate.example/mcp
  rules: [{ claim: org, value: acme, role: caller, tenant: acme }]
",
    );
    let acme = Some(MemoryName::parse("acme").unwrap());
    let tenants: Vec<_> = config.keys.iter().map(|key| key.grant.tenant.clone()).collect();
    assert_eq!(tenants, [acme.clone(), None]);
    assert_eq!(config.auth.unwrap().rules[0].grant.tenant, acme);
}

#[test]
fn words_of_other_sections_lead_to_the_right_place() {
    let found = report("memory: { namespace: waterdeep }");
    let help = &found.diagnostics[0].help[0];
    assert_eq!(help, "write it where the agent is: `agents.NAME.memory.namespace`");
}
