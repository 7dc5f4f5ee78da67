//! Links to pictures: they open without a key, and only for those who have the link.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tollgate_engine::settings::ImageSettings;
use tollgate_mcp::tasks::{self, Task};
use tollgate_server::Rights;

use crate::chat::{agent, ask};
use crate::client::Reply;
use crate::hostile_servers::{Hostile, make_plan, result};
use crate::model::Model;
use crate::stage::{Setup, Stage, key};

/// In UTF-8, so that a reply can be shown.
const GIF: &str = "GIF89a and the rest of it";

/// A stage with an image service that answers each request once it may.
struct Painting {
    stage: Stage,
    may: Arc<Semaphore>,
    _service: Task,
}

async fn painting(pictures: usize) -> Painting {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let may = Arc::new(Semaphore::new(pictures));
    let allowed = Arc::clone(&may);
    let service = tasks::spawn("images", async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                assert_ne!(socket.read_buf(&mut request).await.unwrap(), 0);
            }
            allowed.acquire().await.unwrap().forget();
            let body = json!({"data": [{"b64_json": STANDARD.encode(GIF)}]}).to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let key = |name: &str| key(name, &format!("the-key-of-{name}"), Rights::ALL);
    let keys = vec![key("ada"), key("bob")];
    let stage = Stage::with(Setup { keys, ..Setup::default() }).await;
    let mut settings = stage.settings.clone();
    settings.builtin.images = Some(images(address));
    stage.running.reconfigure(&settings, || ()).await;
    Painting { stage, may, _service: service }
}

fn images(address: SocketAddr) -> ImageSettings {
    ImageSettings {
        base_url: format!("http://{address}/v1"),
        key: None,
        headers: Vec::new(),
        model: "painter-1".to_owned(),
        size: None,
    }
}

/// What the tool says of a picture that it makes for this key. On a busy machine its turn may end
/// before it says that it goes on.
async fn paint(stage: &Stage, key: &str) -> Value {
    let call = json!({"name": "generate_image", "arguments": {"prompt": "A red dragon"}});
    for _ in 0..5 {
        let call = stage.post(call.to_string()).path("/v1/tools/execute");
        let call = call.header("x-tollgate-tier", "deep");
        let outcome = call.header("x-api-key", &format!("the-key-of-{key}")).send().await.json();
        if outcome["status"] != "timeout" {
            assert_eq!(outcome["status"], "ok", "{outcome}");
            return outcome["data"].clone();
        }
    }
    panic!("the tool never had the time to answer");
}

/// The link, once the picture is there.
async fn see(stage: &Stage, url: &str) -> Reply {
    for _ in 0..1_000 {
        let reply = stage.request("GET", url).send().await;
        if reply.status != 503 {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the picture never came");
}

#[tokio::test]
async fn a_picture_is_seen_without_a_key_and_runs_nothing() {
    let painting = painting(8).await;
    let stage = &painting.stage;
    let made = paint(stage, "ada").await;
    let url = made["url"].as_str().unwrap();
    let reply = see(stage, url).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.text, GIF);
    for (name, value) in [
        ("content-type", "image/gif"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("content-disposition", "inline"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "private, no-store"),
    ] {
        assert_eq!(reply.header(name).as_deref(), Some(value), "{name}");
    }
    let head = stage.request("HEAD", url).send().await;
    assert_eq!((head.status, head.text.len()), (200, 0));
    assert_eq!(head.header("content-type").as_deref(), Some("image/gif"));
    assert_eq!(stage.request("DELETE", url).send().await.status, 405, "without a key: only read");
}

#[tokio::test]
async fn nobody_finds_the_link_of_another() {
    let painting = painting(16).await;
    let stage = &painting.stage;
    let adas = paint(stage, "ada").await["url"].as_str().unwrap().to_owned();
    let bobs = paint(stage, "bob").await["url"].as_str().unwrap().to_owned();
    let id = adas.strip_prefix("/v1/files/").unwrap();
    assert!(id.len() == 64 && adas != bobs);
    let mut wrong = id.to_owned();
    let last = if wrong.pop() == Some('0') { '1' } else { '0' };
    wrong.push(last);
    for path in [
        "/v1/files/".to_owned(),
        format!("/v1/files/{wrong}"),
        format!("/v1/files/{}", &id[..32]),
        format!("/v1/files/{id}/"),
        "/v1/files/..%2f..%2fimages%2fa.png".to_owned(),
        "/v1/files/%2e%2e".to_owned(),
        "/v1/files/*".to_owned(),
    ] {
        for who in [None, Some("bob")] {
            let request = stage.request("GET", &path);
            let request = match who {
                Some(who) => request.header("x-api-key", &format!("the-key-of-{who}")),
                None => request,
            };
            let reply = request.send().await;
            assert_eq!(reply.status, 404, "{path}: {reply:?}");
        }
    }
    assert_eq!(stage.request("GET", "/v1/files").send().await.status, 401, "nothing is listed");
}

#[tokio::test]
async fn the_link_of_a_picture_that_is_still_made_opens_when_it_is_there() {
    let painting = painting(0).await;
    let stage = &painting.stage;
    let made = paint(stage, "ada").await;
    assert_eq!(made["status"], "pending", "{made}");
    let url = made["url"].as_str().unwrap();
    let early = stage.request("GET", url).send().await;
    assert_eq!(
        (early.status, early.header("retry-after").as_deref()),
        (503, Some("2")),
        "{early:?}"
    );
    assert_eq!(early.json()["error"]["code"], "file_pending");
    painting.may.add_permits(8);
    let reply = see(stage, url).await;
    assert_eq!((reply.status, &*reply.text), (200, GIF));
}

/// A stage whose tools return what a call says, for two keys.
async fn tools() -> Hostile {
    let key = |name: &str| key(name, &format!("the-key-of-{name}"), Rights::ALL);
    let keys = vec![key("ada"), key("bob")];
    Hostile::with(Duration::from_secs(20), Setup { keys, ..Setup::default() }).await
}

/// The outcome of a call whose tool returns these items.
async fn outcome_of(stage: &Stage, key: &str, content: &Value, consumers: &Value) -> Value {
    let plan = result(&json!({ "content": content }).to_string());
    let mut call = json!({"name": "new_say", "arguments": make_plan(&plan)});
    call.as_object_mut().unwrap().extend(consumers.as_object().unwrap().clone());
    let call = stage.post(call.to_string()).path("/v1/tools/execute");
    call.header("x-api-key", &format!("the-key-of-{key}")).send().await.json()
}

fn picture(content: &str) -> Value {
    json!({"type": "image", "mimeType": "image/png", "data": STANDARD.encode(content)})
}

#[tokio::test]
async fn a_picture_of_any_tool_has_a_link_where_it_cannot_be_shown() {
    let hostile = tools().await;
    let stage = &hostile.stage;
    let content = json!([{"type": "text", "text": "Here it is."}, picture(GIF), picture("<svg/>")]);
    let spoken = outcome_of(stage, "ada", &content, &json!({"consumer": "speech"})).await;
    assert_eq!(spoken["message"], "Here it is.", "{spoken}");
    assert_eq!(spoken.get("content"), None);
    let [link] = &spoken["pictures"].as_array().unwrap()[..] else { panic!("{spoken}") };
    let expected = json!({"url": link["url"], "mime_type": "image/gif", "bytes": GIF.len(), "url_seconds": 600});
    assert_eq!(*link, expected);
    let reply = stage.request("GET", link["url"].as_str().unwrap()).send().await;
    assert_eq!((reply.status, &*reply.text), (200, GIF));
    assert_eq!(reply.header("content-type").as_deref(), Some("image/gif"));
    assert_eq!(reply.header("x-content-type-options").as_deref(), Some("nosniff"));

    let shown = outcome_of(stage, "ada", &content, &json!({})).await;
    assert_eq!(
        (shown["content"][1]["type"].as_str(), shown.get("pictures")),
        (Some("image"), None)
    );
    let both = json!({"consumer": "mcp", "also": ["speech", "gemini-live"]});
    let both = outcome_of(stage, "ada", &content, &both).await;
    assert_eq!(both.get("pictures"), None);
    for consumer in ["speech", "gemini-live"] {
        let url = both["also"][consumer]["pictures"][0]["url"].as_str().unwrap();
        assert_eq!(stage.request("GET", url).send().await.text, GIF, "{consumer}");
    }
    let none = json!([{"type": "text", "text": "Nothing to see."}]);
    let none = outcome_of(stage, "ada", &none, &json!({"consumer": "speech"})).await;
    assert_eq!(none.get("pictures"), None);
}

#[tokio::test]
async fn pictures_of_two_keys_at_once_are_told_to_their_owner_alone() {
    let hostile = tools().await;
    let stage = &hostile.stage;
    let ask = async |number: usize| {
        let key = if number.is_multiple_of(2) { "ada" } else { "bob" };
        let picture = picture(&format!("GIF89a of {key}, {number}"));
        let content = json!([{"type": "text", "text": "A picture."}, picture]);
        let speech = json!({"consumer": "speech"});
        let outcome = outcome_of(stage, key, &content, &speech).await;
        let url = outcome["pictures"][0]["url"].as_str().unwrap().to_owned();
        let seen = stage.request("GET", &url).send().await.text;
        assert_eq!(seen, format!("GIF89a of {key}, {number}"));
        url
    };
    let mut urls = futures_util::future::join_all((0..8).map(ask)).await;
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len(), 8, "each has its own link");
    let mut wrong = urls[0].clone();
    let last = if wrong.pop() == Some('0') { '1' } else { '0' };
    wrong.push(last);
    assert_eq!(stage.request("GET", &wrong).send().await.status, 404);
}

/// Forty pictures, each of another size: more than a model gets.
fn many_pictures() -> Value {
    (0..40).map(|at| picture(&format!("GIF89a{}", "x".repeat(30 + at)))).collect()
}

/// Opens every link that a text has. What they show is not in the text itself.
async fn open_links(stage: &Stage, text: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for rest in text.split("/v1/files/").skip(1) {
        let reply = stage.request("GET", &format!("/v1/files/{}", &rest[..64])).send().await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(!text.contains(&STANDARD.encode(&reply.text)), "shown and linked");
        seen.push(reply.text);
    }
    seen
}

#[tokio::test]
async fn a_picture_that_a_model_does_not_get_has_a_link_in_every_dialect() {
    let hostile = tools().await;
    let stage = &hostile.stage;
    let plan = make_plan(&result(&json!({"content": many_pictures()}).to_string()));
    let text = plan.to_string();
    for (format, call) in [
        ("chat", json!({"id": "c", "function": {"name": "new_say", "arguments": text}})),
        (
            "responses",
            json!({"type": "function_call", "call_id": "c", "name": "new_say", "arguments": text}),
        ),
        ("anthropic", json!({"type": "tool_use", "id": "c", "name": "new_say", "input": plan})),
        ("gemini", json!({"functionCall": {"name": "new_say", "args": plan}})),
    ] {
        for body in [call.clone(), json!([call])] {
            let post = stage.post(body.to_string());
            let post = post.path(&format!("/v1/mcp/tool/execute?format={format}"));
            let reply = post.header("x-api-key", "the-key-of-ada").send().await;
            let seen = open_links(stage, &reply.text).await;
            assert_eq!(seen.len(), 8, "{format}: {}", &reply.text[..reply.text.len().min(300)]);
            assert!(reply.text.contains("image/gif"), "{format}");
        }
    }
    let none = make_plan(&result(&json!({"content": [picture(GIF)]}).to_string()));
    let call = json!({"type": "tool_use", "id": "c", "name": "new_say", "input": none});
    let post = stage.post(call.to_string()).path("/v1/mcp/tool/execute?format=anthropic");
    let reply = post.header("x-api-key", "the-key-of-ada").send().await;
    assert!(reply.text.contains(&STANDARD.encode(GIF)), "{reply:?}");
    assert!(!reply.text.contains("/v1/files/"), "{reply:?}");
}

#[tokio::test]
async fn a_model_of_the_gateway_gets_a_link_to_a_picture_that_is_left_out() {
    let arguments = make_plan(&result(&json!({"content": many_pictures()}).to_string()));
    let model = Model::saying(move |request| {
        let messages = request["messages"].as_array().unwrap();
        let has_result = messages.iter().any(|it| it["role"] == "tool");
        if has_result { "done".to_owned() } else { format!("!new_say {arguments}") }
    })
    .await;
    let setup =
        Setup { models: model.settings(), agents: vec![agent(&["new_say"])], ..Setup::default() };
    let hostile = Hostile::with(Duration::from_secs(20), setup).await;
    let question = json!({"model": "sage", "messages": [{"role": "user", "content": "go"}]});
    let answer = ask(&hostile.stage, question).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let request = model.requests.lock().pop().unwrap();
    // The call itself has all of them.
    let messages = request["messages"].as_array().unwrap().iter();
    let results: String =
        messages.filter(|it| it["role"] != "assistant").map(Value::to_string).collect();
    assert_eq!(open_links(&hostile.stage, &results).await.len(), 8);
}
