use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{AwsEventDecoder, AwsEventError};
use crate::format::ProviderFault;

const LIMIT: usize = 64 << 10;

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

fn frame(headers: &[(&str, &str)], content: &str) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap());
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let total = u32::try_from(16 + head.len() + content.len()).unwrap();
    let mut frame = total.to_be_bytes().to_vec();
    frame.extend_from_slice(&u32::try_from(head.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(&crc(&frame).to_be_bytes());
    frame.extend_from_slice(&head);
    frame.extend_from_slice(content.as_bytes());
    frame.extend_from_slice(&crc(&frame).to_be_bytes());
    frame
}

fn chunk(event: &str) -> Vec<u8> {
    let headers = [
        (":event-type", "chunk"),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, &format!(r#"{{"bytes":"{}","p":"abc"}}"#, STANDARD.encode(event)))
}

fn decode(bytes: &[u8], piece: usize) -> Vec<Result<String, AwsEventError>> {
    let mut decoder = AwsEventDecoder::new(LIMIT);
    let mut events = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.push(piece);
        while let Some(event) = decoder.next() {
            let failed = event.is_err();
            events.push(event);
            if failed {
                return events;
            }
        }
    }
    events
}

fn only_error(bytes: &[u8]) -> AwsEventError {
    let mut events = decode(bytes, bytes.len());
    assert_eq!(events.len(), 1, "{events:?}");
    events.remove(0).unwrap_err()
}

#[test]
fn events_are_read_however_they_are_cut() {
    let unknown = frame(&[(":event-type", "new"), (":message-type", "event")], "anything");
    let bytes = [chunk(r#"{"a":1}"#), unknown, chunk("{}"), chunk("ü")].concat();
    for piece in [1, 3, 11, 12, 13, 1_000] {
        let events: Vec<_> = decode(&bytes, piece).into_iter().map(Result::unwrap).collect();
        assert_eq!(events, [r#"{"a":1}"#, "{}", "ü"], "in pieces of {piece}");
    }
}

#[test]
fn an_incomplete_frame_is_no_event() {
    let whole = chunk("{}");
    for end in 0..whole.len() {
        assert!(decode(&whole[..end], 7).is_empty(), "{end}");
    }
    let mut decoder = AwsEventDecoder::new(LIMIT);
    decoder.push(&whole[..20]);
    assert!(decoder.next().is_none());
    assert_eq!(decoder.buffered_bytes(), 20);
}

#[test]
fn a_changed_byte_is_noticed_wherever_it_is() {
    let whole = chunk(r#"{"type":"ping"}"#);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        match decode(&bytes, bytes.len()).pop() {
            // A length that grew: the rest is waited for, or it is too large.
            None => assert!(at < 4, "{at}"),
            Some(Err(_)) => {}
            Some(Ok(event)) => panic!("byte {at}: {event}"),
        }
    }
}

#[test]
fn a_frame_that_is_too_large_is_refused_by_its_head() {
    let mut head = 0x7fff_ffff_u32.to_be_bytes().to_vec();
    head.extend_from_slice(&[0; 4]);
    head.extend_from_slice(&crc(&head).to_be_bytes());
    assert_eq!(only_error(&head), AwsEventError::TooLarge { limit: LIMIT });
    let fits = chunk(&"x".repeat(48_000));
    assert!(fits.len() < LIMIT + 1 && decode(&fits, 4_096)[0].is_ok());
    assert_eq!(only_error(&chunk(&"x".repeat(50_000))), AwsEventError::TooLarge { limit: LIMIT });
    let tiny = [0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(matches!(only_error(&tiny), AwsEventError::Invalid(_)));
}

#[test]
fn frames_that_make_no_sense_are_refused() {
    let event = [(":event-type", "chunk"), (":message-type", "event")];
    for frame in [
        frame(&event, "no JSON"),
        frame(&event, r#"{"chunk":1}"#),
        frame(&event, r#"{"bytes":"%%"}"#),
        frame(&event, r#"{"bytes":"/w=="}"#),
        frame(&[(":event-type", "chunk")], r#"{"bytes":""}"#),
        frame(&[(":message-type", "letter")], r#"{"bytes":""}"#),
    ] {
        assert!(matches!(only_error(&frame), AwsEventError::Invalid(_)));
    }
}

#[test]
fn exceptions_in_the_stream_are_errors() {
    for (code, fault) in [
        ("throttlingException", ProviderFault::TooOften),
        ("modelStreamErrorException", ProviderFault::Provider),
        ("internalServerException", ProviderFault::Provider),
        ("validationException", ProviderFault::Request),
    ] {
        let headers = [(":exception-type", code), (":message-type", "exception")];
        match only_error(&frame(&headers, r#"{"message":"Oh no."}"#)) {
            AwsEventError::Reported(report) => {
                assert_eq!((report.fault, &*report.message), (fault, "Oh no."), "{code}");
            }
            other => panic!("{code}: {other:?}"),
        }
    }
    let headers = [
        (":error-code", "InternalFailure"),
        (":error-message", "Broken"),
        (":message-type", "error"),
    ];
    match only_error(&frame(&headers, "")) {
        AwsEventError::Reported(report) => assert_eq!(report.message, "Broken"),
        other => panic!("{other:?}"),
    }
}
