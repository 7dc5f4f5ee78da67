//! Memory of agents: the tools, recording of conversations, and recall before the model is asked.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::agent::{self, Agent, RecallPolicy, RecordPolicy};
use tollgate_core::memory::MemoryName;
use tollgate_core::turn::PrincipalGrant;
use tollgate_server::{ApiKey, Right, Rights};

use crate::chat::agent;
use crate::client::Call;
use crate::model::Model;
use crate::stage::{Remembers, Setup, Stage, key};

fn recording(record: RecordPolicy) -> Agent {
    let memory = agent::AgentMemoryPolicy { record, ..agent::AgentMemoryPolicy::default() };
    Agent { memory, ..agent(&["*"]) }
}

async fn stage(model: &Model, agents: Vec<Agent>) -> Stage {
    let memory = Remembers::All;
    Stage::with(Setup { models: model.settings(), agents, memory, ..Setup::default() }).await
}

fn tool(stage: &Stage, name: &str, arguments: &Value) -> Call {
    let body = json!({ "name": name, "arguments": arguments });
    stage.post(body.to_string()).path("/v1/tools/execute")
}

fn executing() -> Rights {
    [Right::Execute].into_iter().collect()
}

/// What a tool says, as data.
async fn make_request(call: Call) -> Value {
    let reply = call.send().await.json();
    assert!(["ok", "no_results"].map(Value::from).contains(&reply["status"]), "{reply}");
    reply["data"].clone()
}

fn texts(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect()
}

fn texts_of(to: &str, text: &str) -> Value {
    json!({ "model": to, "messages": [{ "role": "user", "content": text }] })
}

/// Conversations are kept after they were answered.
async fn search_until(stage: &Stage, query: &str, requested: usize) -> Value {
    for _ in 0..200 {
        let found = make_request(tool(stage, "search_sessions", &json!({ "query": query }))).await;
        if found["results"].as_array().unwrap().len() == requested {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("`{query}` was not kept {requested} times");
}

async fn until_kept(stage: &Stage, session: &str, entries: u64) {
    for _ in 0..200 {
        let arguments = json!({ "session_id": session });
        let reply = tool(stage, "get_session_summary", &arguments).send().await.json();
        if reply["data"]["entries"] == entries {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("`{session}` never had {entries} entries");
}

#[tokio::test]
async fn what_an_agent_writes_down_it_finds_again() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, vec![recording(RecordPolicy::Nothing)]).await;
    let fact =
        json!({ "text": "The lighthouse keeper hides the silver key under the third step." });
    assert!(make_request(tool(&stage, "remember", &fact)).await["fact_id"].is_u64());
    make_request(tool(&stage, "remember", &json!({ "text": "Bread costs two coppers." }))).await;
    let found =
        make_request(tool(&stage, "search_facts", &json!({ "query": "where is the silver key?" })))
            .await;
    assert_eq!(texts(&found), ["The lighthouse keeper hides the silver key under the third step."]);
    assert_eq!(
        (&found["results"][0]["written_by"], &found["results"][0]["trust"]),
        (&json!("local"), &json!("agent"))
    );
    let relation = json!({ "source": "Mira Voss", "relation": "owns", "target": "The Gilded Eel",
        "source_type": "npc", "target_type": "location" });
    let related = make_request(tool(&stage, "relate", &relation)).await;
    assert_eq!(related["added"], json!(["npc-mira-voss", "location-the-gilded-eel"]));
    let again = make_request(tool(&stage, "relate", &relation)).await;
    assert_eq!(again["added"], json!([]), "nobody is added twice");
    let found = make_request(tool(&stage, "query_entities", &json!({ "name": "mira" }))).await;
    assert_eq!(found["entities"][0]["id"], "npc-mira-voss");
    let about =
        make_request(tool(&stage, "get_summary", &json!({ "entity_id": "npc-mira-voss" }))).await;
    assert_eq!(about["relations"][0]["entity"]["name"], "The Gilded Eel");
    assert_eq!(about["relations"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_summary_has_the_facts_about_the_entity() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, vec![recording(RecordPolicy::Nothing)]).await;
    let owner = json!({ "source": "Oswin Pell", "relation": "owns", "target": "The Gilded Eel",
        "source_type": "npc", "target_type": "location" });
    make_request(tool(&stage, "relate", &owner)).await;
    for (text, about) in [
        ("Oswin fears the sea.", "Oswin Pell"),
        ("Oswin owes the harbour guild ten crowns.", "npc-oswin-pell"),
        ("The Eel waters its ale.", "The Gilded Eel"),
    ] {
        let fact = json!({ "text": text, "about": about });
        make_request(tool(&stage, "remember", &fact)).await;
    }
    let of = async |name: &str| {
        make_request(tool(&stage, "get_summary", &json!({ "entity_id": name }))).await
    };
    let about = of("npc-oswin-pell").await;
    let mut facts: Vec<&str> =
        about["facts"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    facts.sort_unstable();
    assert_eq!(facts, ["Oswin fears the sea.", "Oswin owes the harbour guild ten crowns."]);
    assert_eq!((&about["more_facts"], &about["close_match"]), (&json!(false), &json!(false)));
    assert_eq!(about["facts"][0]["written_by"], "local");
    // Misheard, it is found, and marked.
    let heard = of("Oswyn Pel").await;
    assert_eq!(heard["entity"]["id"], "npc-oswin-pell");
    assert_eq!((&heard["facts"], &heard["close_match"]), (&about["facts"], &json!(true)));
    let found = make_request(tool(&stage, "query_entities", &json!({ "name": "Oswyn Pel" }))).await;
    assert_eq!(found["entities"][0]["close_match"], true, "{found}");
    let found = make_request(tool(&stage, "query_entities", &json!({ "name": "oswin" }))).await;
    assert_eq!(found["entities"][0].get("close_match"), None, "{found}");
    // What is written down is never given to one that only sounds like it.
    let fact = json!({ "text": "He sings.", "about": "Oswyn Pel" });
    let refused = tool(&stage, "remember", &fact).send().await.json();
    let expected = "there is no entity `Oswyn Pel`; did you mean `npc-oswin-pell` (Oswin Pell)?";
    assert_eq!(refused["message"], expected, "{refused}");
    for at in 0..21 {
        let text = format!("Oswin counts to {at} and writes it down.");
        make_request(tool(&stage, "remember", &json!({ "text": text, "about": "Oswin Pell" })))
            .await;
    }
    let about = of("Oswin Pell").await;
    let facts = about["facts"].as_array().unwrap();
    assert_eq!((facts.len(), &about["more_facts"]), (20, &json!(true)));
}

#[tokio::test]
async fn who_is_not_there_is_told_with_those_who_are() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, vec![recording(RecordPolicy::Nothing)]).await;
    for (name, arguments) in [
        ("get_summary", json!({ "entity_id": "npc-nobody" })),
        ("get_session_summary", json!({ "session_id": "never" })),
        ("remember", json!({ "text": "x", "about": "npc-nobody" })),
    ] {
        let reply = tool(&stage, name, &arguments).send().await.json();
        assert_eq!(reply["status"], "error", "{name}: {reply}");
        assert!(reply["message"].as_str().unwrap().starts_with("there is no"), "{reply}");
    }
}

#[tokio::test]
async fn b_me_2_top_k_outside_of_its_bounds_is_refused() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, vec![recording(RecordPolicy::Nothing)]).await;
    for top_k in [json!(0), json!(-1), json!(101), json!(2_147_483_648_u64), json!("x"), json!(1.5)]
    {
        let arguments = json!({ "query": "key", "top_k": top_k });
        let reply = tool(&stage, "search_facts", &arguments).send().await.json();
        assert_eq!(reply["status"], "invalid_arguments", "{top_k}: {reply}");
    }
}

#[tokio::test]
async fn b_me_1_queries_that_look_like_syntax_are_words() {
    let model = Model::calling(&[]).await;
    let stage = stage(&model, vec![recording(RecordPolicy::Nothing)]).await;
    make_request(tool(&stage, "remember", &json!({ "text": "a OR b NEAR the 🗝️ door" }))).await;
    for query in
        ["door\"", "door*", "NEAR(door", "door OR", "door AND (", "^door", "🗝️", "\u{0}door"]
    {
        let found = make_request(tool(&stage, "search_facts", &json!({ "query": query }))).await;
        assert_eq!(texts(&found).len(), 1, "{query:?}");
    }
    for query in ["\"", "***", "( )"] {
        let reply = tool(&stage, "search_facts", &json!({ "query": query })).send().await.json();
        assert_eq!(reply["status"], "error", "{query:?}: {reply}");
    }
}

#[tokio::test]
async fn s_32_a_tenant_never_finds_what_is_anothers() {
    let model = Model::calling(&[]).await;
    let tenant = |name: &str| ApiKey {
        grant: PrincipalGrant {
            tenant: Some(MemoryName::parse(name).unwrap()),
            ..PrincipalGrant::default()
        },
        ..key(name, &format!("key-of-{name}"), executing())
    };
    let keys = vec![tenant("acme"), tenant("other"), key("none", "key-of-none", executing())];
    let setup = Setup {
        models: model.settings(),
        agents: vec![recording(RecordPolicy::Shared)],
        memory: Remembers::All,
        keys,
        ..Setup::default()
    };
    let stage = Stage::with(setup).await;
    let by =
        |name: &str, call: Call| call.header("authorization", &format!("Bearer key-of-{name}"));
    let fact = json!({ "text": "The vault code of acme is seven seven four." });
    make_request(by("acme", tool(&stage, "remember", &fact))).await;
    let relation = json!({ "source": "Vault", "relation": "is_in", "target": "Cellar" });
    make_request(by("acme", tool(&stage, "relate", &relation))).await;
    let query = json!({ "query": "vault code" });
    assert_eq!(
        texts(&make_request(by("acme", tool(&stage, "search_facts", &query))).await).len(),
        1
    );
    for stranger in ["other", "none"] {
        assert_eq!(
            texts(&make_request(by(stranger, tool(&stage, "search_facts", &query))).await).len(),
            0
        );
        let found = make_request(by(stranger, tool(&stage, "query_entities", &json!({})))).await;
        assert_eq!(found["entities"], json!([]));
        let reply =
            by(stranger, tool(&stage, "get_summary", &json!({ "entity_id": "concept-vault" })));
        assert_eq!(reply.send().await.json()["status"], "error");
    }
}

#[tokio::test]
async fn a_conversation_is_kept_where_its_agent_says_so() {
    let model = Model::saying(|_| "The heron nests on the old pier.".to_owned()).await;
    let stage = stage(&model, vec![recording(RecordPolicy::Own)]).await;
    let body = texts_of("sage", "Where does the heron nest?");
    let call = stage.post(body.to_string()).path("/v1/chat/completions");
    let call = call
        .header("x-tollgate-conversation", "pier-1")
        .header("x-tollgate-var-caller_name", "Tam");
    assert_eq!(call.send().await.status, 200);
    let found = search_until(&stage, "heron", 2).await;
    let mut lines: Vec<(&str, &str)> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["speaker"].as_str().unwrap(), it["text"].as_str().unwrap()))
        .collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [("Tam", "Where does the heron nest?"), ("sage", "The heron nests on the old pier.")]
    );
    assert!(found["results"].as_array().unwrap().iter().all(|it| it["session_id"] == "pier-1"));
    let summary =
        make_request(tool(&stage, "get_session_summary", &json!({ "session_id": "pier-1" }))).await;
    assert_eq!(summary["entries"], 2, "{summary}");
    let history = make_request(tool(&stage, "search_history", &json!({ "query": "heron" }))).await;
    let session = &history["sessions"][0];
    assert_eq!((&session["session_id"], &session["entries"]), (&json!("pier-1"), &json!(2)));
    assert_eq!(session["said"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_line_that_is_found_comes_with_its_neighbours() {
    let model = Model::saying(|_| "Aye.".to_owned()).await;
    let stage = stage(&model, vec![recording(RecordPolicy::Own)]).await;
    for (text, kept) in [("Is it raining?", 2), ("Where is the silver key?", 4), ("Thanks.", 6)] {
        let body = texts_of("sage", text);
        let call = stage.post(body.to_string()).path("/v1/chat/completions");
        let call = call.header("x-tollgate-conversation", "pier-2");
        assert_eq!(call.header("x-tollgate-var-caller_name", "Tam").send().await.status, 200);
        until_kept(&stage, "pier-2", kept).await;
    }
    let search = async |more: Value| {
        let mut arguments = json!({ "query": "silver" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool(&stage, "search_sessions", &arguments).send().await.json()
    };
    let line = |speaker: &str, text: &str| json!({ "speaker": speaker, "text": text });
    let before = [line("Tam", "Is it raining?"), line("sage", "Aye.")];
    let after = [line("sage", "Aye."), line("Tam", "Thanks.")];
    for (more, reach) in
        [(json!({}), 1), (json!({ "context": 2 }), 2), (json!({ "context": 0 }), 0)]
    {
        let reply = search(more).await;
        let found = &reply["data"]["results"];
        assert_eq!(found.as_array().unwrap().len(), 1, "{reply}");
        assert_eq!(found[0]["before"], json!(before[2 - reach..]), "{reply}");
        assert_eq!(found[0]["after"], json!(after[..reach]), "{reply}");
    }
    let text = search(json!({ "context": 2 })).await["message"].as_str().unwrap().to_owned();
    let expected = [
        "  Tam: Is it raining?",
        "  sage: Aye.",
        "In pier-2, Tam: Where is the silver key?",
        "  sage: Aye.",
        "  Tam: Thanks.",
    ];
    assert_eq!(text, expected.join("\n"));
}

#[tokio::test]
async fn a_streamed_conversation_is_kept_as_well() {
    let model = Model::saying(|_| "The heron nests on the old pier.".to_owned()).await;
    let stage = stage(&model, vec![recording(RecordPolicy::Shared)]).await;
    let mut body = texts_of("sage", "And the heron?");
    body["stream"] = json!(true);
    let reply = stage.post(body.to_string()).path("/v1/chat/completions").send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    search_until(&stage, "heron", 2).await;
}

#[tokio::test]
async fn nothing_is_kept_unless_the_agent_says_so() {
    let model = Model::saying(|_| "The heron nests on the old pier.".to_owned()).await;
    let mut silent = recording(RecordPolicy::Nothing);
    silent.memory.namespace = MemoryName::usual();
    let stage = stage(&model, vec![silent]).await;
    for _ in 0..3 {
        let body = texts_of("sage", "Where does the heron nest?");
        stage.post(body.to_string()).path("/v1/chat/completions").send().await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    search_until(&stage, "heron", 0).await;
}

/// What the model is told before it hears the question.
async fn prompt(stage: &Stage, model: &Model, to: &str, conversation: &str) -> String {
    let body = texts_of(to, "Where is the silver key?");
    let call = stage.post(body.to_string()).path("/v1/chat/completions");
    call.header("x-tollgate-conversation", conversation).send().await;
    let request = model.requests.lock().pop().unwrap();
    let prompt = request["messages"][0]["content"].to_string();
    assert!(prompt.contains("You know"), "{request}");
    prompt
}

#[tokio::test]
async fn what_has_to_do_with_a_turn_is_in_its_prompt() {
    let model = Model::saying(|_| "Hm.".to_owned()).await;
    let mut recalling = recording(RecordPolicy::Nothing);
    recalling.memory.recall = RecallPolicy::On;
    let mut forgetful =
        Agent { id: tollgate_core::id::AgentId::parse("other").unwrap(), ..recalling.clone() };
    forgetful.memory.recall = RecallPolicy::Off;
    let stage = stage(&model, vec![recalling, forgetful]).await;
    let fact = json!({ "text": "Mira Voss keeps the silver key in her boot." });
    make_request(tool(&stage, "remember", &fact)).await;
    let mut recalled = String::new();
    // On a busy machine a turn goes on without its memory.
    for conversation in ["c1", "c2", "c3", "c4", "c5"] {
        let partial = json!({ "text": "where is the silver key", "agent": "sage", "conversation": conversation, "partial": true });
        let reply = stage.post(partial.to_string()).path("/v1/tier").send().await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        recalled = prompt(&stage, &model, "sage", conversation).await;
        if recalled.contains("in her boot") {
            break;
        }
    }
    assert!(recalled.contains("in her boot"), "{recalled}");
    let forgotten = prompt(&stage, &model, "other", "c").await;
    assert!(!forgotten.contains("in her boot"), "{forgotten}");
}
