"""Gemini generateContent, as its servers speak it."""

import json
import re

from provider.messages import parsed
from provider.words import Answer, Asked, Refusal, Result, need

NAME = "gemini"
SIGNATURE = "CiQBVKhc7hOJbfRvdOkvm9rJ"
ADDRESS = re.compile(r"/models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)$")
FIELDS = {
    "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig",
    "cachedContent", "labels",
}  # fmt: skip
KINDS = {
    "invalid": "INVALID_ARGUMENT",
    "key": "UNAUTHENTICATED",
    "model": "NOT_FOUND",
    "rate": "RESOURCE_EXHAUSTED",
    "overloaded": "UNAVAILABLE",
    "length": "INVALID_ARGUMENT",
    "failed": "INTERNAL",
}


def key(headers) -> str | None:
    return headers.get("x-goog-api-key")


def said_by(content: dict) -> str:
    return "".join(part.get("text", "") for part in content.get("parts", []) if not part.get("thought"))


def result_text(response: dict) -> str:
    """The text of a result, or all of it as JSON."""
    for name in ("output", "result", "error"):
        if set(response) == {name} and isinstance(response[name], str):
            return response[name]
    return json.dumps(response)


def read(body: dict, path: str) -> Asked:
    unknown = sorted(set(body) - FIELDS)
    need(not unknown, f"Invalid JSON payload received. Unknown name {unknown}: Cannot find field.")
    contents = body.get("contents")
    need(isinstance(contents, list) and bool(contents), "* GenerateContentRequest.contents: contents is not specified")
    said, results, rounds, unsigned = "", [], 0, 0
    pending: list[dict] = []
    for index, content in enumerate(contents):
        parts = content.get("parts")
        need(bool(parts), f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.")
        need(content.get("role", "user") in ("user", "model"), "Please use a valid role: user, model.")
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        need(len(answers) == len(pending), "the number of function response parts has to equal that of function calls")
        names = [call["name"] for call in pending]
        need(sorted(answer["name"] for answer in answers) == sorted(names), "function responses have other names")
        results += [Result(answer.get("id", ""), result_text(answer["response"])) for answer in answers]
        pending = calls
        rounds += bool(calls)
        unsigned += bool(calls) and not any(part.get("thoughtSignature") == SIGNATURE for part in parts)
        if content.get("role", "user") == "user" and (words := said_by(content)):
            said, results, rounds, unsigned = words, [], 0, 0
    need(not pending, "function call turn comes immediately before a function response turn")
    address = ADDRESS.search(path)
    system = said_by(body.get("systemInstruction") or {})
    stream = address["verb"] == "streamGenerateContent"
    return Asked(address["model"], stream, system, said, offered(body), tuple(results), rounds, unsigned)


def offered(body: dict) -> tuple[str, ...]:
    names = [one["name"] for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
    need(len(names) == len(set(names)), "Duplicate function declaration found")
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if config.get("mode") == "NONE":
        return ()
    return tuple(config.get("allowedFunctionNames") or names)


def finish(answer: Answer) -> str:
    return {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}[answer.finish]


def usage(answer: Answer) -> dict:
    """Thoughts are counted apart here."""
    spent = answer.usage
    return {
        "promptTokenCount": spent.input,
        "candidatesTokenCount": spent.output - spent.thought,
        "totalTokenCount": spent.input + spent.output,
        "cachedContentTokenCount": spent.cached,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": spent.input}],
        "thoughtsTokenCount": spent.thought,
    }


def call_part(answer: Answer, index: int, number: int) -> dict:
    call = answer.calls[index]
    said = {"name": call.name, "args": parsed(call.arguments)}
    if call.id != "":
        said = {"id": call.id or f"fn{number:04}{index:04}", **said}
    part = {"functionCall": said}
    # Only the first call of an answer is signed.
    return {**part, "thoughtSignature": SIGNATURE} if answer.thinking and index == 0 else part


def parts_of(answer: Answer, number: int) -> list[dict]:
    found = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
    if answer.text and answer.finish != "refusal":
        found.append({"text": answer.text})
    return found + [call_part(answer, index, number) for index in range(len(answer.calls))]


def candidate(parts: list[dict], why: str | None) -> dict:
    found = {"content": {"parts": parts, "role": "model"}} if parts else {}
    return {**found, **({"finishReason": why} if why else {}), "index": 0}


def write(asked: Asked, answer: Answer, number: int, _body: dict) -> dict:
    return {
        "candidates": [candidate(parts_of(answer, number), finish(answer))],
        "usageMetadata": usage(answer),
        "modelVersion": asked.model,
        "responseId": f"resp{number:04}",
    }


def events(asked: Asked, answer: Answer, number: int, body: dict) -> list[tuple[str | None, dict | str]]:
    done = write(asked, answer, number, body)
    parts = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
    if answer.finish != "refusal":
        parts += [{"text": piece} for piece in answer.pieces()]
    parts += [call_part(answer, index, number) for index in range(len(answer.calls))]
    count = {"promptTokenCount": answer.usage.input, "totalTokenCount": answer.usage.input}
    begun = {**done, "usageMetadata": count}
    found = [{**begun, "candidates": [candidate([part], None)]} for part in parts]
    last = candidate([{"text": ""}] if parts else [], finish(answer))
    found.append({**done, "candidates": [last]})
    return [(None, event) for event in found]


def error(refusal: Refusal) -> dict:
    said = {"code": refusal.status, "message": refusal.message, "status": KINDS[refusal.kind]}
    if refusal.retry_s is not None:
        wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{refusal.retry_s}s"}
        said["details"] = [wait]
    elif refusal.details:
        said["details"] = list(refusal.details)
    return {"error": said}


def error_event(refusal: Refusal, _number: int) -> tuple[str | None, dict]:
    return None, error(refusal)


def headers(_refusal: Refusal) -> dict[str, str]:
    """When to come back stands in the body here."""
    return {}
