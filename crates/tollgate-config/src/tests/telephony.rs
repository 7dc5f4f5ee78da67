//! Phone lines, and platforms that call tools.

use std::time::Duration;

use tollgate_server::telephony::{DtmfMode, HmacAlgorithm, SignatureEncoding, VapiAuth};

use super::{good, mistakes, refusal_of};

#[test]
fn a_line_needs_only_what_proves_its_requests() {
    let config = good(
        "
telephony:
  twilio: { desk: { auth_token: 0123456789abcdef0123456789abcdef } }
  vapi: { front: { secret: a-secret-of-vapi-012345 } }
  retell: { front: { api_key: key_0123456789abcdef } }
",
    );
    let [line] = &config.telephony.twilio[..] else { panic!("{:?}", config.telephony) };
    assert_eq!((line.name.as_str(), line.auth_token.reveal().len()), ("desk", 32));
    assert_eq!((line.dtmf, line.dtmf_pause), (DtmfMode::Collect, Duration::from_millis(1500)));
    assert_eq!(line.transcription.as_deref(), Some("gpt-4o-mini-transcribe"));
    assert!(!line.requires_token && line.url.is_none() && line.access.key.is_none());
    assert_eq!(config.telephony.vapi[0].timeout, Duration::from_secs(18));
    assert_eq!(config.telephony.retell[0].timeout, Duration::from_secs(110));
    assert!(good("environment: a").telephony.twilio.is_empty());
}

#[test]
fn every_key_is_read() {
    let config = good(
        "
providers: { openai: { kind: openai } }
models: { voice: { provider: openai, id: gpt-realtime-2.1, api: realtime } }
agents: { barkeep: {} }
keys: [{ name: phone, key: key-of-the-phone-0123456789 }]
telephony:
  twilio:
    desk:
      auth_token: 0123456789abcdef0123456789abcdef
      url: wss://gate.example/v1/telephony/twilio/desk
      agent: barkeep
      key: phone
      model: voice
      voice: marin
      transcription: none
      dtmf: each
      dtmf_pause_ms: 500
      parameters: [table]
      require_token: true
  vapi:
    front:
      hmac:
        secret: a-secret-of-vapi-012345
        algorithm: sha512
        signature_header: X-Vapi-Signature
        timestamp_header: none
        prefix: v1=
        encoding: base64
      rate_limit: 60/min
      timeout_ms: 5000
      assistant: 5f0c
",
    );
    let line = &config.telephony.twilio[0];
    assert_eq!(line.access.agent.as_deref(), Some("barkeep"));
    assert_eq!(line.access.key.as_deref(), Some("phone"));
    assert_eq!(line.url.as_deref(), Some("wss://gate.example/v1/telephony/twilio/desk"));
    assert_eq!((line.model.as_deref(), line.voice.as_deref()), (Some("voice"), Some("marin")));
    assert_eq!((line.transcription.as_deref(), line.dtmf), (None, DtmfMode::Each));
    assert_eq!((&line.parameters[..], line.requires_token), (&["table".to_owned()][..], true));
    let line = &config.telephony.vapi[0];
    let VapiAuth::Hmac(scheme) = &line.auth else { panic!("{line:?}") };
    assert_eq!(scheme.algorithm, HmacAlgorithm::Sha512);
    assert_eq!(scheme.encoding, SignatureEncoding::Base64);
    assert_eq!(scheme.signature_header, "x-vapi-signature");
    assert_eq!((scheme.timestamp_header.as_deref(), &*scheme.prefix), (None, "v1="));
    assert_eq!(line.assistant.as_deref(), Some("5f0c"));
    assert_eq!(line.access.rate_limit.map(|limit| limit.calls), Some(60));
}

#[test]
fn lines_that_would_let_anybody_in_are_refused() {
    refusal_of("telephony: { twilio: { desk: { auth_token: '' } } }", "1:44 `auth_token` is empty");
    refusal_of("telephony: { twilio: { desk: {} } }", "1:24 `auth_token` is missing");
    refusal_of(
        "telephony: { vapi: { front: { secret: short } } }",
        "1:39 `secret` is shorter than 16 characters",
    );
    refusal_of("telephony: { vapi: { front: {} } }", "1:22 `secret` is missing");
}

#[test]
fn lines_that_cannot_work_are_refused() {
    let line = |more: &str| {
        format!("telephony: {{ twilio: {{ desk: {{ auth_token: 0123456789abcdef, {more} }} }} }}")
    };
    for (more, message) in [
        ("url: 'https://gate.example/'", "`https://gate.example/` is not the URL of a stream"),
        ("url: 'wss://gate.example/?a=b'", "`wss://gate.example/?a=b` is not the URL of a stream"),
        ("agent: nobody", "there is no agent `nobody`"),
        ("model: nothing", "there is no model `nothing`"),
        ("parameters: [a b]", "`a b` is not a variable name"),
        ("key: a, rate_limit: 1/s", "`key` and `rate_limit` exclude each other"),
    ] {
        let found = mistakes(&line(more));
        assert!(found.len() == 1 && found[0].ends_with(message), "{more}: {found:?}");
    }
    refusal_of(
        "telephony: { twilio: { voice: { auth_token: 0123456789abcdef } } }",
        "1:24 a line cannot be named `voice`",
    );
    refusal_of(
        "telephony: { twilio: { 'a/b': { auth_token: 0123456789abcdef } } }",
        "1:24 `a/b` cannot be part of a path",
    );
}
