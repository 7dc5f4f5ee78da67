//! Sections 9 and 10, scaled down: large messages, and many small ones.

use tollgate_testkit::ws::{BINARY, RawWebSocketFrame, TEXT};

use super::{Chop, Seen, TIMEOUT, check, ends, goes_on, passes, send, text, wrap};
use crate::live_gateway::{Living, Speaks};

const MIB: usize = 1 << 20;

#[tokio::test]
async fn autobahn_9_1_and_9_2_long_messages_pass() {
    let stage = Living::start().await;
    for (at, length) in [64 << 10, 256 << 10, MIB, 4 * MIB, 8 * MIB].into_iter().enumerate() {
        let sent = text(length);
        let frames = [RawWebSocketFrame::new(TEXT, sent.clone())];
        check(&stage, &format!("9.1.{}", at + 1), &frames, Chop::Whole, &passes(&[&sent])).await;
        let sent = vec![0xfe; length];
        let frames = [RawWebSocketFrame::new(BINARY, sent.clone())];
        check(&stage, &format!("9.2.{}", at + 1), &frames, Chop::Whole, &passes(&[&sent])).await;
    }
}

#[tokio::test]
async fn autobahn_9_3_and_9_4_long_messages_in_many_pieces_pass() {
    let stage = Living::start().await;
    for size in [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10] {
        for (section, opcode) in [("9.3", TEXT), ("9.4", BINARY)] {
            let sent = if opcode == TEXT { text(MIB) } else { vec![0xfe; MIB] };
            let frames = torn(opcode, &sent, size);
            let case = format!("{section}, pieces of {size}");
            check(&stage, &case, &frames, Chop::Whole, &passes(&[&sent])).await;
        }
    }
}

#[tokio::test]
async fn autobahn_9_5_and_9_6_long_messages_in_small_writes_pass() {
    let stage = Living::start().await;
    for size in [64, 128, 256, 512, 1024, 2048] {
        let sent = text(256 << 10);
        let frames = [RawWebSocketFrame::new(TEXT, sent.clone())];
        let case = format!("9.5, writes of {size}");
        check(&stage, &case, &frames, Chop::Pieces(size), &passes(&[&sent])).await;
        let sent = vec![0xfe; 256 << 10];
        let frames = [RawWebSocketFrame::new(BINARY, sent.clone())];
        let case = format!("9.6, writes of {size}");
        check(&stage, &case, &frames, Chop::Pieces(size), &passes(&[&sent])).await;
    }
}

#[tokio::test]
async fn autobahn_9_7_and_9_8_many_messages_pass_in_their_order() {
    let stage = Living::start().await;
    for length in [0, 16, 64, 256, 1024, 4096] {
        for (speaks, opcode) in [(Speaks::OpenAi, TEXT), (Speaks::Deepgram, BINARY)] {
            let mut wire = stage.echoing(speaks, &[]).await;
            let make_request = |at: usize| match opcode {
                TEXT => wrap(format!("{at}{}", "*".repeat(length))),
                _ => [format!("{at}").into_bytes(), vec![0xfe; length]].concat(),
            };
            let mut seen = Seen::default();
            for batch in 0..20 {
                let messages =
                    (0..50).map(|at| RawWebSocketFrame::new(opcode, make_request(batch * 50 + at)));
                send(&mut wire, &messages.collect::<Vec<_>>(), Chop::Whole).await;
                let reading = async {
                    while seen.messages.len() < (batch + 1) * 50 {
                        assert!(seen.read(&mut wire).await, "it ended");
                    }
                };
                tokio::time::timeout(TIMEOUT, reading).await.expect("all in time");
            }
            let expected: Vec<Vec<u8>> = (0..1_000).map(make_request).collect();
            assert!(seen.messages == expected, "{speaks:?}, {length} bytes");
        }
    }
}

#[tokio::test]
async fn autobahn_10_1_1_pieces_as_a_network_makes_them_pass() {
    let stage = Living::start().await;
    let sent = text(65_536);
    let frames = torn(TEXT, &sent, 1_300);
    check(&stage, "10.1.1", &frames, Chop::Frames, &passes(&[&sent])).await;
}

fn torn(opcode: u8, payload: &[u8], size: usize) -> Vec<RawWebSocketFrame> {
    let mut frames: Vec<RawWebSocketFrame> = payload.chunks(size).map(goes_on).collect();
    frames[0].opcode = opcode;
    let last = frames.pop().expect("at least one");
    let last = if frames.is_empty() {
        RawWebSocketFrame { fin: true, ..last }
    } else {
        ends(&last.payload)
    };
    frames.push(last);
    frames
}
