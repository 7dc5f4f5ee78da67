"""The endpoints beside chat, as their vendors keep them: embeddings, token counts, audio.

Each refuses what its vendor refuses: fields that it does not know, wrong types, a model of another name in the body, a
file in the wrong form.
"""

import base64
import json
import re
import struct
from email.parser import BytesParser
from email.policy import HTTP

from provider import chat, gemini, messages
from provider.words import Refusal, invalid

MODEL = "vendors-own-name"
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt sound"
VOICES = {"alloy", "ash", "coral", "sage", "verse"}
SOUND = {"mp3": "audio/mpeg", "wav": "audio/wav", "opus": "audio/opus"}
EMBEDDING_FIELDS = {"model", "input", "encoding_format", "dimensions", "user"}
SPEECH_FIELDS = {"model", "input", "voice", "instructions", "response_format", "speed", "stream_format"}
TRANSCRIPTION_FIELDS = {
    "model", "file", "language", "prompt", "response_format", "temperature", "stream", "include[]",
    "timestamp_granularities[]", "chunking_strategy",
}  # fmt: skip
COUNT_FIELDS = {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"}
GEMINI_ADDRESS = re.compile(r"/models/(?P<model>[^/:]+):(?P<verb>countTokens|embedContent|batchEmbedContents)$")


def need(true: bool, message: str, param: str | None = None) -> None:
    if not true:
        raise Refusal(400, message, "invalid", param=param)


def known(body: dict, fields: set[str]) -> None:
    for name in body:
        need(name in fields, f"Unknown parameter: '{name}'.", name)


def own_model(name) -> None:
    if name != MODEL:
        raise Refusal(404, f"The model `{name}` does not exist or you do not have access to it.", "model")


def vector(text: str, dimensions: int) -> list[float]:
    """Of its letters, so that texts can be told apart."""
    return [((sum(text.encode()) + place * 7) % 100) / 100 for place in range(dimensions)]


def embeddings(body: dict) -> dict:
    known(body, EMBEDDING_FIELDS)
    own_model(body.get("model"))
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    need(isinstance(texts, list) and 0 < len(texts) <= 2048, "'input' must have 1 to 2048 texts", "input")
    need(all(isinstance(text, str) and text for text in texts), "'$.input' is invalid.", "input")
    dimensions = body.get("dimensions", 4)
    need(isinstance(dimensions, int) and 0 < dimensions <= 3072, "'dimensions' is invalid", "dimensions")
    form = body.get("encoding_format", "float")
    need(form in ("float", "base64"), "'encoding_format' is invalid", "encoding_format")

    def written(numbers: list[float]):
        return numbers if form == "float" else base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()

    data = [
        {"object": "embedding", "index": index, "embedding": written(vector(text, dimensions))}
        for index, text in enumerate(texts)
    ]
    tokens = sum(len(text.split()) for text in texts)
    return {"object": "list", "data": data, "model": MODEL, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def speech(body: dict) -> tuple[str, bytes]:
    known(body, SPEECH_FIELDS)
    own_model(body.get("model"))
    need(isinstance(body.get("input"), str) and 0 < len(body["input"]) <= 4096, "'input' is invalid", "input")
    need(body.get("voice") in VOICES, "'voice' is invalid", "voice")
    form = body.get("response_format", "mp3")
    need(form in SOUND, "'response_format' is invalid", "response_format")
    return SOUND[form], WAV + body["input"].encode()


def form_fields(headers: dict[str, str], raw: bytes) -> dict[str, bytes]:
    """By a parser of another make than the gateway's."""
    head = f"content-type: {headers['content-type']}\r\n\r\n".encode()
    form = BytesParser(policy=HTTP).parsebytes(head + raw)
    need(form.is_multipart(), "the body is no form")
    found: dict[str, bytes] = {}
    for part in form.iter_parts():
        name = part.get_param("name", header="content-disposition")
        need(name in TRANSCRIPTION_FIELDS, f"Unknown parameter: '{name}'.", name)
        need(name.endswith("[]") or name not in found, f"Duplicate parameter: '{name}'.", name)
        need(name != "file" or bool(part.get_filename()), "the file has no name", "file")
        found[name] = part.get_payload(decode=True)
    return found


def transcription(headers: dict[str, str], raw: bytes) -> tuple[str, bytes]:
    fields = form_fields(headers, raw)
    own_model(fields.get("model", b"").decode())
    need(fields.get("file", b"").startswith(b"RIFF"), "Invalid file format.", "file")
    text = f"{len(fields['file'])} bytes of sound"
    if fields.get("stream") == b"true":
        events = [
            {"type": "transcript.text.delta", "delta": text},
            {"type": "transcript.text.done", "text": text},
        ]
        return "text/event-stream", "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    form = fields.get("response_format", b"json").decode()
    if form in ("text", "srt", "vtt"):
        return "text/plain; charset=utf-8", text.encode()
    need(form in ("json", "verbose_json"), "'response_format' is invalid", "response_format")
    return "application/json", json.dumps({"text": text}).encode()


def count_tokens(body: dict) -> dict:
    known(body, COUNT_FIELDS)
    own_model(body.get("model"))
    need(isinstance(body.get("messages"), list) and bool(body["messages"]), "messages: Field required")
    return {"input_tokens": 1000 + len(json.dumps(body["messages"]))}


def gemini_count(body: dict) -> dict:
    known(body, {"contents", "generateContentRequest"})
    need(("contents" in body) != ("generateContentRequest" in body), "exactly one of contents and generateContentRequest")
    if request := body.get("generateContentRequest"):
        need(request.get("model") == f"models/{MODEL}", "model in the body differs from the URL's")
    return {"totalTokens": 2000 + len(json.dumps(body))}


def gemini_embedding(request: dict) -> dict:
    known(request, {"model", "content", "taskType", "title", "outputDimensionality"})
    parts = request.get("content", {}).get("parts", [])
    need(bool(parts) and all(set(part) == {"text"} for part in parts), "content is empty")
    text = "".join(part["text"] for part in parts)
    return {"values": vector(text, request.get("outputDimensionality", 4))}


def gemini_embed(verb: str, body: dict) -> dict:
    requests = body.get("requests") if verb == "batchEmbedContents" else [body]
    need(isinstance(requests, list) and 0 < len(requests) <= 100, "at most 100 requests can be in one batch")
    for request in requests:
        named = request.get("model", None if verb == "batchEmbedContents" else f"models/{MODEL}")
        need(named == f"models/{MODEL}", "model in the body differs from the URL's")
    found = [gemini_embedding(request) for request in requests]
    return {"embeddings": found} if verb == "batchEmbedContents" else {"embedding": found[0]}


def find(path: str):
    """The dialect of the path's errors, if it is an endpoint beside chat."""
    if path.endswith(("/embeddings", "/audio/speech", "/audio/transcriptions")):
        return chat
    if path.endswith("/messages/count_tokens"):
        return messages
    return gemini if GEMINI_ADDRESS.search(path) else None


def answer(path: str, headers: dict[str, str], raw: bytes) -> tuple[str, bytes]:
    """Media type and body."""
    if path.endswith("/audio/transcriptions"):
        return transcription(headers, raw)
    if headers.get("content-type") != "application/json":
        raise invalid("send JSON")
    body = json.loads(raw)
    if path.endswith("/audio/speech"):
        return speech(body)
    if path.endswith("/embeddings"):
        found = embeddings(body)
    elif path.endswith("/count_tokens"):
        need(bool(headers.get("anthropic-version")), "anthropic-version: header is required")
        found = count_tokens(body)
    else:
        address = GEMINI_ADDRESS.search(path)
        own_model(address["model"])
        counts = address["verb"] == "countTokens"
        found = gemini_count(body) if counts else gemini_embed(address["verb"], body)
    return "application/json", json.dumps(found).encode()
