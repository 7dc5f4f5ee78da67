//! Sections 1 to 4: lengths, pings and pongs, reserved bits, opcodes.

use tollgate_testkit::ws::{BINARY, CLOSE, PING, PONG, RawWebSocketFrame, TEXT};

use super::{CHOPS, Chop, check, fails, fails_after, passes, passes_with, text, whole};
use crate::live_gateway::Living;

const LENGTHS: [usize; 6] = [125, 126, 127, 128, 65_535, 65_536];

#[tokio::test]
async fn autobahn_1_messages_of_every_kind_of_length_pass() {
    let stage = Living::start().await;
    for (at, length) in LENGTHS.into_iter().enumerate() {
        let sent = text(length);
        let case = format!("1.1.{}", at + 2);
        check(&stage, &case, &[whole(&sent)], Chop::Whole, &passes(&[&sent])).await;
        let sent = vec![0xfe; length];
        let case = format!("1.2.{}", at + 2);
        let frames = [RawWebSocketFrame::new(BINARY, sent.clone())];
        check(&stage, &case, &frames, Chop::Whole, &passes(&[&sent])).await;
    }
    let sent = text(65_536);
    check(&stage, "1.1.8", &[whole(&sent)], Chop::Pieces(997), &passes(&[&sent])).await;
    let sent = vec![0xfe; 65_536];
    let frames = [RawWebSocketFrame::new(BINARY, sent.clone())];
    check(&stage, "1.2.8", &frames, Chop::Pieces(997), &passes(&[&sent])).await;
    let frames = [RawWebSocketFrame::new(BINARY, "")];
    check(&stage, "1.2.1", &frames, Chop::Whole, &passes(&[b""])).await;
}

#[tokio::test]
async fn autobahn_2_pings_are_answered_alike_and_pongs_ignored() {
    let stage = Living::start().await;
    let longest = vec![0xfe; 125];
    let ping = |payload: &[u8]| RawWebSocketFrame::new(PING, payload);
    let pong = |payload: &[u8]| RawWebSocketFrame::new(PONG, payload);
    let ten: Vec<RawWebSocketFrame> =
        (0..10).map(|at| ping(format!("payload-{at}").as_bytes())).collect();
    let pongs: Vec<Vec<u8>> = ten.iter().map(|frame| frame.payload.clone()).collect();
    let pongs: Vec<&[u8]> = pongs.iter().map(Vec::as_slice).collect();
    let sent = text(64);
    for (case, frames, expected) in [
        ("2.1", vec![ping(b"")], passes_with(&[], &[b""])),
        ("2.2", vec![ping(b"Hello, world!")], passes_with(&[], &[b"Hello, world!"])),
        ("2.3", vec![ping(b"\x00\xff\xfe\xfd")], passes_with(&[], &[b"\x00\xff\xfe\xfd"])),
        ("2.4, 2.6", vec![ping(&longest)], passes_with(&[], &[&longest])),
        ("2.5", vec![ping(&[0xfe; 126])], fails(1002)),
        ("2.7", vec![pong(b""), whole(&sent)], passes(&[&sent])),
        ("2.8", vec![pong(b"unasked"), whole(&sent)], passes(&[&sent])),
        ("2.9", vec![pong(b"unasked"), ping(b"asked")], passes_with(&[], &[b"asked"])),
        ("2.10, 2.11", ten, passes_with(&[], &pongs)),
    ] {
        for chop in CHOPS {
            check(&stage, case, &frames, chop, &expected).await;
        }
    }
}

#[tokio::test]
async fn b_ws_2_autobahn_3_reserved_bits_are_refused() {
    let stage = Living::start().await;
    let first = text(32);
    let ping = RawWebSocketFrame::new(PING, "");
    let odd = |reserved| whole(&text(32)).with_reserved(reserved);
    let binary = |payload| RawWebSocketFrame::new(BINARY, vec![payload; 8]);
    for (case, frames, expected) in [
        ("3.1", vec![odd(1)], fails(1002)),
        ("3.2", vec![whole(&first), odd(2), ping.clone()], fails_after(1, 1002)),
        ("3.3", vec![whole(&first), odd(3), ping.clone()], fails_after(1, 1002)),
        ("3.4", vec![whole(&first), odd(4), ping.clone()], fails_after(1, 1002)),
        ("3.5", vec![binary(5).with_reserved(5)], fails(1002)),
        ("3.6", vec![ping.with_reserved(6)], fails(1002)),
        ("3.7", vec![RawWebSocketFrame::new(CLOSE, "").with_reserved(7)], fails(1002)),
    ] {
        for chop in CHOPS {
            check(&stage, case, &frames, chop, &expected).await;
        }
    }
}

#[tokio::test]
async fn b_ws_2_autobahn_4_unknown_opcodes_are_refused() {
    let stage = Living::start().await;
    for (section, opcodes) in [("4.1", [3, 4, 5, 6, 7]), ("4.2", [11, 12, 13, 14, 15])] {
        for (at, opcode) in opcodes.into_iter().enumerate() {
            let case = format!("{section}.{}", at + 1);
            let odd = [RawWebSocketFrame::new(opcode, "payload"), RawWebSocketFrame::new(PING, "")];
            check(&stage, &case, &odd, Chop::Whole, &fails(1002)).await;
            let first = RawWebSocketFrame::new(TEXT, text(40));
            let later =
                [first, RawWebSocketFrame::new(opcode, ""), RawWebSocketFrame::new(PING, "")];
            for chop in CHOPS {
                check(&stage, &case, &later, chop, &fails_after(1, 1002)).await;
            }
        }
    }
}
