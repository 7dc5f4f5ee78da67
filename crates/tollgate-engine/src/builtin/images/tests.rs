//! Pictures from small services that speak as the real ones do.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tollgate_core::secret::Secret;

use super::*;
use crate::builtin::files;
use crate::builtin::scratch::ScratchDir;
use crate::clock::{Clock as _, SystemClock};
use crate::web::tests::{Script, Site, redirect, response};

const KEY: &str = "canary-key";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest of it";

fn json_answer(body: &Value) -> Script {
    response("200 OK\ncontent-type: application/json", body.to_string())
}

fn answer_packed(content: &[u8]) -> Script {
    json_answer(&json!({ "created": 1, "data": [{ "b64_json": STANDARD.encode(content) }] }))
}

fn settings(site: &Site) -> ImageSettings {
    ImageSettings {
        base_url: format!("http://127.0.0.1:{}/v1", site.port()),
        key: Some(Secret::new(KEY)),
        headers: vec![("x-team".to_owned(), Secret::new("green"))],
        model: "painter-1".to_owned(),
        size: Some("1024x1024".to_owned()),
    }
}

async fn run_tool(
    site: &Site,
    scratch: &ScratchDir,
    arguments: Value,
) -> Result<BuiltinReply, BuiltinToolError> {
    let tool = tools(&settings(site), files::folder(scratch.path()), &Arc::default()).remove(0);
    let reply = tool.call(arguments.as_object().unwrap(), &BuiltinToolContext::local()).await;
    assert!(!format!("{reply:?}").contains(KEY));
    reply
}

async fn paint(site: &Site, scratch: &ScratchDir) -> Result<BuiltinReply, BuiltinToolError> {
    run_tool(site, scratch, json!({ "prompt": "A red Dragon!" })).await
}

fn files_of(scratch: &ScratchDir) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(scratch.path().join("images")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn a_picture_is_made_and_saved_by_what_it_is() {
    for (content, ending, media_type) in [
        (PNG, "png", "image/png"),
        (&b"\xff\xd8\xff\xe0rest"[..], "jpg", "image/jpeg"),
        (&b"RIFF\0\0\0\0WEBPrest"[..], "webp", "image/webp"),
        (&b"GIF89arest"[..], "gif", "image/gif"),
    ] {
        let site = Site::start(move |_| answer_packed(content)).await;
        let scratch = ScratchDir::new();
        let reply = paint(&site, &scratch).await.unwrap().structured.unwrap();
        let path = reply["path"].as_str().unwrap();
        assert!(path.starts_with("images/a-red-dragon-") && path.ends_with(ending), "{path}");
        let url = reply["url"].as_str().unwrap();
        let expected = json!({ "status": "done", "path": path, "mime_type": media_type,
            "bytes": content.len(), "url": url, "url_seconds": 900 });
        assert_eq!(reply, expected);
        assert_eq!(std::fs::read(scratch.path().join(path)).unwrap(), content);
        let request = site.requests().remove(0);
        assert!(request.starts_with("POST /v1/images/generations HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("authorization: Bearer canary-key\r\nx-team: green\r\n"));
        let body = request.split("\r\n\r\n").nth(1).unwrap();
        let expected =
            json!({ "model": "painter-1", "prompt": "A red Dragon!", "n": 1, "size": "1024x1024" });
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), expected);
    }
}

#[tokio::test]
async fn a_style_is_put_to_the_description() {
    let site = Site::start(|_| answer_packed(PNG)).await;
    let arguments = json!({ "prompt": "cat", "style": " ink " });
    run_tool(&site, &ScratchDir::new(), arguments).await.unwrap();
    assert!(site.requests()[0].contains(r#""prompt":"cat\n\nStyle: ink""#));
}

#[tokio::test]
async fn a_picture_behind_a_url_is_fetched_without_the_key() {
    let store = Site::start(|_| response("200 OK\ncontent-type: image/png", PNG)).await;
    let at = format!("http://127.0.0.1:{}/x.png", store.port());
    let service = Site::start(move |_| json_answer(&json!({ "data": [{ "url": at }] }))).await;
    paint(&service, &ScratchDir::new()).await.unwrap();
    assert!(!store.requests()[0].contains(KEY), "{}", store.requests()[0]);
}

/// S-19: a service may not send us to where it is not itself.
#[tokio::test]
async fn s_19_a_url_to_a_metadata_service_is_not_followed() {
    let inner = json!({ "data": [{ "url": "http://169.254.169.254/latest/" }] });
    let site = Site::start(move |_| json_answer(&inner)).await;
    let error = paint(&site, &ScratchDir::new()).await.unwrap_err().message;
    assert_eq!(
        error,
        "cannot fetch the picture: `169.254.169.254` is not a public address; only the public web \
         can be fetched"
    );
}

#[tokio::test]
async fn whoever_cannot_wait_is_told_where_it_will_be() {
    let Script::Says(answer) = answer_packed(PNG) else { panic!() };
    let late = Duration::from_millis(600);
    let site = Site::start(move |_| Script::Late(late, answer.clone())).await;
    let scratch = ScratchDir::new();
    let tool = tools(&settings(&site), files::folder(scratch.path()), &Arc::default()).remove(0);
    let until = Some(SystemClock.now() + Duration::from_millis(300));
    let arguments = Map::from_iter([("prompt".to_owned(), Value::from("Ship"))]);
    let reply = tool
        .call(&arguments, &BuiltinToolContext { until, ..BuiltinToolContext::local() })
        .await
        .unwrap();
    let reply = reply.structured.unwrap();
    assert_eq!(reply["status"], "pending");
    let path = format!("{}.png", reply["path"].as_str().unwrap());
    assert!(path.starts_with("images/ship-"), "{path}");
    while !scratch.path().join(&path).exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(std::fs::read(scratch.path().join(&path)).unwrap(), PNG);
}

#[tokio::test]
async fn what_cannot_be_a_picture_is_refused_and_not_saved() {
    let check = async |script: Script, expected: &str| {
        let site = Site::start(move |_| script.clone()).await;
        let scratch = ScratchDir::new();
        assert_eq!(paint(&site, &scratch).await.unwrap_err().message, expected);
        assert_eq!(files_of(&scratch), [""; 0]);
    };
    let none = "the image service returned something other than a picture; try again";
    check(answer_packed(b"<svg onload='x'/>"), none).await;
    check(answer_packed(b""), none).await;
    let broken = "the image service returned a picture that cannot be decoded";
    check(json_answer(&json!({ "data": [{ "b64_json": "%%%" }] })), broken).await;
    check(json_answer(&json!({ "data": [] })), "the image service answered without a picture")
        .await;
    check(json_answer(&json!({ "data": 5 })), "the image service did not answer with a picture")
        .await;
    check(response("200 OK", "<html>"), "the image service did not answer with a picture").await;
    let message =
        json!({ "error": { "message": format!("not \u{1b}allowed: {KEY}"), "code": "x" } });
    let refused = response("400 Bad Request", message.to_string());
    check(refused, "the image service refused this picture: not allowed: ***").await;
    let key = "the image service rejected the key; the operator must check the provider of \
               `builtin.images`";
    check(response("401 Unauthorized", message.to_string()), key).await;
    check(response("429 Slow", ""), "the image service is rate limiting; try again later").await;
    check(response("500 No", ""), "the image service answered with status 500; try again later")
        .await;
    let moved = "the image service redirected the request; the operator must check the `base_url` \
                 of its provider";
    check(redirect("http://127.0.0.1:9/"), moved).await;
}

#[test]
fn files_are_named_after_what_is_on_them() {
    let check = |prompt: &str, expected: &str| assert_eq!(name::of(prompt, 255), expected);
    check("A red Dragon!", "images/a-red-dragon-00000000000000ff");
    check("../../etc/passwd", "images/etc-passwd-00000000000000ff");
    check("龍", "images/picture-00000000000000ff");
    check(&"x".repeat(500), &format!("images/{}-00000000000000ff", "x".repeat(40)));
}
