//! How much of an answer is read, and for how long. B-FE 5.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::super::egress::BodyEnd;
use super::*;
use crate::clock::{Clock as _, SystemClock};

const SMALL: PageRequest = PageRequest { most_bytes: 64 << 10, ..ANYTHING };

fn pack(content: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(content).unwrap();
    packer.finish().unwrap()
}

fn gzip(body: impl AsRef<[u8]>) -> Script {
    response("200 OK\ncontent-type: text/html\ncontent-encoding: gzip", body)
}

#[tokio::test]
async fn b_fe_5_an_endless_body_ends_at_the_limit() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n".to_vec();
    let site = Site::start(move |_| Script::Endless(head.clone(), vec![b'x'; 9_000])).await;
    let page = got(&site, "/", &SMALL).await.unwrap();
    assert_eq!((page.bytes.len(), page.ended), (64 << 10, BodyEnd::Cut));
    let head = "200 OK\ncontent-type: text/html\ntransfer-encoding: chunked";
    let Script::Says(head) = response(head, "") else { panic!() };
    let chunk = [b"1000\r\n".to_vec(), vec![b'x'; 0x1000], b"\r\n".to_vec()].concat();
    let site = Site::start(move |_| Script::Endless(head.clone(), chunk.clone())).await;
    let page = got(&site, "/", &SMALL).await.unwrap();
    assert_eq!((page.bytes.len(), page.ended), (64 << 10, BodyEnd::Cut));
}

#[tokio::test]
async fn b_fe_5_a_gzip_bomb_ends_at_the_limit() {
    let bomb = pack(&vec![0; 16 << 20]);
    assert!(bomb.len() < 20_000);
    let site = Site::start(move |_| gzip(&bomb)).await;
    let page = got(&site, "/", &SMALL).await.unwrap();
    assert_eq!((page.bytes.len(), page.ended), (64 << 10, BodyEnd::Cut));
}

#[tokio::test]
async fn packed_pages_are_unpacked_and_broken_ones_refused() {
    let whole = pack(b"hello");
    let check = async |body: Vec<u8>, expected: Result<&str, FetchError>| {
        let site = Site::start(move |_| gzip(&body)).await;
        let got = got(&site, "/", &SMALL).await;
        let expected = expected.map(str::to_owned);
        assert_eq!(got.map(|page| String::from_utf8(page.bytes).unwrap()), expected);
    };
    check(whole.clone(), Ok("hello")).await;
    check([whole.clone(), b"trailing".to_vec()].concat(), Ok("hello")).await;
    check(whole[..whole.len() - 4].to_vec(), Err(FetchError::Garbled)).await;
    check(b"not packed at all".to_vec(), Err(FetchError::Garbled)).await;
    let nested = ["br", "zstd", "gzip, gzip", "gzip\ncontent-encoding: gzip"];
    for (encoding, named) in nested.iter().zip(["br", "zstd", "gzip, gzip", "several"]) {
        let head = format!("200 OK\ncontent-type: text/html\ncontent-encoding: {encoding}");
        let site = Site::start(move |_| response(&head, "x")).await;
        let refused = got(&site, "/", &SMALL).await.unwrap_err();
        assert_eq!(refused, FetchError::Encoding(named.to_owned()));
    }
}

#[tokio::test]
async fn b_fe_5_a_byte_a_second_and_silence_end_with_the_askers_time() {
    let slow = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\nslowly".to_vec();
    for script in [Script::Drips(slow), Script::Silent] {
        let site = Site::start(move |_| script.clone()).await;
        let until = Some(SystemClock.now() + Duration::from_millis(200));
        let refused = got(&site, "/", &PageRequest { until, ..SMALL }).await.unwrap_err();
        assert_eq!(refused, FetchError::TooSlow);
    }
}

#[tokio::test]
async fn answers_that_are_no_pages_are_refused() {
    let check = async |head: &str, expected: &str| {
        let head = head.to_owned();
        let site = Site::start(move |_| response(&head, "x")).await;
        let wish = PageRequest { takes: |kind| kind == "text/html", ..SMALL };
        assert_eq!(got(&site, "/", &wish).await.unwrap_err().to_string(), expected);
    };
    check("404 Not Found", "the server answered with status 404").await;
    check("204 No Content", "the server answered with status 204").await;
    check("302 Found", "the server answered with status 302").await;
    let kind = "the response is `application/zip`, not text";
    check("200 OK\ncontent-type: application/zip; x=y", kind).await;
    let many = format!("200 OK{}", "\nx: y".repeat(200));
    check(&many, "`site.example` sent an invalid response: message head is too large").await;
    let large = format!("200 OK\nx: {}", "y".repeat(200_000));
    check(&large, "`site.example` sent an invalid response: message head is too large").await;
    check("nonsense", "`site.example` sent an invalid response: invalid HTTP status-code parsed")
        .await;
}

#[tokio::test]
async fn the_charset_of_the_header_is_told() {
    for (header, expected) in [
        ("text/html; charset=utf-8", Some("utf-8")),
        ("Text/HTML;CHARSET=\"ISO-8859-1\"", Some("iso-8859-1")),
        ("text/html; boundary=x; charset = 'koi8-r'", Some("koi8-r")),
        ("text/html; charset=", None),
        ("text/html", None),
    ] {
        let head = format!("200 OK\ncontent-type: {header}");
        let site = Site::start(move |_| response(&head, "x")).await;
        let page = got(&site, "/", &SMALL).await.unwrap();
        let read = (page.media_type.as_str(), page.charset.as_deref());
        assert_eq!(read, ("text/html", expected), "{header}");
    }
}

/// A place that is full says so at once.
#[tokio::test]
async fn only_so_many_requests_are_under_way() {
    let site = Site::start(|_| Script::Silent).await;
    let egress = egress(&here(), &site);
    let url = format!("http://site.example:{}/", site.port());
    let until = Some(SystemClock.now() + Duration::from_secs(1));
    let wish = PageRequest { until, ..SMALL };
    let all = (0..80).map(|_| egress.get(&url, &wish));
    let all = futures_util::future::join_all(all).await;
    let busy = all.iter().filter(|it| **it == Err(FetchError::Busy)).count();
    assert_eq!(busy, 16);
}
