"""What OpenAI Realtime refuses, and with which codes (see live_openai.py)."""

import json
import re

NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
LONGEST_ID = 32
LARGEST_AUDIO = 15 << 20
MS_PER_BYTE = 100
PCMU = "audio/pcmu"
SILENCE = b"\xff"
"""Of µ-law, which has eight bytes in a millisecond."""
SESSION_KEYS = {
    "type", "instructions", "tools", "tool_choice", "output_modalities", "audio", "include", "max_output_tokens",
    "parallel_tool_calls", "prompt", "reasoning", "tracing", "truncation", "model",
}  # fmt: skip
ACCEPTED = (
    "session.update", "input_audio_buffer.append", "input_audio_buffer.commit", "input_audio_buffer.clear",
    "conversation.item.create", "conversation.item.retrieve", "conversation.item.truncate", "conversation.item.delete",
    "response.create", "response.cancel",
)  # fmt: skip
# What is wrong with a connection -> the code that it is closed with. The upgrade itself is always accepted.
CLOSES = {"invalid_api_key": 3000, None: 3000, "invalid_model": 4000, "missing_model": 4000, "beta_api_shape_disabled": 4000}


class Refused(Exception):
    """An event that gets an error: code, message and maybe the name of a parameter."""


def problem_of_connection(headers, query: dict, expected: str | None) -> tuple[str | None, str] | None:
    """`expected`: the only key that is let in, if there is one."""
    key = headers.get("authorization", "").removeprefix("Bearer ")
    [model] = query.get("model", [""])
    if not key:
        return None, "Missing bearer or basic authentication in header"
    if expected not in (None, key):
        return "invalid_api_key", "Incorrect API key provided."
    if "openai-beta" in headers:
        return "beta_api_shape_disabled", "The Realtime Beta API is no longer supported."
    if "call_id" not in query and not model:
        return "missing_model", "You must provide a model parameter."
    if model and not model.startswith("gpt-realtime"):
        return "invalid_model", f"Model {model!r} is not supported in realtime mode."
    return None


def check_update(given: dict, session) -> None:
    for key in given.keys() - SESSION_KEYS:
        raise Refused("unknown_parameter", f"Unknown parameter: 'session.{key}'.", f"session.{key}")
    audio = given.get("audio") or {}
    for side in ("input", "output"):
        rate = ((audio.get(side) or {}).get("format") or {}).get("rate")
        if rate is not None and rate < 24_000:
            raise Refused("integer_below_min_value", f"Invalid 'session.audio.{side}.format.rate': below 24000.")
    detection = (audio.get("input") or {}).get("turn_detection") or {}
    for name in ("create_response", "interrupt_response"):
        if detection.get(name, False) is None:
            where = f"session.audio.input.turn_detection.{name}"
            raise Refused("invalid_type", f"Invalid type for '{where}': expected a boolean, but got null instead.", where)
    voice = (audio.get("output") or {}).get("voice")
    if voice not in (None, session.config["audio"]["output"]["voice"]) and session.sounded:
        raise Refused("cannot_update_voice", "Cannot update a conversation's voice if assistant audio is present.")


def check_tools(tools: list[dict]) -> None:
    for tool in tools:
        if not NAME.match(tool["name"]) or tool["type"] != "function":
            raise Refused("invalid_value", f"Invalid tool {tool['name']!r}.")


def check_item(item: dict, items: list[dict]) -> None:
    for name in ("id", "call_id"):
        if len(item.get(name, "")) > LONGEST_ID:
            raise Refused("string_above_max_length", f"Invalid 'item.{name}': string too long.", f"item.{name}")
    if any(known["id"] == item["id"] for known in items):
        raise Refused("item_create_item_already_exists", f"Item with item_id already exists: {item['id']}")


def check_truncation(event: dict, item: dict, sounded: dict[str, int]) -> None:
    if item["type"] != "message" or item["role"] != "assistant" or item["id"] not in sounded:
        raise Refused("unsupported_content_type", "Only model output audio messages can be truncated")
    if event["audio_end_ms"] > sounded[item["id"]]:
        message = f"Audio content of {sounded[item['id']]}ms is already shorter than {event['audio_end_ms']}ms"
        raise Refused("invalid_value", message, "audio_end_ms")


def spoken(word: str, format: dict) -> bytes:
    """Audio that spells the word, as long as it takes to say it."""
    if format["type"] != PCMU:
        return word.encode()
    return b"".join(bytes([byte]).ljust(8 * MS_PER_BYTE, SILENCE) for byte in word.encode())


def unspoken(audio: bytes) -> bytes:
    """What µ-law audio spells."""
    return audio.replace(SILENCE, b"")


def read(text: str | bytes) -> dict:
    if isinstance(text, bytes):
        raise Refused("invalid_event", "Events are text.")
    try:
        event = json.loads(text)
    except ValueError:
        raise Refused("invalid_json", "We could not parse the JSON body of your event.") from None
    if not isinstance(event, dict):
        raise Refused("invalid_event", "An event is a JSON object.")
    return event


def usage(session, response) -> dict:
    """Each response bills the whole conversation again."""
    text = sum(len(json.dumps(item)) for item in session.items) // 4
    spoken = sum(session.sounded.get(item["id"], 0) for item in response.output) // 50
    return {
        "total_tokens": text + spoken, "input_tokens": text, "output_tokens": spoken,
        "input_token_details": {
            "text_tokens": text, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 0,
            "cached_tokens_details": {"text_tokens": 0, "audio_tokens": 0, "image_tokens": 0},
        },
        "output_token_details": {"text_tokens": 0, "audio_tokens": spoken},
    }  # fmt: skip


def without_nulls(value):
    """The API takes `null` for what is switched off; the client's types do not say so."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value
