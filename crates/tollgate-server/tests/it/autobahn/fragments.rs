//! Section 5: fragmented messages, empty fragments included.

use tollgate_testkit::ws::{BINARY, PING, PONG, RawWebSocketFrame};

use super::{
    CHOPS, Chop, begins, check, ends, fails, fails_after, goes_on, passes, passes_with, text, whole,
};
use crate::live_gateway::Living;

#[tokio::test]
async fn autobahn_5_pieces_make_a_whole_with_pings_between_them() {
    let stage = Living::start().await;
    let sent = text(90);
    let (one, two) = sent.split_at(33);
    let ping = |payload: &str| RawWebSocketFrame::new(PING, payload);
    let fifths: Vec<&[u8]> = sent.chunks(18).collect();
    let [first, second, third, fourth, fifth] = fifths[..] else { panic!("five pieces") };
    let five = vec![
        begins(first),
        goes_on(second),
        ping("1"),
        goes_on(third),
        goes_on(fourth),
        ping("2"),
        ends(fifth),
    ];
    for (case, frames, expected) in [
        ("5.3 to 5.5", vec![begins(one), ends(two)], passes(&[&sent])),
        ("5.6 to 5.8", vec![begins(one), ping("p"), ends(two)], passes_with(&[&sent], &[b"p"])),
        ("5.19, 5.20", five, passes_with(&[&sent], &[b"1", b"2"])),
    ] {
        for chop in CHOPS {
            check(&stage, case, &frames, chop, &expected).await;
        }
    }
    let binary =
        [RawWebSocketFrame::new(BINARY, [1, 2]).without_fin(), goes_on(&[]), ends(&[0xff])];
    check(&stage, "5.3, binary", &binary, Chop::Frames, &passes(&[&[1, 2, 0xff]])).await;
}

#[tokio::test]
async fn b_ws_3_and_4_autobahn_5_pieces_that_do_not_fit_are_refused() {
    let stage = Living::start().await;
    let sent = text(90);
    let (one, two) = sent.split_at(33);
    let torn =
        |opcode| [RawWebSocketFrame::new(opcode, "torn").without_fin(), ends(b"apart")].to_vec();
    let stray = b"nothing to continue";
    for (case, frames, expected) in [
        ("5.1", torn(PING), fails(1002)),
        ("5.2", torn(PONG), fails(1002)),
        ("5.9 to 5.11", vec![ends(stray), whole(&sent)], fails(1002)),
        ("5.12 to 5.14", vec![goes_on(stray), whole(&sent)], fails(1002)),
        ("5.16, 5.17", vec![goes_on(stray), begins(one), ends(two)], fails(1002)),
        ("5.18", vec![begins(one), whole(&sent)], fails(1002)),
    ] {
        for chop in CHOPS {
            check(&stage, case, &frames, chop, &expected).await;
        }
    }
    let again = [whole(&sent), goes_on(stray), whole(&sent)];
    check(&stage, "5.15", &again, Chop::Frames, &fails_after(1, 1002)).await;
}
