use super::{FrameRead, frame, read};
use crate::frames::{MAX_WORKER_MESSAGE_BYTES, WorkerMessage};

async fn check(bytes: &[u8], expected: &str) {
    let mut from = bytes;
    let mut frame = Vec::new();
    let text = match read(&mut from, &mut frame).await {
        Ok(FrameRead::Frame) => format!("frame {}", String::from_utf8_lossy(&frame)),
        Ok(FrameRead::End) => "end".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(text, expected, "{bytes:?}");
}

#[tokio::test]
async fn a_frame_is_read_as_it_was_written() {
    let bytes = frame(&["a", "b"]).unwrap();
    assert_eq!(bytes, b"\x09\0\0\0[\"a\",\"b\"]");
    check(&bytes, r#"frame ["a","b"]"#).await;
}

#[tokio::test]
async fn what_is_no_frame_is_named() {
    check(b"", "end").await;
    check(b"\x01\0", "its output ended in the middle of a frame").await;
    check(b"\x05\0\0\0abc", "its output ended in the middle of a frame").await;
    check(b"\0\0\0\0", "frame ").await;
    let long = (MAX_WORKER_MESSAGE_BYTES + 1).to_le_bytes();
    check(&long, "it sent a message of 4194305 bytes; the limit is 4194304").await;
    check(b"Hello, world", "it sent a message of 1819043144 bytes; the limit is 4194304").await;
}

#[test]
fn what_no_worker_would_read_is_not_written() {
    let error = frame(&"x".repeat(40 << 20)).unwrap_err();
    assert_eq!(error.to_string(), "41943042 bytes are more than one frame may have (33554432)");
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, length in 0_u32..64) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let framed = [&length.to_le_bytes()[..], &bytes].concat();
        for bytes in [&bytes, &framed] {
            let mut from = bytes.as_slice();
let mut frame = Vec::new();
            let _ = runtime.block_on(read(&mut from, &mut frame));
            let _ = serde_json::from_slice::<WorkerMessage>(&frame);
        }
    }
}
