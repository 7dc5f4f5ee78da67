//! Links to pictures: they open without a key, and only for whoever was given one.

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

use crate::client::Reply;
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
