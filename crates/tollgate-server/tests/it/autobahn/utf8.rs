//! Section 6: valid and invalid UTF-8.

use super::{CHOPS, Chop, begins, check, ends, fails, goes_on, passes, whole, wrap};
use crate::live_gateway::Living;

const KOSME: &[u8] = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5";

/// Sections 6.5 to 6.23, as far as they are text.
fn valid() -> Vec<(String, Vec<u8>)> {
    let mut cases: Vec<(String, Vec<u8>)> = [
        ("6.2", "Hello-\u{b5}@\u{df}\u{f6}\u{e4}\u{fc}\u{e0}\u{e1}-UTF-8!!".as_bytes()),
        ("6.5", KOSME),
        ("6.6.2", b"\xce\xba"),
        ("6.6.5", b"\xce\xba\xe1\xbd\xb9"),
        ("6.6.7", b"\xce\xba\xe1\xbd\xb9\xcf\x83"),
        ("6.7.1", b"\x00"),
        ("6.7.2", b"\xc2\x80"),
        ("6.7.3", b"\xe0\xa0\x80"),
        ("6.7.4", b"\xf0\x90\x80\x80"),
        ("6.9.1", b"\x7f"),
        ("6.9.2", b"\xdf\xbf"),
        ("6.9.3", b"\xef\xbf\xbf"),
        ("6.9.4", b"\xf4\x8f\xbf\xbf"),
        ("6.11.1", b"\xed\x9f\xbf"),
        ("6.11.2", b"\xee\x80\x80"),
        ("6.11.3", b"\xef\xbf\xbd"),
        ("6.11.4", b"\xf4\x8f\xbf\xbf"),
        ("6.22.1", b"\xef\xbf\xbe"),
        ("6.23.1", b"\xef\xbf\xbf"),
    ]
    .into_iter()
    .map(|(case, bytes)| (case.to_owned(), bytes.to_vec()))
    .collect();
    // The last two characters of each plane are not characters, and still text.
    for plane in 1..=16_u32 {
        for last in [0xfffe, 0xffff] {
            let character = char::from_u32(plane << 16 | last).expect("no surrogate");
            cases.push((format!("6.22, plane {plane}"), character.to_string().into_bytes()));
        }
    }
    cases
}

const INVALID: &[(&str, &[u8])] = &[
    ("6.3", b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited"),
    ("6.6.1", b"\xce"),
    ("6.6.3", b"\xce\xba\xe1"),
    ("6.6.4", b"\xce\xba\xe1\xbd"),
    ("6.6.6", b"\xce\xba\xe1\xbd\xb9\xcf"),
    ("6.6.8", b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce"),
    ("6.8.1", b"\xf8\x88\x80\x80\x80"),
    ("6.8.2", b"\xfc\x84\x80\x80\x80\x80"),
    ("6.10.1", b"\xf7\xbf\xbf\xbf"),
    ("6.10.2", b"\xfb\xbf\xbf\xbf\xbf"),
    ("6.10.3", b"\xfd\xbf\xbf\xbf\xbf\xbf"),
    ("6.11.5", b"\xf4\x90\x80\x80"),
    ("6.12.1", b"\x80"),
    ("6.12.2", b"\xbf"),
    ("6.12.3", b"\x80\xbf"),
    ("6.12.4", b"\x80\xbf\x80"),
    ("6.12.5", b"\x80\xbf\x80\xbf"),
    ("6.12.6", b"\x80\xbf\x80\xbf\x80"),
    ("6.12.7", b"\x80\xbf\x80\xbf\x80\xbf"),
    ("6.12.8", b"\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\xb0\xbc\xbd\xbe\xbf"),
    ("6.13.1", b"\xc0 \xc1 \xc2 \xc3 \xd0 \xdf "),
    ("6.13.2", b"\xe0 \xe1 \xe8 \xef "),
    ("6.13.3", b"\xf0 \xf1 \xf4 \xf7 "),
    ("6.13.4", b"\xf8 \xf9 \xfa \xfb "),
    ("6.13.5", b"\xfc \xfd "),
    ("6.14.1", b"\xc0"),
    ("6.14.2", b"\xe0\x80"),
    ("6.14.3", b"\xf0\x80\x80"),
    ("6.14.4", b"\xf8\x80\x80\x80"),
    ("6.14.5", b"\xfc\x80\x80\x80\x80"),
    ("6.14.6", b"\xdf"),
    ("6.14.7", b"\xef\xbf"),
    ("6.14.8", b"\xf7\xbf\xbf"),
    ("6.14.9", b"\xfb\xbf\xbf\xbf"),
    ("6.14.10", b"\xfd\xbf\xbf\xbf\xbf"),
    (
        "6.15.1",
        b"\xc0\xe0\x80\xf0\x80\x80\xf8\x80\x80\x80\xfc\x80\x80\x80\x80\xdf\xef\xbf\xf7\xbf\xbf",
    ),
    ("6.16.1", b"\xfe"),
    ("6.16.2", b"\xff"),
    ("6.16.3", b"\xfe\xfe\xff\xff"),
    ("6.17.1", b"\xc0\xaf"),
    ("6.17.2", b"\xe0\x80\xaf"),
    ("6.17.3", b"\xf0\x80\x80\xaf"),
    ("6.17.4", b"\xf8\x80\x80\x80\xaf"),
    ("6.17.5", b"\xfc\x80\x80\x80\x80\xaf"),
    ("6.18.1", b"\xc1\xbf"),
    ("6.18.2", b"\xe0\x9f\xbf"),
    ("6.18.3", b"\xf0\x8f\xbf\xbf"),
    ("6.18.4", b"\xf8\x87\xbf\xbf\xbf"),
    ("6.18.5", b"\xfc\x83\xbf\xbf\xbf\xbf"),
    ("6.19.1", b"\xc0\x80"),
    ("6.19.2", b"\xe0\x80\x80"),
    ("6.19.3", b"\xf0\x80\x80\x80"),
    ("6.20.1", b"\xed\xa0\x80"),
    ("6.20.2", b"\xed\xad\xbf"),
    ("6.20.3", b"\xed\xae\x80"),
    ("6.20.4", b"\xed\xaf\xbf"),
    ("6.20.5", b"\xed\xb0\x80"),
    ("6.20.6", b"\xed\xbe\x80"),
    ("6.20.7", b"\xed\xbf\xbf"),
    ("6.21.1", b"\xed\xa0\x80\xed\xb0\x80"),
    ("6.21.2", b"\xed\xa0\x80\xed\xbf\xbf"),
    ("6.21.3", b"\xed\xad\xbf\xed\xb0\x80"),
    ("6.21.4", b"\xed\xad\xbf\xed\xbf\xbf"),
    ("6.21.5", b"\xed\xae\x80\xed\xb0\x80"),
    ("6.21.6", b"\xed\xae\x80\xed\xbf\xbf"),
    ("6.21.7", b"\xed\xaf\xbf\xed\xb0\x80"),
    ("6.21.8", b"\xed\xaf\xbf\xed\xbf\xbf"),
];

#[tokio::test]
async fn autobahn_6_1_empty_pieces_change_nothing() {
    let stage = Living::start().await;
    let sent = wrap("middle");
    let frames = [begins(b""), goes_on(&sent), ends(b"")];
    for chop in CHOPS {
        check(&stage, "6.1.3", &frames, chop, &passes(&[&sent])).await;
    }
}

#[tokio::test]
async fn autobahn_6_text_passes_however_it_is_cut() {
    let stage = Living::start().await;
    for (case, bytes) in valid() {
        let sent = wrap(&bytes);
        check(&stage, &case, &[whole(&sent)], Chop::Whole, &passes(&[&sent])).await;
        // Cut in the middle of characters.
        let mut octets: Vec<_> = sent.chunks(1).map(goes_on).collect();
        octets[0] = begins(&sent[..1]);
        octets.push(ends(b""));
        check(&stage, &case, &octets, Chop::Whole, &passes(&[&sent])).await;
    }
}

#[tokio::test]
async fn b_ws_7_autobahn_6_what_is_no_text_is_refused_however_it_is_cut() {
    let stage = Living::start().await;
    for (case, bytes) in INVALID {
        let sent = wrap(bytes);
        check(&stage, case, &[whole(&sent)], Chop::Whole, &fails(1007)).await;
        let mut octets: Vec<_> = sent.chunks(1).map(goes_on).collect();
        octets[0] = begins(&sent[..1]);
        octets.push(ends(b""));
        check(&stage, case, &octets, Chop::Whole, &fails(1007)).await;
    }
}

#[tokio::test]
async fn b_ws_7_autobahn_6_4_what_is_no_text_is_refused_before_it_is_whole() {
    let stage = Living::start().await;
    let start = wrap(KOSME);
    let start = &start[..start.len() - 2];
    for (case, wrong) in [("6.4.1", &b"\xf4\x90\x80\x80"[..]), ("6.4.2", b"\xed\xa0\x80")] {
        // The end never comes.
        let frames = [begins(start), goes_on(wrong)];
        check(&stage, case, &frames, Chop::Frames, &fails(1007)).await;
    }
}
