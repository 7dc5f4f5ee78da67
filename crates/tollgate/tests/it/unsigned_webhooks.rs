//! Webhooks of strangers: what has no key and no signature takes neither the requests nor the memory
//! of those who have one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::running::Served;

const ADA: (&str, &str) = ("x-api-key", "ada-0123456789abcdefghij");
const CONFIG: &str = "
trusted_proxies: [127.0.0.1]
keys:
  - { name: ada, key: 'ada-0123456789abcdefghij', rights: [execute] }
telephony:
  vapi: { front: { secret: 'vapi-0123456789abcdefghij' } }
  retell: { front: { api_key: 'retell-0123456789abcdefghij' } }
";
const ROLL: &str = r#"{"name":"roll","arguments":{"expression":"2d6"}}"#;

/// Begins so many webhooks of one address, and sends a part of each.
fn begin_webhooks(gateway: &Served, count: usize, part: usize) -> Vec<TcpStream> {
    let head = "POST /v1/telephony/retell HTTP/1.1\r\nhost: localhost\r\n\
                content-type: application/json\r\nx-forwarded-for: 198.51.100.7\r\n\
                x-retell-signature: v=1,d=00\r\ncontent-length: 2000000\r\n\r\n";
    let begin = |_| {
        let mut stream = TcpStream::connect(&gateway.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(" ".repeat(part).as_bytes()).unwrap();
        stream
    };
    let begun = (0..count).map(begin).collect();
    thread::sleep(Duration::from_secs(1));
    begun
}

/// A tool call of a platform that proves itself, from another address.
fn call_by_vapi(gateway: &Served) -> (u16, String) {
    let call = r#"[{"id":"t1","name":"roll","arguments":{"expression":"2d6"}}]"#;
    let body = format!(
        r#"{{"message":{{"type":"tool-calls","call":{{"id":"c1"}},"toolCallList":{call}}}}}"#
    );
    let headers =
        [("x-vapi-secret", "vapi-0123456789abcdefghij"), ("x-forwarded-for", "203.0.113.9")];
    let answer = gateway.line_without_token().send("POST /v1/telephony/vapi", &headers, &body);
    (answer.status, answer.body)
}

#[test]
fn s_37_webhooks_of_strangers_that_trickle_use_up_no_requests() {
    let gateway = Served::start(&format!("limits: {{ in_flight: 40 }}\n{CONFIG}"));
    let trickling = begin_webhooks(&gateway, 80, 1);
    let own = gateway.line_without_token().send("POST /v1/tools/execute", &[ADA], ROLL);
    assert_eq!(own.status, 200, "{own:?}");
    let (status, body) = call_by_vapi(&gateway);
    assert!(status == 200 && body.contains("\"result\""), "{status} {body}");
    drop(trickling);
}

#[test]
fn s_37_webhooks_of_strangers_that_trickle_use_up_no_memory() {
    let gateway = Served::start(&format!("limits: {{ memory_mb: 512 }}\n{CONFIG}"));
    let trickling = begin_webhooks(&gateway, 100, 70_000);
    let large = format!("{ROLL}{}", " ".repeat(1_500_000));
    let own = gateway.line_without_token().send("POST /v1/tools/execute", &[ADA], &large);
    assert_eq!(own.status, 200, "{own:?}");
    drop(trickling);
}
