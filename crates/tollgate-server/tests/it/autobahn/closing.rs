//! Section 7: closing handshake.

use tollgate_testkit::ws::{CLOSE, PING, RawWebSocketFrame};

use super::{CHOPS, Chop, Expected, Seen, begins, check, ends, fails, send, text, whole};
use crate::live_gateway::{Living, Speaks};

#[tokio::test]
async fn autobahn_7_1_nothing_is_heard_after_a_close() {
    let stage = Living::start().await;
    let sent = text(64);
    let close = RawWebSocketFrame::close(1000, "");
    let (one, two) = sent.split_at(20);
    for (case, frames) in [
        ("7.1.1", vec![close.clone()]),
        ("7.1.2", vec![close.clone(), close.clone()]),
        ("7.1.3", vec![close.clone(), RawWebSocketFrame::new(PING, "late")]),
        ("7.1.4", vec![close.clone(), whole(&sent)]),
        ("7.1.5", vec![begins(one), close.clone(), ends(two)]),
        ("7.3.1", vec![RawWebSocketFrame::new(CLOSE, "")]),
    ] {
        let expected = if case == "7.3.1" { [1000, 1005] } else { [1000, 1000] };
        for chop in CHOPS {
            let mut wire = stage.echoing(Speaks::OpenAi, &[]).await;
            send(&mut wire, &frames, chop).await;
            let mut seen = Seen::default();
            while seen.read(&mut wire).await {}
            let code = seen.closed.unwrap_or_default();
            assert!(expected.contains(&code), "case {case}, {chop:?}: {seen:?}");
            assert_eq!((seen.messages.len(), seen.pongs.len()), (0, 0), "case {case}, {chop:?}");
        }
    }
}

#[tokio::test]
async fn autobahn_7_1_6_a_close_behind_a_long_message_is_heard() {
    let stage = Living::start().await;
    let frames = [
        whole(&text(256 << 10)),
        RawWebSocketFrame::close(1000, ""),
        RawWebSocketFrame::new(PING, "late"),
    ];
    let mut wire = stage.echoing(Speaks::OpenAi, &[]).await;
    send(&mut wire, &frames, Chop::Whole).await;
    let mut seen = Seen::default();
    while seen.read(&mut wire).await {}
    assert_eq!((seen.closed, seen.pongs.len()), (Some(1000), 0));
}

#[tokio::test]
async fn b_ws_8_autobahn_7_3_and_7_5_the_body_of_a_close_is_checked() {
    let stage = Living::start().await;
    let bad_text = [&1000_u16.to_be_bytes()[..], b"\xce\xba\xed\xa0\x80edited"].concat();
    for (case, frame, expected) in [
        ("7.3.2", RawWebSocketFrame::new(CLOSE, "x"), fails(1002)),
        ("7.3.3", RawWebSocketFrame::close(1000, ""), fails(1000)),
        ("7.3.4", RawWebSocketFrame::close(1000, "Hello World!"), fails(1000)),
        ("7.3.5", RawWebSocketFrame::close(1000, &"*".repeat(123)), fails(1000)),
        ("7.3.6", RawWebSocketFrame::close(1000, &"*".repeat(124)), fails(1002)),
        ("7.5.1", RawWebSocketFrame::new(CLOSE, bad_text), fails(1007)),
    ] {
        for chop in CHOPS {
            check(&stage, case, std::slice::from_ref(&frame), chop, &expected).await;
        }
    }
}

#[tokio::test]
async fn autobahn_7_7_codes_that_may_be_said_are_said_back() {
    let stage = Living::start().await;
    let codes =
        [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 3000, 3999, 4000, 4999];
    for code in codes {
        let frames = [RawWebSocketFrame::close(code, "because")];
        check(&stage, &format!("7.7, {code}"), &frames, Chop::Whole, &fails(code)).await;
    }
}

#[tokio::test]
async fn b_ws_8_autobahn_7_9_and_7_13_codes_that_may_not_be_said_are_refused() {
    let stage = Living::start().await;
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
        let frames = [RawWebSocketFrame::close(code, "")];
        let refused = Expected::Fails { code: 1002, after: 0 };
        check(&stage, &format!("7.9, {code}"), &frames, Chop::Whole, &refused).await;
    }
}
