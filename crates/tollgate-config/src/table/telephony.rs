//! Config keys of telephony.

use super::{KeyKind, KeySpec, PLAIN, PLAINS, SECRET, SectionSpec, key, required_key, whole};

pub(super) const TELEPHONY: SectionSpec = SectionSpec {
    title: "telephony",
    keys: &[
        key(
            "twilio",
            KeyKind::Named(&TWILIO),
            "none",
            "Phone lines, whose calls come as Twilio Media Streams to \
             `/v1/telephony/twilio/NAME`. Their webhook is `/v1/telephony/twilio/NAME/voice`",
        ),
        key(
            "vapi",
            KeyKind::Named(&VAPI),
            "none",
            "Server URLs of Vapi: `/v1/telephony/vapi/NAME`",
        ),
        key(
            "retell",
            KeyKind::Named(&RETELL),
            "none",
            "Custom functions of Retell: `/v1/telephony/retell/NAME`",
        ),
    ],
    elsewhere: &[],
};

const AGENT: KeySpec = key("agent", PLAIN, "the default agent", "The agent, and so the tools");
const LINE_KEY: KeySpec = key(
    "key",
    PLAIN,
    "none: the line is a principal of its own, which may call the tools of its agent",
    "Name of a key whose rights and limits apply. Revoking it ends the calls",
);
const RATE_LIMIT: KeySpec =
    key("rate_limit", PLAIN, "none", "Rate limit of tool calls, without `key`: `60/min`");

const TWILIO: SectionSpec = SectionSpec {
    title: "telephony.twilio.NAME",
    keys: &[
        required_key("auth_token", SECRET, "Auth token of the account, with which Twilio signs"),
        key(
            "url",
            PLAIN,
            "`wss://`, the `host` header and the path of the request",
            "Public URL of the stream. Needed behind a proxy that changes host or path: \
             `wss://gate.example/v1/telephony/twilio/NAME`",
        ),
        AGENT,
        LINE_KEY,
        RATE_LIMIT,
        key("model", PLAIN, "the agent's own", "Realtime model of the calls"),
        key("voice", PLAIN, "the provider's", "Voice of the model"),
        key(
            "transcription",
            PLAIN,
            super::super::USUAL_TRANSCRIPTION,
            "Model that transcribes the caller, so that the tier follows the words; `none` turns it \
             off",
        ),
        key(
            "dtmf",
            KeyKind::Choice(&["collect", "each", "ignore"]),
            "collect",
            "Keys that the caller presses, as text for the model. `collect`: together, at `#` or \
             after a pause",
        ),
        key("dtmf_pause_ms", whole(100, 60_000, "milliseconds"), "1500", "That pause"),
        key(
            "parameters",
            PLAINS,
            "[]",
            "Custom parameters of the stream (`<Parameter>`) that become variables of the prompt",
        ),
        key(
            "require_token",
            KeyKind::Flag,
            "false",
            "Accept only streams of TwiML that the gateway itself made for a signed call. The \
             signature of a stream alone does not name its call",
        ),
    ],
    elsewhere: &[
        ("token", "write `auth_token:`"),
        ("account_sid", "the gateway does not call Twilio; only `auth_token` is needed"),
    ],
};

const VAPI: SectionSpec = SectionSpec {
    title: "telephony.vapi.NAME",
    keys: &[
        key(
            "secret",
            SECRET,
            "none: `hmac`",
            "Bearer token of the credential, or the older `X-Vapi-Secret`",
        ),
        key("hmac", KeyKind::Section(&HMAC), "none: `secret`", "HMAC credential"),
        AGENT,
        LINE_KEY,
        RATE_LIMIT,
        key(
            "timeout_ms",
            whole(100, 300_000, "milliseconds"),
            "18000",
            "Time until the answer. Must be shorter than `timeoutSeconds` of the tool (20)",
        ),
        key("assistant", PLAIN, "none", "Id of the assistant that takes the calls of a number"),
    ],
    elsewhere: &[("assistant_id", "write `assistant:`"), ("token", "write `secret:`")],
};

const HMAC: SectionSpec = SectionSpec {
    title: "telephony.vapi.NAME.hmac",
    keys: &[
        required_key("secret", SECRET, "Secret key of the credential"),
        key("algorithm", KeyKind::Choice(&["sha1", "sha256", "sha512"]), "sha256", "Algorithm"),
        key("signature_header", PLAIN, "x-signature", "Header of the signature"),
        key(
            "timestamp_header",
            PLAIN,
            "x-timestamp",
            "Header of the time, which is signed before the body: `TIME.BODY`, five minutes valid. \
             `none`: only the body is signed",
        ),
        key("prefix", PLAIN, "none", "In front of the signature, such as `sha256=`"),
        key("encoding", KeyKind::Choice(&["hex", "base64"]), "hex", "Encoding of the signature"),
    ],
    elsewhere: &[],
};

const RETELL: SectionSpec = SectionSpec {
    title: "telephony.retell.NAME",
    keys: &[
        required_key("api_key", SECRET, "The API key with the webhook badge, which signs"),
        AGENT,
        LINE_KEY,
        RATE_LIMIT,
        key(
            "timeout_ms",
            whole(100, 600_000, "milliseconds"),
            "110000",
            "Time until the answer. Must be shorter than the timeout of the function (120 s)",
        ),
    ],
    elsewhere: &[("secret", "write `api_key:`")],
};
