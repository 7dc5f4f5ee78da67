//! `/api/memory`: search, edit, import, export and delete.

use serde_json::{Value, json};
use tollgate_server::{Right, Rights};

use crate::client::{Call, Reply};
use crate::stage::{Remembers, Setup, Stage, key};

async fn stage() -> Stage {
    Stage::with(Setup { memory: Remembers::All, ..Setup::default() }).await
}

fn sends(stage: &Stage, method: &str, path: &str, body: &Value) -> Call {
    let call = stage.request(method, &format!("/api/memory{path}")).by_admin();
    call.header("content-type", "application/json").body(body.to_string())
}

fn asks(stage: &Stage, path: &str) -> Call {
    stage.request("GET", &format!("/api/memory{path}")).by_admin()
}

fn forgets(stage: &Stage, path: &str) -> Call {
    stage.request("DELETE", &format!("/api/memory{path}")).by_admin()
}

fn imports(stage: &Stage, query: &str, lines: &str) -> Call {
    let call = stage.request("POST", &format!("/api/memory/import{query}")).by_admin();
    call.header("content-type", "application/x-ndjson").body(lines.to_owned())
}

/// `status code: detail` of a problem, `status` of anything else.
fn brief(reply: &Reply) -> String {
    let body: Value = serde_json::from_str(&reply.text).unwrap_or_default();
    match (body["code"].as_str(), body["detail"].as_str()) {
        (Some(code), Some(detail)) => format!("{} {code}: {detail}", reply.status),
        _ => reply.status.to_string(),
    }
}

/// The values of one field in a list of an answer.
fn column<'v>(body: &'v Value, list: &str, field: &str) -> Vec<&'v str> {
    body[list].as_array().unwrap().iter().map(|it| it[field].as_str().unwrap()).collect()
}

async fn well(call: Call) -> Value {
    let reply = call.send().await;
    assert!((200..300).contains(&reply.status), "{reply:?}");
    reply.json()
}

fn texts_of(session: &str, entries: &[(&str, &str)]) -> Value {
    let entries: Vec<Value> =
        entries.iter().map(|(speaker, text)| json!({ "speaker": speaker, "text": text })).collect();
    json!({ "session": session, "entries": entries })
}

#[tokio::test]
async fn what_was_said_is_kept_found_summed_up_and_forgotten() {
    let stage = stage().await;
    let first =
        texts_of("s-01", &[("Mira", "The silver key is under the third step."), ("Tam", "Aye.")]);
    let stored = well(sends(&stage, "POST", "/sessions", &first)).await;
    assert_eq!(
        (stored["session"].as_str(), stored["ids"].as_array().unwrap().len()),
        (Some("s-01"), 2)
    );
    well(sends(&stage, "POST", "/sessions", &texts_of("s-02", &[("Mira", "Snow again.")]))).await;
    let listed = well(asks(&stage, "/sessions")).await;
    assert_eq!(column(&listed, "sessions", "id"), ["s-02", "s-01"]);
    let found = well(asks(&stage, "/sessions?q=where%20is%20the%20silver%20key")).await;
    assert_eq!(column(&found, "results", "speaker"), ["Mira"]);
    assert_eq!(found["results"][0]["author"]["trust"], "heard");
    assert!(found["results"][0]["snippet"].as_str().unwrap().contains("**"), "{found}");
    let none = well(asks(&stage, "/sessions?q=silver%20key&session=s-02")).await;
    assert_eq!(none["results"], json!([]));
    let page = well(asks(&stage, "/sessions/s-01?limit=1")).await;
    assert_eq!(column(&page, "entries", "text"), ["The silver key is under the third step."]);
    let rest = well(asks(&stage, &format!("/sessions/s-01?limit=1&after={}", page["next"]))).await;
    assert_eq!(column(&rest, "entries", "text"), ["Aye."]);
    let put = sends(&stage, "PUT", "/sessions/s-01", &json!({ "summary": "A key was found." }));
    assert_eq!(well(put).await["summary"], "A key was found.");
    assert_eq!(well(forgets(&stage, "/sessions/s-01")).await["forgotten"]["entries"], 2);
    let gone = asks(&stage, "/sessions/s-01").send().await;
    assert_eq!(brief(&gone), "404 unknown_session: there is no session `s-01`");
    let again = forgets(&stage, "/sessions/s-01").send().await;
    assert_eq!(again.status, 404);
}

#[tokio::test]
async fn entities_have_versions_and_b_me_6_a_stale_change_is_refused() {
    let stage = stage().await;
    let mira = json!({ "type": "NPC", "name": "Mira Voss", "attributes": { "trade": "smuggler" } });
    let made = sends(&stage, "POST", "/entities", &mira).send().await;
    assert_eq!(made.status, 201);
    let shown = &made.json()["entity"];
    assert_eq!((&shown["id"], &shown["type"]), (&json!("npc-mira-voss"), &json!("npc")));
    let twice = sends(&stage, "POST", "/entities", &mira).send().await;
    let expected = "409 entity_exists: an entity `npc-mira-voss` already exists; use PUT to change \
                    it";
    assert_eq!(brief(&twice), expected);
    let read = asks(&stage, "/entities/npc-mira-voss").send().await;
    let tag = read.header("etag").unwrap();
    assert_eq!(Some(&tag), made.header("etag").as_ref());
    let older = json!({ "type": "npc", "name": "Mira Voss", "attributes": { "age": 42 } });
    let put = || sends(&stage, "PUT", "/entities/npc-mira-voss", &older).header("if-match", &tag);
    let changed = put().send().await;
    assert_eq!(changed.status, 200);
    assert_eq!(changed.json()["entity"]["attributes"], json!({ "age": 42 }), "the whole of it");
    let stale = put().send().await;
    let expected = "412 other_version: `npc-mira-voss` was changed after you read it";
    assert_eq!(brief(&stale), expected);
    let stale = forgets(&stage, "/entities/npc-mira-voss").header("if-match", &tag).send().await;
    assert_eq!(stale.status, 412);
    let any = sends(&stage, "PUT", "/entities/npc-tam", &older).header("if-match", "*");
    assert_eq!(any.send().await.status, 412, "there is nothing to match");
    assert_eq!(sends(&stage, "PUT", "/entities/npc-tam", &older).send().await.status, 201);
    let found = well(asks(&stage, "/entities?name=mira&type=NPC")).await;
    assert_eq!(column(&found, "entities", "id"), ["npc-mira-voss", "npc-tam"]);
    let gone = well(forgets(&stage, "/entities/npc-tam")).await;
    assert_eq!(gone["forgotten"]["entities"], 1);
    assert_eq!(asks(&stage, "/entities/npc-tam").send().await.status, 404);
}

#[tokio::test]
async fn b_me_6_of_edits_at_the_same_time_one_is_made_and_the_others_are_told() {
    let stage = stage().await;
    let put = |age: u32| {
        let entity = json!({ "type": "npc", "name": "Mira", "attributes": { "age": age } });
        sends(&stage, "PUT", "/entities/npc-mira", &entity)
    };
    let made = put(1).send().await;
    let tag = made.header("etag").unwrap();
    let edits = (2..12).map(|age| put(age).header("if-match", &tag).send());
    let statuses: Vec<u16> =
        futures_util::future::join_all(edits).await.iter().map(|reply| reply.status).collect();
    let made = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(made, 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 409, 412].contains(status)), "{statuses:?}");
}

#[tokio::test]
async fn relations_lead_from_one_entity_to_another() {
    let stage = stage().await;
    for (kind, name) in [("npc", "Mira"), ("location", "Harbour")] {
        well(sends(&stage, "POST", "/entities", &json!({ "type": kind, "name": name }))).await;
    }
    let relation = json!({ "source": "npc-mira", "type": "Lives_In", "target": "location-harbour",
        "attributes": { "since": 3 }, "session": "s-01", "confidence": 0.9 });
    well(sends(&stage, "POST", "/relations", &relation)).await;
    well(sends(&stage, "POST", "/relations", &relation)).await;
    let listed = well(asks(&stage, "/relations?of=location-harbour")).await;
    assert_eq!(column(&listed, "relations", "type"), ["lives_in"]);
    assert_eq!(listed["relations"][0]["confidence"], 0.9);
    let fact = json!({ "text": "She sings.", "about": "npc-mira" });
    well(sends(&stage, "POST", "/facts", &fact)).await;
    let snapshot = well(asks(&stage, "/entities/npc-mira")).await;
    assert_eq!(column(&snapshot, "facts", "text"), ["She sings."]);
    assert_eq!(snapshot["relations"][0]["neighbour"]["name"], "Harbour");
    assert_eq!(snapshot["left_out"], 0);
    let nobody = json!({ "source": "npc-mira", "type": "knows", "target": "npc-nobody" });
    let nobody = sends(&stage, "POST", "/relations", &nobody).send().await;
    assert_eq!(brief(&nobody), "404 unknown_entity: there is no entity `npc-nobody`");
    let one = "/relations?source=npc-mira&type=lives_in&target=location-harbour";
    assert_eq!(well(forgets(&stage, one)).await["forgotten"]["relations"], 1);
    assert_eq!(
        brief(&forgets(&stage, one).send().await),
        "404 unknown_relation: there is no such relation"
    );
}

#[tokio::test]
async fn facts_are_stated_found_and_forgotten() {
    let stage = stage().await;
    well(sends(&stage, "POST", "/entities", &json!({ "type": "npc", "name": "Mira" }))).await;
    let fact = json!({ "text": "Mira is afraid of herons.", "about": "npc-mira", "topic": "fears",
        "at": "2026-01-05T19:00:00.250Z" });
    let id = well(sends(&stage, "POST", "/facts", &fact)).await["id"].as_u64().unwrap();
    let same = well(sends(&stage, "POST", "/facts", &fact)).await;
    assert_eq!(same["id"], id, "the same is not kept twice");
    let listed = well(asks(&stage, "/facts")).await;
    assert_eq!(column(&listed, "facts", "about"), ["npc-mira"]);
    assert_eq!(listed["facts"][0]["at"], "2026-01-05T19:00:00.250Z");
    assert_eq!(
        listed["facts"][0]["author"],
        json!({ "name": "admin", "via": "api", "trust": "operator" })
    );
    let found = well(asks(&stage, "/facts?q=heron")).await;
    assert_eq!(
        (&found["results"][0]["kind"], &found["results"][0]["id"]),
        (&json!("fact"), &json!(id))
    );
    let nobody = json!({ "text": "x", "about": "npc-nobody" });
    assert_eq!(sends(&stage, "POST", "/facts", &nobody).send().await.status, 404);
    assert_eq!(well(forgets(&stage, &format!("/facts/{id}"))).await["forgotten"]["facts"], 1);
    for gone in [format!("/facts/{id}"), "/facts/x".to_owned(), "/facts/-1".to_owned()] {
        assert_eq!(forgets(&stage, &gone).send().await.code(), "404 unknown_fact", "{gone}");
    }
}

#[tokio::test]
async fn s_32_b_me_3_nothing_is_seen_from_another_namespace_or_by_another_agent() {
    let stage = stage().await;
    let secret = texts_of("s-01", &[("Mira", "The treasure is in the well.")]);
    for place in ["?namespace=acme/waterdeep", "?namespace=waterdeep&agent=sage"] {
        well(sends(&stage, "POST", &format!("/sessions{place}"), &secret)).await;
    }
    for (place, expected) in [
        ("namespace=acme/waterdeep", 1),
        ("namespace=waterdeep", 1),
        ("namespace=waterdeep&agent=sage", 1),
        ("namespace=waterdeep&agent=default", 0),
        ("namespace=other/waterdeep", 0),
        ("namespace=acme", 0),
    ] {
        let found = well(asks(&stage, &format!("/sessions?q=treasure&{place}"))).await;
        assert_eq!(found["results"].as_array().unwrap().len(), expected, "{place}");
        let one = asks(&stage, &format!("/sessions/s-01?{place}")).send().await;
        assert_eq!(one.status, if expected == 1 { 200 } else { 404 }, "{place}");
    }
    for (place, text) in [
        ("namespace=a/b/c", "`namespace`: "),
        ("namespace=", "`namespace` is empty"),
        ("namespace=a&namespace=b", "appears twice"),
        ("agent=a%20b", "`agent`: "),
        ("namspace=a", "did you mean `namespace`?"),
    ] {
        let reply = asks(&stage, &format!("/sessions?{place}")).send().await;
        assert!(brief(&reply).contains(text), "{place}: {reply:?}");
    }
    let nobody = sends(&stage, "POST", "/sessions?agent=nobody", &secret).send().await;
    assert_eq!((nobody.status, brief(&nobody).contains("there is no agent")), (400, true));
}

#[tokio::test]
async fn s_32_all_of_one_author_can_be_taken_out() {
    let stage = stage().await;
    let poison = json!({ "kind": "fact", "text": "The queen is a fish.",
        "author": { "name": "key:stranger", "via": "remember", "trust": "agent" } });
    let lines = format!("{poison}\n{}", json!({ "kind": "fact", "text": "The queen is kind." }));
    for namespace in ["a", "b"] {
        well(imports(&stage, &format!("?namespace={namespace}"), &lines)).await;
    }
    let gone = well(forgets(&stage, "?author=key:stranger")).await;
    assert_eq!(gone["forgotten"]["facts"], 2, "everywhere");
    for namespace in ["a", "b"] {
        let left = well(asks(&stage, &format!("/facts?namespace={namespace}"))).await;
        assert_eq!(column(&left, "facts", "text"), ["The queen is kind."]);
    }
}

#[tokio::test]
async fn everything_is_forgotten_only_when_it_is_named_twice() {
    let stage = stage().await;
    well(sends(&stage, "POST", "/sessions?namespace=old", &texts_of("s", &[("a", "b")]))).await;
    for query in [
        "",
        "?namespace=old",
        "?confirm=old",
        "?namespace=old&confirm=yes",
        "?namespace=old&confirm=old&author=x",
        "?namespace=old&confirm=old&agent=sage",
        "?before=soon",
        "?author=x&agent=sage",
    ] {
        let reply = forgets(&stage, query).send().await;
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
    }
    let counts = well(asks(&stage, "")).await;
    assert_eq!(column(&counts, "namespaces", "namespace"), ["old"]);
    assert_eq!(counts["namespaces"][0]["entries"], 1);
    assert_eq!(well(forgets(&stage, "?before=1h")).await["forgotten"]["entries"], 0);
    let gone = well(forgets(&stage, "?namespace=old&confirm=old")).await;
    assert_eq!(gone["forgotten"]["entries"], 1);
}

const LINES: &str = r#"{"kind":"entry","session":"s-01","speaker":"Mira","text":"A storm comes.","at":"2026-01-05T19:00:00Z"}
{"kind":"entry","session":"s-01","speaker":"Tam","text":"Reef the sail!","at":"2026-01-05T19:00:01.500Z"}
{"kind":"summary","session":"s-01","text":"A storm at sea."}

{"kind":"fact","text":"The ship is called Heron.","topic":"ship","session":"s-01","at":"2026-01-06T00:00:00Z"}
{"kind":"entity","type":"npc","name":"Mira","attributes":{"age":41},"at":"2026-01-06T00:00:00Z"}
{"kind":"entity","id":"ship","type":"item","name":"The Heron","at":"2026-01-06T00:00:00Z"}
{"kind":"relation","source":"npc-mira","type":"sails","target":"ship","confidence":0.75,"at":"2026-01-06T00:00:00Z"}
{"kind":"entry","session":"s-01","speaker":"sage","text":"I keep this to myself.","agent":"sage","at":"2026-01-06T00:00:00Z"}
"#;

#[tokio::test]
async fn what_is_exported_comes_in_again_and_twice_without_harm() {
    let stage = stage().await;
    let tried = well(imports(&stage, "?namespace=one&dry_run=true", LINES)).await;
    assert_eq!((&tried["read"]["entries"], &tried["dry_run"]), (&json!(3), &json!(true)));
    assert_eq!(well(asks(&stage, "")).await["namespaces"], json!([]), "nothing was kept");
    let taken = well(imports(&stage, "?namespace=one", LINES)).await;
    assert_eq!(
        taken["kept"],
        json!({"sessions": 0, "entries": 3, "facts": 1, "entities": 2, "relations": 1})
    );
    assert_eq!(taken["lines"], 9);
    let exported = asks(&stage, "/export?namespace=one").send().await;
    assert_eq!(exported.header("content-type").as_deref(), Some("application/x-ndjson"));
    assert_eq!(exported.text.lines().count(), 8, "{}", exported.text);
    let again = well(imports(&stage, "", &exported.text)).await;
    assert_eq!(again["kept"]["entries"], 0, "they were there");
    assert_eq!(asks(&stage, "/export").send().await.text, exported.text);
    let elsewhere = well(imports(&stage, "?namespace=two", &exported.text)).await;
    assert_eq!(elsewhere["kept"]["entries"], 3);
    let two = asks(&stage, "/export?namespace=two").send().await.text;
    let renamed = exported.text.replace("\"namespace\":\"one\"", "\"namespace\":\"two\"");
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&two), sorted(&renamed), "authors, times and audiences stay");
    let own = well(asks(&stage, "/sessions/s-01?namespace=two&agent=sage")).await;
    assert_eq!(column(&own, "entries", "speaker"), ["sage"]);
}

#[tokio::test]
async fn an_import_says_which_line_is_wrong_and_keeps_those_before() {
    let stage = stage().await;
    let good = r#"{"kind":"fact","text":"Good."}"#;
    for (line, text) in [
        ("nonsense", "line 2: not JSON: "),
        ("[]", "line 2: not JSON: "),
        ("{}", "line 2: `kind` is one of entry, summary, fact, entity, relation"),
        (r#"{"kind":"fax","text":"x"}"#, "line 2: `kind` is one of"),
        (r#"{"kind":"fact"}"#, "line 2: `text` is missing"),
        (r#"{"kind":"fact","text":""}"#, "line 2: `text` is empty"),
        (
            r#"{"kind":"fact","text":"x","txt":1}"#,
            "line 2: there is no field `txt`; did you mean `text`?",
        ),
        (r#"{"kind":"fact","text":"x","text":"y"}"#, "line 2: not JSON: duplicate key `text`"),
        (r#"{"kind":"fact","text":"\ud800"}"#, "line 2: "),
        (r#"{"kind":"fact","text":"x","at":"now"}"#, "line 2: `at` is a time"),
        (
            r#"{"kind":"fact","text":"x","author":{"name":"a","via":"b","trust":"god"}}"#,
            "line 2: `trust` is",
        ),
        (r#"{"kind":"fact","text":"x","namespace":"a/b/c"}"#, "line 2: `namespace`: "),
        (
            r#"{"kind":"relation","source":"a","type":"b","target":"c","confidence":7}"#,
            "line 2: `confidence` is 7",
        ),
    ] {
        let reply = imports(&stage, "", &format!("{good}\n{line}\n{good}\n")).send().await;
        assert_eq!((reply.status, &reply.json()["line"]), (400, &json!(2)), "{line}: {reply:?}");
        assert!(reply.json()["detail"].as_str().unwrap().starts_with(text), "{line}: {reply:?}");
    }
    let stored = well(asks(&stage, "/facts")).await;
    assert_eq!(column(&stored, "facts", "text"), ["Good."]);
    let plain = stage.request("POST", "/api/memory/import").by_admin().body("{}");
    assert_eq!(plain.send().await.code(), "415 not_lines");
    let long = format!("{{\"kind\":\"fact\",\"text\":\"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(imports(&stage, "", &long).send().await.status, 413);
    let dangling = r#"{"kind":"relation","source":"a","type":"b","target":"c"}"#;
    let body = well(imports(&stage, "", dangling)).await;
    assert_eq!((&body["read"]["relations"], &body["kept"]["relations"]), (&json!(1), &json!(0)));
}

#[tokio::test]
async fn only_admins_come_to_the_memory() {
    let rights = |rights: &[Right]| rights.iter().copied().collect::<Rights>();
    let caller = key("caller", "secret-of-the-caller", rights(&[Right::Execute]));
    let operator = key("op", "secret-of-the-operator", rights(&[Right::Approve, Right::Observe]));
    let keys = vec![caller, operator];
    let stage = Stage::with(Setup { memory: Remembers::All, keys, ..Setup::default() }).await;
    let routes = [
        ("GET", ""),
        ("DELETE", "?author=x"),
        ("GET", "/sessions"),
        ("POST", "/sessions"),
        ("GET", "/sessions/s"),
        ("PUT", "/sessions/s"),
        ("DELETE", "/sessions/s"),
        ("GET", "/entities"),
        ("POST", "/entities"),
        ("GET", "/entities/e"),
        ("PUT", "/entities/e"),
        ("DELETE", "/entities/e"),
        ("GET", "/relations"),
        ("POST", "/relations"),
        ("DELETE", "/relations"),
        ("GET", "/facts"),
        ("POST", "/facts"),
        ("DELETE", "/facts/1"),
        ("GET", "/export"),
        ("POST", "/import"),
    ];
    for (method, path) in routes {
        let call = || stage.request(method, &format!("/api/memory{path}"));
        assert_eq!(call().send().await.status, 401, "{method} {path}");
        for secret in ["secret-of-the-caller", "secret-of-the-operator"] {
            let reply = call().header("authorization", &format!("Bearer {secret}")).send().await;
            assert_eq!(reply.status, 403, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn without_a_memory_there_is_none_to_ask() {
    let stage = Stage::start().await;
    let reply = asks(&stage, "/sessions").send().await;
    assert_eq!(brief(&reply), "404 no_memory: this gateway has no memory");
}

#[tokio::test]
async fn b_me_1_and_2_odd_questions_and_numbers_are_answered_or_refused() {
    let stage = stage().await;
    well(sends(
        &stage,
        "POST",
        "/sessions",
        &texts_of("s", &[("Mira", "NEAR the harbour OR not")]),
    ))
    .await;
    for query in ["%22", "*", "NEAR(", "a%20OR", "harbour%20AND%20(", "%F0%9F%90%89", "%00", "';--"]
    {
        for list in ["sessions", "facts"] {
            let reply = asks(&stage, &format!("/{list}?q={query}")).send().await;
            assert!([200, 400].contains(&reply.status), "{list} {query}: {reply:?}");
        }
    }
    let long = asks(&stage, &format!("/facts?q={}", "a%20".repeat(9_000))).send().await;
    assert_eq!(long.status, 400);
    for number in ["0", "-1", "2147483648", "x", "1.5", ""] {
        for list in ["sessions?", "sessions?q=a&", "facts?q=a&", "entities?", "relations?"] {
            let reply = asks(&stage, &format!("/{list}limit={number}")).send().await;
            assert_eq!(reply.status, 400, "{list} {number}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn b_me_4_and_6_bodies_are_taken_as_they_are_meant_or_refused() {
    let stage = stage().await;
    let entity = |more: Value| {
        let mut entity = json!({ "type": "npc", "name": "Mira" });
        entity.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entity
    };
    for (method, path, body, text) in [
        ("POST", "/entities", entity(json!({ "author": "me" })), "there is no field `author`"),
        ("POST", "/entities", entity(json!({ "changed": "x" })), "there is no field `changed`"),
        (
            "POST",
            "/entities",
            entity(json!({ "attributes": [1] })),
            "`attributes` must be an object",
        ),
        ("POST", "/entities", entity(json!({ "name": "x".repeat(300) })), "`name` has 300 bytes"),
        ("POST", "/entities", entity(json!({ "name": "\u{0}" })), "`name` is empty"),
        ("POST", "/entities", json!({ "name": "Mira" }), "`type` is missing"),
        (
            "PUT",
            "/entities/npc-tam",
            entity(json!({ "id": "npc-mira" })),
            "`id` differs from the path",
        ),
        ("PUT", "/sessions/s", json!({ "id": "t", "summary": "x" }), "`id` differs from the path"),
        ("POST", "/facts", json!({ "text": "x".repeat(70_000) }), "`text` has 70000 bytes"),
        (
            "POST",
            "/facts",
            json!({ "text": "x", "trust": "operator" }),
            "there is no field `trust`",
        ),
        ("POST", "/sessions", json!({ "session": "s", "entries": [] }), "`entries` must have 1 to"),
        (
            "POST",
            "/sessions",
            json!({ "session": "s", "entries": [{ "text": "x" }] }),
            "entry 1: `speaker` is missing",
        ),
        (
            "POST",
            "/sessions",
            json!({ "session": "s", "entries": "x" }),
            "`entries` must be a list",
        ),
        ("POST", "/relations", json!({ "source": "a", "type": "b" }), "`target` is missing"),
    ] {
        let reply = sends(&stage, method, path, &body).send().await;
        assert!(reply.status == 400 && brief(&reply).contains(text), "{path} {body}: {reply:?}");
    }
    let script = "<script>alert(1)</script>\u{1b}[2J🐉";
    well(sends(&stage, "POST", "/entities", &entity(json!({ "id": script, "name": script }))))
        .await;
    let shown = asks(&stage, "/entities").send().await;
    assert_eq!(shown.header("content-type").as_deref(), Some("application/json"));
    assert_eq!(shown.header("x-content-type-options").as_deref(), Some("nosniff"));
    assert_eq!(shown.json()["entities"][0]["name"], script, "as text of JSON, as it was");
    let nul = well(sends(&stage, "POST", "/facts", &json!({ "text": "a\u{0}b" }))).await;
    let facts = well(asks(&stage, "/facts")).await;
    assert_eq!((&facts["facts"][0]["text"], &facts["facts"][0]["id"]), (&json!("ab"), &nul["id"]));
}
