//! B-WS 10: WebSocket handshakes that are malformed, hostile or unusual.

use tollgate_testkit::ws::Refused;

use crate::client::{raw, raw_until};
use crate::framing::{statuses, still_works};
use crate::live_gateway::{Living, Speaks};

const GOOD: &str = "GET /v1/realtime?model=voice HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\n\
                    Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[tokio::test]
async fn b_ws_10_openings_that_are_wrong_are_refused_in_http() {
    let living = Living::start().await;
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (from, to, expected) in [
        ("Version: 13", "Version: 12", 426),
        ("Version: 13", "Version: x", 426),
        ("Sec-WebSocket-Version: 13\r\n", "", 426),
        (key, "", 400),
        (key, "Sec-WebSocket-Key: short\r\n", 400),
        (key, "Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!!!\r\n", 400),
        (key, &key.repeat(2), 400),
        ("Upgrade: websocket\r\n", "", 426),
        ("Upgrade: websocket\r\n", "Upgrade: h2c\r\n", 426),
        ("Connection: Upgrade\r\n", "", 426),
        ("Connection: Upgrade\r\n", "Connection: keep-alive\r\n", 426),
        ("GET ", "POST ", 405),
        ("Host: HOST", "Host: HOST\r\nOrigin: http://evil.example", 403),
        ("Host: HOST", "Host: HOST\r\nOrigin: null", 403),
        ("Host: HOST", "Host: evil.example", 403),
        ("HTTP/1.1", "HTTP/1.0", 426),
        ("model=voice", "model=nobody", 404),
    ] {
        let request = GOOD.replace(from, to).replace("HOST", &living.stage.address.to_string());
        let answer = raw(living.stage.address, request.as_bytes()).await;
        assert_eq!(statuses(&answer), [expected], "{from:?} -> {to:?}: {answer}");
    }
    still_works(&living.stage).await;
}

#[tokio::test]
async fn b_ws_10_a_body_behind_the_opening_is_not_a_second_request() {
    let living = Living::start().await;
    let hidden = "GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n";
    let request =
        GOOD.replace("\r\n\r\n", &format!("\r\nContent-Length: {}\r\n\r\n", hidden.len()));
    let request = format!("{request}{hidden}").replace("HOST", &living.stage.address.to_string());
    let answer = raw_until(living.stage.address, request.as_bytes(), 0).await;
    assert!(!answer.contains(" 200 "), "{answer}");
    still_works(&living.stage).await;
}

#[tokio::test]
async fn b_ws_10_ten_thousand_subprotocols_are_too_many_and_a_few_are_not() {
    let living = Living::start().await;
    let many: Vec<String> = (0..10_000).map(|at| format!("protocol-{at}")).collect();
    let header = format!("Sec-WebSocket-Protocol: {}", many.join(", "));
    let refused: Refused = living.dial(Speaks::OpenAi, &[header]).await.unwrap_err();
    assert!(matches!(refused.status, 400 | 431), "{refused:?}");
    let header = "Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.sk-secret".to_owned();
    let wire = living.echoing(Speaks::OpenAi, &[header]).await;
    let chosen: Vec<&str> =
        wire.head.lines().filter(|it| it.to_lowercase().contains("protocol:")).collect();
    assert_eq!(chosen.len(), 1, "{}", wire.head);
    assert!(chosen[0].ends_with("realtime"), "only that one, and no key: {}", wire.head);
    still_works(&living.stage).await;
}
