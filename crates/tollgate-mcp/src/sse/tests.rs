use std::time::Duration;

use proptest::prelude::{any, prop, proptest};

use super::SseDecoder;

/// Events as `name:data`, faults as `!…`, from the stream fed in these pieces.
fn read<'a>(decoder: &mut SseDecoder, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut out = Vec::new();
    for mut piece in pieces {
        while let Some(event) = decoder.next(&mut piece) {
            out.push(match event {
                Ok(event) => format!("{}:{}", event.name.unwrap_or_default(), event.data),
                Err(fault) => format!("!{fault}"),
            });
        }
        assert!(piece.is_empty(), "a chunk is used up before the next one is asked for");
    }
    out
}

fn check(stream: &[u8], expected: &[&str]) {
    assert_eq!(read(&mut SseDecoder::new(64), [stream]), expected, "in one piece");
    for at in 0..=stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(read(&mut SseDecoder::new(64), [head, tail]), expected, "cut at {at}");
    }
    assert_eq!(read(&mut SseDecoder::new(64), stream.chunks(1)), expected, "byte by byte");
}

#[test]
fn b_se_01_without_a_blank_line_nothing_comes_and_memory_stays_bounded() {
    let mut decoder = SseDecoder::new(1024);
    for _ in 0..10_000 {
        assert!(read(&mut decoder, [&b"data: for ever and ever "[..]]).is_empty());
    }
    assert!(decoder.line.capacity() + decoder.data.capacity() <= 4096);
    for _ in 0..10_000 {
        assert!(read(&mut decoder, [&b"data: for ever\n"[..]]).is_empty());
    }
    assert!(decoder.line.capacity() + decoder.data.capacity() <= 4096);
}

#[test]
fn b_se_02_an_event_over_the_limit_is_one_fault_and_the_next_one_is_read() {
    let long = format!("data: {}\n\ndata: next\n\n", "x".repeat(100));
    check(long.as_bytes(), &["!an event is larger than 64 bytes", ":next"]);
    let many = format!("{}\ndata: next\n\n", "data:\n".repeat(200));
    check(many.as_bytes(), &["!an event is larger than 64 bytes", ":next"]);
    let comment = format!("data: a\n:{}\ndata: b\n\ndata: next\n\n", "x".repeat(100));
    let read_whole = read(&mut SseDecoder::new(64), [comment.as_bytes()]);
    assert_eq!(read_whole.last().map(String::as_str), Some(":next"));
}

#[test]
fn b_se_03_line_ends_may_be_mixed_and_cut_anywhere() {
    check(b"data: a\n\ndata: b\r\rdata: c\r\n\r\n", &[":a", ":b", ":c"]);
    check(b"data: a\r\n\rdata: b\n\r\ndata: c\r\n\n", &[":a", ":b", ":c"]);
    check(b"data: a\r\ndata: b\n\n", &[":a\nb"]);
}

#[test]
fn b_se_04_a_byte_order_mark_is_skipped_once_and_invalid_utf8_is_one_fault() {
    check("\u{feff}data: a\n\n".as_bytes(), &[":a"]);
    check("\u{feff}\u{feff}data: a\n\ndata: b\n\n".as_bytes(), &[":b"]);
    check(b"data: \xff\n\ndata: b\n\n", &["!an event is not UTF-8", ":b"]);
    check(b"event: \xff\ndata: a\n\ndata: b\n\n", &["!an event is not UTF-8", ":b"]);
    check("data: ä€😀\n\n".as_bytes(), &[":ä€😀"]);
}

#[test]
fn b_se_05_ids_with_nul_and_odd_retries_are_ignored() {
    let mut decoder = SseDecoder::new(64);
    read(&mut decoder, [&b"id: 7\nretry: 250\ndata: a\n\n"[..]]);
    read(&mut decoder, [&b"id: 8\0\nretry: -1\n\nretry: 1e18\nretry\nretry: \n\n"[..]]);
    read(&mut decoder, [&b"retry: 99999999999999999999999999\n\n"[..]]);
    assert_eq!(decoder.last_id(), Some("7"));
    assert_eq!(decoder.retry(), Some(Duration::from_millis(250)));
    read(&mut decoder, [&b"retry: 1000000000000000000\nid\n\n"[..]]);
    assert_eq!(decoder.last_id(), None);
    assert_eq!(decoder.retry(), Some(Duration::from_secs(1_000_000_000_000_000)));
}

#[test]
fn b_se_06_comments_and_unknown_fields_say_nothing() {
    check(b": hello\n\n:\n\nfoo: bar\n\nevent: x\n\ndata: a\n\n", &[":a"]);
    check(b"event: endpoint\ndata: /x\n\n", &["endpoint:/x"]);
}

#[test]
fn b_se_07_data_over_several_lines_is_joined() {
    check(b"data: {\ndata:  \"a\":1\ndata:}\n\n", &[":{\n \"a\":1\n}"]);
    check(b"data\n\n", &[":"]);
    check(b"data: a:b\n\n", &[":a:b"]);
}

#[test]
fn an_event_without_its_blank_line_is_dropped_at_the_end() {
    check(b"data: a\n\ndata: half", &[":a"]);
    check(b"data: a\n\ndata: half\n", &[":a"]);
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_read_alike(
        bytes in prop::collection::vec(prop::sample::select(
            b"data: event:id\xff\xef\xbb\xbf\n\r\0:1".to_vec()), 0..200),
        size in 1_usize..20,
    ) {
        let whole = read(&mut SseDecoder::new(32), [&bytes[..]]);
        let pieces = read(&mut SseDecoder::new(32), bytes.chunks(size));
        // Limits count what was kept, which depends on the cut only where a line is too long.
        if !whole.iter().chain(&pieces).any(|event| event.starts_with("!an event is larger")) {
            assert_eq!(whole, pieces);
        }
    }

    #[test]
    fn any_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        read(&mut SseDecoder::new(50), bytes.chunks(7));
    }
}
