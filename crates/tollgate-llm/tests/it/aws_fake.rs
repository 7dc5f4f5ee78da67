//! A fake of Amazon Bedrock that computes signatures by itself and refuses what AWS refuses.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac};
use serde_json::{Value, json as value};
use tollgate_core::digest::hex;
use tollgate_core::text::percent_encoded;
use tollgate_engine::clock::{Clock as _, SystemClock};

use crate::clouds::{check_claude, claude_answer, claude_events};
use crate::fake::{Act, Seen, json, response};

pub(crate) const REGION: &str = "eu-central-1";
pub(crate) const KEY_ID: &str = "AKIAEXAMPLE";
pub(crate) const SECRET_KEY: &str = "aws-canary/0123456789+ABCDEF";
pub(crate) const SESSION_TOKEN: &str = "session-canary-0123456789";
pub(crate) const API_KEY: &str = "bedrock-canary-0123456789";
const CHAT_ANSWER: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"gpt","choices":[{"index":0,"message":{"role":"assistant","content":"From chat"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;

/// An account with one access key, one API key and two models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    /// Whether its credentials are temporary.
    pub(crate) has_session: bool,
}

impl Account {
    pub(crate) fn answer(self, seen: &Seen) -> Vec<Act> {
        answer_with(seen, self.has_session.then_some(SESSION_TOKEN))
    }
}

/// Answers whoever signs with the access key and this session token.
pub(crate) fn answer_with(seen: &Seen, session_token: Option<&str>) -> Vec<Act> {
    match check_session(seen, session_token, SystemClock.wall()) {
        Ok(()) => answer_model(seen),
        Err((code, message)) => exception(403, code, message),
    }
}

pub(crate) fn exception(status: u16, code: &str, message: &str) -> Vec<Act> {
    exception_with(status, code, message, &[])
}

pub(crate) fn exception_with(
    status: u16,
    code: &str,
    message: &str,
    more: &[(&str, &str)],
) -> Vec<Act> {
    let mut headers = vec![("content-type", "application/json"), ("x-amzn-errortype", code)];
    headers.extend_from_slice(more);
    let body = value!({ "message": message }).to_string();
    vec![Act::Send(response(status, &headers, &body))]
}

/// `sha256` and `hmac` of ring: the gateway uses other libraries.
fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// What is signed, and for whom.
struct SignedScope<'a> {
    date: &'a str,
    region: &'a str,
    service: &'a str,
}

/// The signature of a request as AWS describes it.
fn signature(
    seen: &Seen,
    signed_headers: &str,
    secret: &str,
    scope: &SignedScope<'_>,
) -> Option<String> {
    let method = seen.head.split(' ').next()?;
    let (path, query) = seen.path().split_once('?').unwrap_or((seen.path(), ""));
    // The path is encoded a second time.
    let path: Vec<String> = path.split('/').map(percent_encoded).collect();
    let mut query: Vec<&str> = query.split('&').filter(|it| !it.is_empty()).collect();
    query.sort_unstable();
    let mut canonical = format!("{method}\n{}\n{}\n", path.join("/"), query.join("&"));
    for name in signed_headers.split(';') {
        canonical.push_str(&format!("{name}:{}\n", seen.header(name)?.trim()));
    }
    canonical.push_str(&format!("\n{signed_headers}\n{}", sha256(seen.body.as_bytes())));
    let time = seen.header("x-amz-date")?;
    let SignedScope { date, region, service } = scope;
    let text = format!(
        "AWS4-HMAC-SHA256\n{time}\n{date}/{region}/{service}/aws4_request\n{}",
        sha256(canonical.as_bytes())
    );
    let key = mac(format!("AWS4{secret}").as_bytes(), date);
    let key =
        ["aws4_request"].iter().fold(mac(&mac(&key, region), service), |key, it| mac(&key, it));
    Some(hex(&mac(&key, &text)))
}

/// `20150830T123600Z`
fn read_time(text: &str) -> Option<SystemTime> {
    let number = |at: std::ops::Range<usize>| text.get(at)?.parse::<u64>().ok();
    let [year, month, day] = [number(0..4)?, number(4..6)?, number(6..8)?];
    let seconds = number(9..11)? * 3_600 + number(11..13)? * 60 + number(13..15)?;
    // Days of the civil calendar, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    Some(UNIX_EPOCH + Duration::from_secs((days - 719_468) * 86_400 + seconds))
}

type Refusal = (&'static str, &'static str);

pub(crate) fn check_access(seen: &Seen, account: Account, now: SystemTime) -> Result<(), Refusal> {
    check_session(seen, account.has_session.then_some(SESSION_TOKEN), now)
}

fn check_session(seen: &Seen, session_token: Option<&str>, now: SystemTime) -> Result<(), Refusal> {
    let missing = ("MissingAuthenticationTokenException", "Missing Authentication Token");
    let stated = seen.header("authorization").ok_or(missing)?;
    if let Some(key) = stated.strip_prefix("Bearer ") {
        let is_known = key == API_KEY && seen.header("x-amz-date").is_none();
        let unknown = ("AccessDeniedException", "Authentication failed: API key is invalid");
        return if is_known { Ok(()) } else { Err(unknown) };
    }
    let incomplete = ("IncompleteSignatureException", "Authorization header is incomplete");
    let fields = stated.strip_prefix("AWS4-HMAC-SHA256 ").ok_or(incomplete)?;
    let field = |name: &str| {
        let mut fields = fields.split(", ");
        fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('=')).ok_or(incomplete)
    };
    let credential: Vec<&str> = field("Credential")?.split('/').collect();
    let [key_id, date, region, service, "aws4_request"] = credential[..] else {
        return Err(incomplete);
    };
    if key_id != KEY_ID {
        return Err(("UnrecognizedClientException", "The security token is invalid."));
    }
    if region != REGION || service != "bedrock" {
        return Err((
            "InvalidSignatureException",
            "Credential should be scoped to a valid region.",
        ));
    }
    let stated_time = seen.header("x-amz-date").ok_or(incomplete)?;
    let time = read_time(stated_time).ok_or(incomplete)?;
    let age = now.duration_since(time).or_else(|_| time.duration_since(now)).unwrap();
    if age > Duration::from_secs(300) || !stated_time.starts_with(date) {
        return Err(("InvalidSignatureException", "Signature expired"));
    }
    let headers = field("SignedHeaders")?;
    let has = |name: &str| headers.split(';').any(|it| it == name);
    if !has("host")
        || !has("x-amz-date")
        || seen.header("x-amz-security-token").is_some() && !has("x-amz-security-token")
    {
        return Err(("InvalidSignatureException", "'Host' must be a 'SignedHeader'"));
    }
    if seen.header("x-amz-security-token") != session_token {
        return Err(("UnrecognizedClientException", "The security token is invalid."));
    }
    let scope = SignedScope { date, region, service };
    let expected = signature(seen, headers, SECRET_KEY, &scope).ok_or(incomplete)?;
    if field("Signature")? == expected {
        Ok(())
    } else {
        Err(("InvalidSignatureException", "The request signature we calculated does not match"))
    }
}

fn answer_model(seen: &Seen) -> Vec<Act> {
    let refuse = |message: &str| exception(400, "ValidationException", message);
    if !seen.head.starts_with("POST ") || seen.header("content-type") != Some("application/json") {
        return refuse("it is not JSON");
    }
    let body = seen.json();
    if seen.path() == "/openai/v1/chat/completions" {
        return if body["model"] == "m-id" {
            json(200, CHAT_ANSWER)
        } else {
            refuse("no such model")
        };
    }
    let Some((id, method)) = seen.path().strip_prefix("/model/").and_then(|it| it.split_once('/'))
    else {
        return exception(404, "UnknownOperationException", "no such operation");
    };
    if !matches!(id, "m-id" | "anthropic.claude-opus-4-8-v1%3A0" | "arn%3Aaws%3Abedrock%3Aa%2Fb") {
        return refuse("The provided model identifier is invalid.");
    }
    if body.get("stream").is_some() {
        return refuse("stream: Extra inputs are not permitted");
    }
    match (check_claude(&body, "bedrock-2023-05-31"), method) {
        (Err(why), _) => refuse(why),
        (Ok(text), "invoke") => json(200, &claude_answer(&text)),
        (Ok(text), "invoke-with-response-stream") => send_frames(&claude_frames(&text)),
        (Ok(_), _) => exception(404, "UnknownOperationException", "no such operation"),
    }
}

pub(crate) fn claude_frames(text: &str) -> Vec<Vec<u8>> {
    claude_events(text).iter().map(chunk).collect()
}

/// A stream that ends with its connection.
pub(crate) fn send_frames(frames: &[Vec<u8>]) -> Vec<Act> {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\n\r\n".to_vec();
    let mut acts = vec![Act::Send(head)];
    acts.extend(frames.iter().cloned().map(Act::Send));
    acts.push(Act::Close);
    acts
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        let byte = crc ^ u32::from(*byte);
        (0..8).fold(byte, |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

pub(crate) fn frame(headers: &[(&str, &str)], content: &str) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap());
        head.extend_from_slice(name.as_bytes());
        // The type of a text.
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

fn chunk(event: &Value) -> Vec<u8> {
    let headers = [
        (":event-type", "chunk"),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    let content = value!({"bytes": STANDARD.encode(event.to_string()), "p": "abcdefgh"});
    frame(&headers, &content.to_string())
}

pub(crate) fn exception_frame(code: &str, message: &str) -> Vec<u8> {
    let headers = [(":exception-type", code), (":message-type", "exception")];
    frame(&headers, &value!({ "message": message }).to_string())
}

/// `get-vanilla-query-order-key-case` and `post-vanilla` of the test suite that AWS publishes.
#[test]
fn the_fake_computes_the_published_signatures() {
    let scope = SignedScope { date: "20150830", region: "us-east-1", service: "service" };
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    for (line, expected) in [
        (
            "GET /?Param2=value2&Param1=value1 HTTP/1.1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("POST / HTTP/1.1", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    ] {
        let head =
            format!("{line}\r\nHost: example.amazonaws.com\r\nX-Amz-Date: 20150830T123600Z\r\n");
        let seen = Seen { head, body: String::new(), connection: 0 };
        assert_eq!(signature(&seen, "host;x-amz-date", secret, &scope).unwrap(), expected);
    }
    let time = UNIX_EPOCH + Duration::from_secs(1_440_938_160);
    assert_eq!(read_time("20150830T123600Z"), Some(time));
}
