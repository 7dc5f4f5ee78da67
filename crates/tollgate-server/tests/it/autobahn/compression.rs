//! Sections 12 and 13: compression is never negotiated, so its bit is an error.

use tollgate_testkit::ws::{RawWebSocket, RawWebSocketFrame, TEXT};

use super::{Chop, Seen, send, text};
use crate::live_gateway::{Living, Speaks};

#[tokio::test]
async fn b_ws_10_autobahn_12_and_13_compression_is_not_negotiated_and_its_bit_is_refused() {
    let stage = Living::start().await;
    for offer in [
        "permessage-deflate",
        "permessage-deflate; client_no_context_takeover; client_max_window_bits",
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=9",
        "permessage-deflate; client_max_window_bits=8, permessage-deflate",
        "x-webkit-deflate-frame, permessage-bzip2",
    ] {
        let header = format!("Sec-WebSocket-Extensions: {offer}");
        let mut wire = stage.echoing(Speaks::OpenAi, &[header]).await;
        let head = wire.head.to_lowercase();
        assert!(!head.contains("sec-websocket-extensions"), "{offer}: {head}");
        // A bomb in a few bytes would stand here.
        let squeezed =
            RawWebSocketFrame::new(TEXT, [0xaa, 0x56, 0x4a, 0x04, 0x00]).with_reserved(4);
        assert_eq!(ending(&mut wire, &[squeezed]).await, Some(1002), "{offer}");
    }
}

#[tokio::test]
async fn autobahn_12_and_13_what_is_not_squeezed_passes_after_an_offer() {
    let stage = Living::start().await;
    let header = "Sec-WebSocket-Extensions: permessage-deflate".to_owned();
    let mut wire = stage.echoing(Speaks::OpenAi, &[header]).await;
    let sent = text(1_000);
    wire.send(&RawWebSocketFrame::new(TEXT, sent.clone())).await.unwrap();
    let mut seen = Seen::default();
    while seen.messages.is_empty() {
        assert!(seen.read(&mut wire).await, "it ended");
    }
    assert!(seen.messages == [sent]);
}

async fn ending(wire: &mut RawWebSocket, frames: &[RawWebSocketFrame]) -> Option<u16> {
    send(wire, frames, Chop::Whole).await;
    let mut seen = Seen::default();
    while seen.read(wire).await {}
    seen.closed
}
