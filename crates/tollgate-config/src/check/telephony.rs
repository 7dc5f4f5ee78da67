//! Telephony (`telephony:`): phone lines, and the platforms whose agents call tools here.

use std::time::Duration;

use tollgate_core::agent::Agent;
use tollgate_core::secret::Secret;
use tollgate_core::template;
use tollgate_llm::settings::{LlmSettings, ProviderApi};
use tollgate_server::telephony::{
    DtmfMode, HmacAlgorithm, HmacScheme, LineAccess, RetellLine, SignatureEncoding,
    TelephonySettings, TwilioLine, VapiAuth, VapiLine,
};

use super::super::USUAL_TRANSCRIPTION;
use super::super::diagnostic::Problems;
use super::super::raw::{SectionFields, Spanned};
use super::rate::rate_limit;
use super::{milliseconds, unknown_name};

const DTMF_PAUSE: Duration = Duration::from_millis(1_500);
/// Below Vapi's own 20 s.
const VAPI_TIMEOUT: Duration = Duration::from_secs(18);
/// Below Retell's own 120 s.
const RETELL_TIMEOUT: Duration = Duration::from_secs(110);
/// Shorter secrets can be guessed.
const MIN_SECRET_CHARACTERS: usize = 16;
const MAX_NAME_LEN: usize = 64;
/// Last part of a line's webhook.
const RESERVED: &str = "voice";
/// Word that turns a default off.
const NONE: &str = "none";

pub(super) fn telephony(
    top: &SectionFields,
    agents: &[Agent],
    llm: &LlmSettings,
    problems: &mut Problems,
) -> TelephonySettings {
    let Some(section) = top.section("telephony") else { return TelephonySettings::default() };
    let mut settings = TelephonySettings::default();
    for (name, fields) in lines(section, "twilio", problems) {
        let access = access(fields, agents, problems);
        settings.twilio.extend(twilio(name, access, fields, llm, problems));
    }
    for (name, fields) in lines(section, "vapi", problems) {
        let access = access(fields, agents, problems);
        settings.vapi.extend(vapi(name, access, fields, problems));
    }
    for (name, fields) in lines(section, "retell", problems) {
        let access = access(fields, agents, problems);
        settings.retell.extend(secret(fields, "api_key", problems).map(|api_key| RetellLine {
            name: name.to_owned(),
            access,
            api_key,
            timeout: fields.whole("timeout_ms").map_or(RETELL_TIMEOUT, milliseconds),
        }));
    }
    settings
}

/// Lines whose names can be part of a path.
fn lines<'f>(
    section: &'f SectionFields,
    vendor: &str,
    problems: &mut Problems,
) -> Vec<(&'f str, &'f SectionFields)> {
    let mut lines = Vec::new();
    for (name, fields) in section.named_sections(vendor) {
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_".contains(sign);
        let text = name.value.as_str();
        if text.is_empty() || text.len() > MAX_NAME_LEN || !text.chars().all(is_sign) {
            problems
                .error(name.at, &fields.path, format!("`{text}` cannot be part of a path"))
                .help(format!("up to {MAX_NAME_LEN} letters, digits, `-` and `_`"));
        } else if text == RESERVED {
            problems
                .error(name.at, &fields.path, format!("a line cannot be named `{RESERVED}`"))
                .help("it is the last part of the webhook's path");
        } else {
            lines.push((text, fields));
        }
    }
    lines
}

fn access(fields: &SectionFields, agents: &[Agent], problems: &mut Problems) -> LineAccess {
    let agent = fields.text("agent");
    let known: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
    if let Some(agent) = agent.filter(|agent| !known.contains(&agent.value)) {
        unknown_name(agent, &fields.path("agent"), "agent", &known, problems);
    }
    let key = fields.text("key");
    if let (Some(_), Some(limit)) = (key, fields.text("rate_limit")) {
        problems
            .error(
                limit.at,
                &fields.path("rate_limit"),
                "`key` and `rate_limit` exclude each other",
            )
            .help("write the rate limit at the key");
    }
    LineAccess {
        agent: agent.map(|text| text.value.to_owned()),
        key: key.map(|text| text.value.to_owned()),
        rate_limit: rate_limit(fields, problems),
    }
}

/// A secret that authenticates requests from outside.
fn secret(fields: &SectionFields, key: &str, problems: &mut Problems) -> Option<Secret> {
    let text = fields.text(key)?;
    let value = text.value.trim();
    if value.is_empty() {
        problems
            .error(text.at, &fields.path(key), format!("`{key}` is empty"))
            .help("an empty secret would admit everyone; is the variable set?");
        return None;
    }
    if value.len() < MIN_SECRET_CHARACTERS {
        let message = format!("`{key}` is shorter than {MIN_SECRET_CHARACTERS} characters");
        problems
            .error(text.at, &fields.path(key), message)
            .help("short secrets can be guessed: use `openssl rand -hex 32`");
        return None;
    }
    Some(Secret::new(value))
}

fn twilio(
    name: &str,
    access: LineAccess,
    fields: &SectionFields,
    llm: &LlmSettings,
    problems: &mut Problems,
) -> Option<TwilioLine> {
    let auth_token = secret(fields, "auth_token", problems);
    let url = fields.text("url");
    if let Some(url) = url {
        check_stream_url(url, &fields.path("url"), problems);
    }
    let model = fields.text("model");
    if let Some(model) = model {
        check_model(model, &fields.path("model"), llm, problems);
    }
    let parameters = fields.texts("parameters");
    for parameter in parameters.iter().filter(|it| !template::is_name(it.value)) {
        let message = format!("`{}` is not a variable name", parameter.value);
        problems
            .error(parameter.at, &fields.path("parameters"), message)
            .help("use letters, digits and `_`");
    }
    let owned = |key: &str| fields.text(key).map(|text| text.value.to_owned());
    let transcription = owned("transcription").unwrap_or_else(|| USUAL_TRANSCRIPTION.to_owned());
    let dtmf = fields.text("dtmf").and_then(|text| DtmfMode::parse(text.value));
    Some(TwilioLine {
        name: name.to_owned(),
        access,
        auth_token: auth_token?,
        url: url.map(|text| text.value.to_owned()),
        model: model.map(|text| text.value.to_owned()),
        voice: owned("voice"),
        transcription: Some(transcription).filter(|model| model != NONE),
        dtmf: dtmf.unwrap_or_default(),
        dtmf_pause: fields.whole("dtmf_pause_ms").map_or(DTMF_PAUSE, milliseconds),
        parameters: parameters.iter().map(|text| text.value.to_owned()).collect(),
        requires_token: fields.flag("require_token").unwrap_or(false),
    })
}

/// Twilio opens streams over TLS only, and drops the query.
fn check_stream_url(text: Spanned<&str>, path: &str, problems: &mut Problems) {
    let rest = text.value.strip_prefix("wss://");
    let is_url = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    if !is_url || text.value.contains(['?', '#', ' ', '"']) {
        problems
            .error(text.at, path, format!("`{}` is not the URL of a stream", text.value))
            .help("begin with `wss://`, without a query: `wss://gate.example/v1/telephony/twilio`");
    }
}

fn check_model(text: Spanned<&str>, path: &str, llm: &LlmSettings, problems: &mut Problems) {
    let found = llm.models.iter().find(|model| model.name == text.value);
    match found {
        None => {
            let known: Vec<&str> = llm.models.iter().map(|model| model.name.as_str()).collect();
            unknown_name(text, path, "model", &known, problems);
        }
        Some(model) if model.api != ProviderApi::Realtime => {
            problems
                .error(text.at, path, format!("`{}` is not a realtime model", text.value))
                .help("name a model with `api: realtime`");
        }
        Some(_) => {}
    }
}

fn vapi(
    name: &str,
    access: LineAccess,
    fields: &SectionFields,
    problems: &mut Problems,
) -> Option<VapiLine> {
    let auth = match (fields.has("secret"), fields.section("hmac")) {
        (true, None) => secret(fields, "secret", problems).map(VapiAuth::Token),
        (false, Some(hmac)) => hmac_scheme(hmac, problems).map(VapiAuth::Hmac),
        (true, Some(hmac)) => {
            problems
                .error(hmac.at, &hmac.path, "`secret` and `hmac` exclude each other")
                .help("remove one of them");
            None
        }
        (false, None) => {
            problems
                .error(fields.at, &fields.path("secret"), "`secret` is missing")
                .help(format!("`{}` requires it, or `hmac`", fields.path));
            None
        }
    };
    Some(VapiLine {
        name: name.to_owned(),
        access,
        auth: auth?,
        timeout: fields.whole("timeout_ms").map_or(VAPI_TIMEOUT, milliseconds),
        assistant: fields.text("assistant").map(|text| text.value.to_owned()),
    })
}

fn hmac_scheme(fields: &SectionFields, problems: &mut Problems) -> Option<HmacScheme> {
    let mut header = |key: &str, usual: &str| {
        let Some(text) = fields.text(key) else { return Some(usual.to_owned()) };
        let name = http::HeaderName::try_from(text.value).ok();
        if name.is_none() {
            let message = format!("`{}` is not a header name", text.value);
            problems.error(text.at, &fields.path(key), message).help("like `x-signature`");
        }
        name.map(|name| name.to_string())
    };
    let signature_header = header("signature_header", "x-signature");
    let timestamp_header = header("timestamp_header", "x-timestamp");
    let text = |key: &str| fields.text(key).map(|text| text.value);
    Some(HmacScheme {
        secret: secret(fields, "secret", problems)?,
        algorithm: text("algorithm").and_then(HmacAlgorithm::parse).unwrap_or_default(),
        signature_header: signature_header?,
        timestamp_header: Some(timestamp_header?).filter(|name| name != NONE),
        prefix: text("prefix").unwrap_or_default().to_owned(),
        encoding: text("encoding").and_then(SignatureEncoding::parse).unwrap_or_default(),
    })
}
