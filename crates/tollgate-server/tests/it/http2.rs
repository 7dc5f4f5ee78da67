//! B-HH 18: HTTP/2 is not supported, neither with prior knowledge nor over TLS. The client is told
//! so in HTTP/1.1 at once, and its frames cost no time, memory or other requests.

use std::cell::Cell;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_server::Limits;

use crate::framing::{statuses, still_works};
use crate::stage::Stage;
use crate::tls;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame as it is on the wire.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
const CANCEL: [u8; 4] = [0, 0, 0, 8];
/// `:method: GET`, `:scheme: http`, `:path: /`, from the static table.
const GET: [u8; 3] = [0x82, 0x86, 0x84];

/// The floods, each as far as a client sends it before it reads.
fn floods() -> Vec<(&'static str, Vec<u8>)> {
    let settings = frame(SETTINGS, 0, 0, &[]);
    let streams = (0..10_000u32).map(|number| 2 * number + 1);
    let rapid_reset = streams.flat_map(|stream| {
        let mut bytes = frame(HEADERS, END_HEADERS, stream, &GET);
        bytes.extend(frame(RST_STREAM, 0, stream, &CANCEL));
        bytes
    });
    let mut continuation = frame(HEADERS, 0, 1, &GET);
    continuation.extend(frame(CONTINUATION, 0, 1, &[0x40; 64]).repeat(10_000));
    let mut empty_data = frame(HEADERS, END_HEADERS, 1, &GET);
    empty_data.extend(frame(DATA, 0, 1, &[]).repeat(100_000));
    let mut stalled = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    stalled.extend(frame(HEADERS, END_HEADERS | 1, 1, &GET));
    let mut hpack = frame(HEADERS, 0, 1, &[]);
    // One name of 16 KiB, and then its place in the table again and again.
    let mut long = vec![0x40, 0x7f, 0x81, 0x7f];
    long.resize(16 << 10, b'a');
    hpack.extend(frame(CONTINUATION, 0, 1, &long));
    hpack.extend(frame(CONTINUATION, END_HEADERS, 1, &vec![0xbe; 16 << 10]));
    vec![
        ("preface alone", Vec::new()),
        ("rapid reset", rapid_reset.collect()),
        ("CONTINUATION flood", continuation),
        ("empty DATA flood", empty_data),
        ("SETTINGS flood", settings.repeat(100_000)),
        ("PING flood", frame(PING, 0, 0, b"12345678").repeat(100_000)),
        ("window of nothing", stalled),
        ("WINDOW_UPDATE flood", frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]).repeat(100_000)),
        ("HPACK bomb", hpack),
    ]
}

/// Sends a flood and reads all that comes back until the connection ends.
async fn flood(mut stream: impl AsyncRead + AsyncWrite + Unpin, name: &str, frames: &[u8]) {
    let sent = async {
        stream.write_all(PREFACE).await?;
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
        stream.write_all(frames).await?;
        stream.flush().await
    };
    // It may be closed before all is sent.
    let _ = tokio::time::timeout(Duration::from_secs(30), sent).await.expect("let go");
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer));
    assert!(ended.await.is_ok(), "{name}: the connection is still open");
    let answer = String::from_utf8_lossy(&answer);
    // Where much was left unread, the answer may be lost with the connection.
    let statuses = statuses(&answer);
    assert!(statuses.is_empty() || statuses == [505], "{name}: {answer}");
}

/// Resident memory of this process, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn b_hh_18_floods_of_http_2_are_closed_at_once() {
    let stage = Stage::start().await;
    for (name, frames) in floods() {
        let before = resident();
        flood(TcpStream::connect(stage.address).await.unwrap(), name, &frames).await;
        still_works(&stage).await;
        let more = resident().saturating_sub(before);
        assert!(more < 16 << 10, "{name}: {more} KiB more");
    }
}

#[tokio::test]
async fn b_hh_18_floods_of_http_2_over_tls_are_closed_at_once() {
    let (stage, trusted) = tls::start_secured(Limits::default()).await;
    for (name, frames) in floods() {
        let stream = tls::connect(&stage, &trusted).await.unwrap();
        flood(stream, name, &frames).await;
    }
    // Whoever would speak nothing else gets no connection at all.
    let error = tls::connect_with(&stage, &trusted, &[b"h2"]).await.unwrap_err();
    assert!(error.to_string().contains("alert"), "{error}");
    let offers: [&[&[u8]]; 3] = [&[b"h2", b"http/1.1"], &[b"http/1.1"], &[]];
    for offered in offers {
        let mut stream = tls::connect_with(&stage, &trusted, offered).await.unwrap();
        let agreed = stream.get_ref().1.alpn_protocol();
        assert!(agreed.is_none_or(|agreed| agreed == b"http/1.1"), "{agreed:?}");
        assert_eq!(tls::ask(&mut stream, "Host: localhost\r\n").await, 200);
    }
}

/// All floods again and again from four connections at a time, beside somebody who makes calls.
#[tokio::test]
async fn b_hh_18_a_well_behaved_client_beside_the_floods_notices_nothing() {
    let stage = Stage::start().await;
    let floods = floods();
    let sent = Cell::new(0);
    let mut times = Vec::new();
    let attack = async {
        for (name, frames) in floods.iter().cycle() {
            let one = async || {
                flood(TcpStream::connect(stage.address).await.unwrap(), name, frames).await;
                sent.set(sent.get() + 1);
            };
            tokio::join!(one(), one(), one(), one());
        }
    };
    let honest = async {
        while times.len() < 300 || sent.get() < 4 * floods.len() {
            let began = SystemClock.now();
            let call = stage.modern("tools/call", echo());
            assert_eq!(call.brief().await, "200 ok");
            times.push(began.elapsed());
        }
    };
    tokio::select! {
        () = attack => {}
        () = honest => {}
    }
    times.sort_unstable();
    let p99 = times[times.len() * 99 / 100];
    assert!(p99 < Duration::from_millis(500), "p99 of {} calls: {p99:?}", times.len());
}

fn echo() -> serde_json::Value {
    serde_json::json!({"name": "echo", "arguments": {"text": "x"}})
}

#[tokio::test]
async fn b_hh_18_a_client_of_http_2_hears_that_it_is_not_spoken() {
    let stage = Stage::start().await;
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(PREFACE).await.unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    tokio::time::timeout(Duration::from_secs(5), read).await.expect("closed").unwrap();
    assert_eq!(statuses(&answer), [505], "{answer}");
    assert!(answer.contains("HTTP/1.1"), "{answer}");
}
