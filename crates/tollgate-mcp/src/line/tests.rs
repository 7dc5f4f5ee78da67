use proptest::prelude::{any, prop, proptest};
use tokio::io::AsyncWriteExt;

use super::{LineRead, LineReader};

/// Lines as text; one that is too long as `>head`, its end as `<tail`.
fn read(pieces: Vec<Vec<u8>>, limit: usize) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async move {
        let (reader, mut writer) = tokio::io::duplex(16);
        let write = async move {
            for piece in pieces {
                writer.write_all(&piece).await.unwrap();
            }
        };
        let mut lines = LineReader::new(reader, limit);
        let read = async {
            let mut out = Vec::new();
            while let Some(line) = lines.next().await.unwrap() {
                out.push(match line {
                    LineRead::Text(text) => String::from_utf8_lossy(&text).into_owned(),
                    LineRead::TooLong { head, .. } => {
                        format!(">{}", String::from_utf8_lossy(&head))
                    }
                    LineRead::NoRoom { .. } => panic!("there is room"),
                    LineRead::Skipped { tail } => format!("<{}", String::from_utf8_lossy(&tail)),
                });
            }
            out
        };
        tokio::join!(write, read).1
    })
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(read(vec![text.into()], 20), expected, "in one piece");
    let bytes = text.bytes().map(|byte| vec![byte]).collect();
    assert_eq!(read(bytes, 20), expected, "byte by byte");
}

#[test]
fn lines_come_one_by_one() {
    check("a\nb\n", &["a", "b"]);
    check("", &[]);
}

#[test]
fn b_io_03_line_ends_nul_and_a_missing_newline_at_the_end_are_tolerated() {
    check("a\r\nb\r\n", &["a", "b"]);
    check("\n\r\n \n\0\n\0a\0\n", &["a"]);
    check("a\nb", &["a", "b"]);
    check("a\rb\n", &["a\rb"]);
}

#[test]
fn b_io_04_a_line_over_the_limit_is_skipped_and_reading_goes_on() {
    let long = "x".repeat(100);
    let text = format!("a\n{long}\nb\n");
    let byte_by_byte = text.bytes().map(|byte| vec![byte]).collect();
    for lines in [read(byte_by_byte, 20), read(vec![text.into()], 20)] {
        let starts: Vec<_> = lines.iter().map(|line| &line[..1]).collect();
        assert_eq!(starts, ["a", ">", "<", "b"]);
    }
    assert_eq!(read(vec![long.into()], 20).len(), 2, "its end may be that of the stream");
    check(&format!("{}\nb\n", "x".repeat(20)), &["x".repeat(20).as_str(), "b"]);
}

#[test]
fn a_line_over_the_limit_that_came_at_once_is_reported_alike() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let text = format!("{}END\nb\n", "x".repeat(30));
        let mut lines = LineReader::new(text.as_bytes(), 20);
        assert!(matches!(lines.next().await.unwrap(), Some(LineRead::TooLong { .. })));
        let Some(LineRead::Skipped { tail }) = lines.next().await.unwrap() else {
            panic!("no end")
        };
        assert!(tail.ends_with(b"END"));
        assert_eq!(lines.next().await.unwrap(), Some(LineRead::Text("b".into())));
        assert_eq!(lines.next().await.unwrap(), None);
    });
}

#[test]
fn memory_is_bounded_by_the_limit_and_given_back() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let endless = tokio::io::AsyncReadExt::take(tokio::io::repeat(b'['), 64 << 20);
        let mut lines = LineReader::new(endless, 1 << 20);
        let too_long = lines.next().await.unwrap();
        assert!(matches!(too_long, Some(LineRead::TooLong { limit, .. }) if limit == 1 << 20));
        assert!(matches!(lines.next().await.unwrap(), Some(LineRead::Skipped { .. })));
        assert!(lines.buffer.capacity() <= 4 << 20, "{}", lines.buffer.capacity());
        // A line that is just allowed needs room for itself, and not for twice that.
        let growing = tokio::io::AsyncReadExt::take(tokio::io::repeat(b'['), 8 << 20);
        let mut lines = LineReader::new(growing, 8 << 20);
        let Some(LineRead::Text(text)) = lines.next().await.unwrap() else { panic!("no line") };
        assert_eq!(text.len(), 8 << 20);
        drop(lines);
        let held = text.try_into_mut().unwrap().capacity();
        assert!(held <= (8 << 20) + (32 << 10), "{held}");
    });
}

#[test]
fn r_18_what_cannot_be_a_message_is_not_collected() {
    const ALL: u64 = 64 << 20;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let endless = |byte| {
            let bytes = tokio::io::AsyncReadExt::take(tokio::io::repeat(byte), ALL);
            LineReader::new(bytes, 8 << 20)
        };
        for byte in [b'x', b'"', b'7', 0xff, 1] {
            let mut lines = endless(byte);
            let Some(LineRead::TooLong { limit, .. }) = lines.next().await.unwrap() else {
                panic!("it is kept")
            };
            assert_eq!(limit, 64 << 10);
            let read = ALL - lines.reader.limit();
            assert!(read <= 256 << 10, "{read} bytes were collected");
            assert!(matches!(lines.next().await.unwrap(), Some(LineRead::Skipped { .. })));
            assert_eq!(lines.next().await.unwrap(), None);
        }
        // Blanks may stand before a message, any number of them.
        let mut lines = endless(0);
        assert_eq!(lines.next().await.unwrap(), None);
        assert!(lines.buffer.capacity() <= 256 << 10, "{}", lines.buffer.capacity());
    });
    let padded = format!("{}{{}}\n", " ".repeat(200_000));
    assert_eq!(read(vec![padded.into()], 100), ["{}"]);
}

#[test]
fn a_message_with_line_ends_between_its_tokens_becomes_one_line() {
    let check = |text: &str, expected: &str| {
        assert_eq!(super::on_one_line(text.to_owned()), expected);
    };
    check("{\r\n \"a\": 1\n}", "{   \"a\": 1 }");
    check(r#"{"a":"x\ny\r"}"#, r#"{"a":"x\ny\r"}"#);
}

proptest! {
    #[test]
    fn any_bytes_read_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        size in 1_usize..40,
    ) {
        read(bytes.chunks(size).map(<[u8]>::to_vec).collect(), 30);
    }
}
