//! B-WS 1, 5, 6, 9, 11 and 13: floods, oversized messages, and clients that do not read.

use std::time::Duration;

use serde_json::json;
use tollgate_testkit::ws::{
    CONTINUATION, PING, RawWebSocket, RawWebSocketFrame, RawWebSocketMessage, RawWebSocketRole,
    TEXT,
};

use crate::framing::still_works;
use crate::live_gateway::{Ends, Living, Speaks, text};

const TIMEOUT: Duration = Duration::from_secs(50);
const MIB: usize = 1 << 20;

/// How the connection ends, if nothing else is sent.
async fn ending(wire: &mut RawWebSocket) -> RawWebSocketMessage {
    let reading = async {
        loop {
            let message = wire.message().await;
            if matches!(message, RawWebSocketMessage::Close(..) | RawWebSocketMessage::Gone) {
                return message;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, reading).await.expect("it ends")
}

async fn closes(wire: &mut RawWebSocket, expected: u16) {
    let ended = ending(wire).await;
    assert!(matches!(ended, RawWebSocketMessage::Close(code, _) if code == expected), "{ended:?}");
}

/// That others do not feel it.
async fn others_go_on(living: &Living) {
    let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
    wire.text("{\"type\":\"echo\"}").await.unwrap();
    assert_eq!(text(&mut wire).await, "{\"type\":\"echo\"}");
    still_works(&living.stage).await;
}

#[tokio::test]
async fn b_ws_1_a_frame_without_a_mask_ends_the_session() {
    let living = Living::start().await;
    let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
    wire.write(&RawWebSocketFrame::text("{\"type\":\"echo\"}").bytes(RawWebSocketRole::Server))
        .await
        .unwrap();
    closes(&mut wire, 1002).await;
    others_go_on(&living).await;
}

#[tokio::test]
async fn b_ws_5_a_million_pieces_of_one_byte_are_one_message() {
    let living = Living::start().await;
    let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
    let sent = format!("{{\"type\":\"echo\",\"x\":\"{}\"}}", "x".repeat(MIB - 22));
    let mut bytes = RawWebSocketFrame::new(TEXT, &sent.as_bytes()[..1])
        .without_fin()
        .bytes(RawWebSocketRole::Client);
    for byte in &sent.as_bytes()[1..] {
        bytes.extend(
            RawWebSocketFrame::new(CONTINUATION, [*byte])
                .without_fin()
                .bytes(RawWebSocketRole::Client),
        );
    }
    bytes.extend(RawWebSocketFrame::new(CONTINUATION, "").bytes(RawWebSocketRole::Client));
    wire.write(&bytes).await.unwrap();
    let back = tokio::time::timeout(TIMEOUT, wire.message()).await.expect("in time");
    assert!(back == RawWebSocketMessage::Text(sent), "it came back otherwise");
    others_go_on(&living).await;
}

#[tokio::test]
async fn b_ws_5_a_message_without_an_end_is_too_long_at_last() {
    let living = Living::start().await;
    let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
    let first = RawWebSocketFrame::new(TEXT, "{\"type\":\"echo\",\"x\":\"")
        .without_fin()
        .bytes(RawWebSocketRole::Client);
    wire.write(&first).await.unwrap();
    let piece = RawWebSocketFrame::new(CONTINUATION, vec![b'x'; 64 << 10])
        .without_fin()
        .bytes(RawWebSocketRole::Client);
    let mut sent = 0;
    while wire.write(&piece).await.is_ok() {
        sent += 64 << 10;
        assert!(sent < 64 * MIB, "it takes everything");
    }
    let ended = ending(&mut wire).await;
    assert!(
        matches!(ended, RawWebSocketMessage::Close(1009, _) | RawWebSocketMessage::Gone),
        "{ended:?}"
    );
    others_go_on(&living).await;
}

#[tokio::test]
async fn b_ws_5_a_million_empty_pieces_take_no_room() {
    let living = Living::start().await;
    let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
    let mut bytes =
        RawWebSocketFrame::new(TEXT, "{\"type\":").without_fin().bytes(RawWebSocketRole::Client);
    let empty =
        RawWebSocketFrame::new(CONTINUATION, "").without_fin().bytes(RawWebSocketRole::Client);
    bytes.extend(empty.repeat(1_000_000));
    bytes.extend(RawWebSocketFrame::new(CONTINUATION, "\"echo\"}").bytes(RawWebSocketRole::Client));
    wire.write(&bytes).await.unwrap();
    assert_eq!(text(&mut wire).await, "{\"type\":\"echo\"}");
    others_go_on(&living).await;
}

#[tokio::test]
async fn b_ws_6_lengths_that_nobody_means() {
    let living = Living::start().await;
    for length in [1_u64 << 63, u64::MAX, (1 << 63) - 1, 17 << 20] {
        let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
        let head = [&[0x81, 0xff][..], &length.to_be_bytes(), &[0; 4], b"{\"ty"].concat();
        wire.write(&head).await.unwrap();
        let ended = ending(&mut wire).await;
        assert!(matches!(ended, RawWebSocketMessage::Close(1002 | 1009, _)), "{length}: {ended:?}");
    }
    // Long-winded, but clear.
    let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
    let sent = b"{\"type\":\"echo\"}";
    let length = (sent.len() as u64).to_be_bytes();
    wire.write(&[&[0x81, 0xff][..], &length, &[0; 4], sent].concat()).await.unwrap();
    assert_eq!(text(&mut wire).await.as_bytes(), sent);
    others_go_on(&living).await;
}

#[tokio::test]
async fn b_ws_8_whoever_never_says_goodbye_is_left_alone_with_it() {
    let living = Living::start().await;
    let Ends { mut client, mut provider } = living.open(Speaks::OpenAi).await;
    provider.send(&RawWebSocketFrame::close(4001, "enough")).await.unwrap();
    let ended = ending(&mut client).await;
    assert_eq!(ended, RawWebSocketMessage::Close(4001, "enough".to_owned()));
    // No answer to that; the connection ends all the same.
    let over = tokio::time::timeout(TIMEOUT, client.is_over());
    assert!(over.await.expect("it ends"), "nothing is said after a goodbye");
}

#[tokio::test]
async fn b_ws_9_a_hundred_thousand_pings_are_too_many() {
    let living = Living::start().await;
    let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
    let pings = RawWebSocketFrame::new(PING, "flood").bytes(RawWebSocketRole::Client).repeat(1_000);
    for _ in 0..100 {
        if wire.write(&pings).await.is_err() {
            break;
        }
    }
    let ended = ending(&mut wire).await;
    assert!(
        matches!(ended, RawWebSocketMessage::Close(1008, _) | RawWebSocketMessage::Gone),
        "{ended:?}"
    );
    others_go_on(&living).await;
}

#[tokio::test]
async fn b_ws_11_a_message_of_twenty_mebibytes_is_too_long() {
    let living = Living::start().await;
    let mut wire = living.echoing(Speaks::OpenAi, &[]).await;
    let event = json!({"type": "input_audio_buffer.append", "audio": "A".repeat(20 * MIB)});
    let _ = wire.text(event.to_string()).await;
    let ended = ending(&mut wire).await;
    assert!(
        matches!(ended, RawWebSocketMessage::Close(1009, _) | RawWebSocketMessage::Gone),
        "{ended:?}"
    );
    others_go_on(&living).await;
}

#[tokio::test]
async fn b_ws_13_whoever_does_not_read_stops_their_own_provider_and_nobody_else() {
    let living = Living::start().await;
    let Ends { mut client, mut provider } = living.open(Speaks::OpenAi).await;
    let event =
        |at: u64| format!("{{\"type\":\"delta\",\"at\":{at},\"x\":\"{}\"}}", "x".repeat(16 << 10));
    let mut sent = 0;
    // Until there is no more room anywhere on the way.
    while tokio::time::timeout(Duration::from_secs(2), provider.text(event(sent))).await.is_ok() {
        sent += 1;
        assert!(sent < 4_000, "64 MiB went somewhere");
    }
    others_go_on(&living).await;
    // The message that did not fit is cut off, but nothing before it is lost.
    for at in 0..sent {
        assert!(text(&mut client).await == event(at), "{at} of {sent}");
    }
}
