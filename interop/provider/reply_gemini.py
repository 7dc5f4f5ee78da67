"""How Gemini answers: signatures on the first call of a step, or at the end of a text."""

from dataclasses import replace

from provider import gemini
from provider.issued import Sealed, Visit
from provider.reply import count, think
from provider.words import Answer, Asked, Reply


def reply(asked: Asked, answer: Answer, body: dict, visit: Visit) -> Reply:
    """`body` is the request with its names in one spelling."""
    thinking = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
    answer = think(answer, thinking.get("thinkingBudget") != 0)
    prompt = [body.get("systemInstruction"), body.get("tools"), *body["contents"]]
    place = ("gemini", visit.owner, visit.model.name)
    answer = count(answer, visit.issued.cache.count_prefix(place, prompt, visit.model.cache_minimum))
    asked = replace(asked, model=visit.model.name)
    parts = [{"text": answer.thinking, "thought": True}] if answer.thinking and thinking.get("includeThoughts") else []
    calls = call_parts(answer, visit)
    said = [] if answer.finish == "refusal" else [{"text": piece} for piece in answer.pieces()]
    text = [{"text": answer.text}] if said else []
    late = {} if calls or not answer.thinking else {"thoughtSignature": seal("", visit)}
    if text:
        text[-1] |= late
    shell = {**gemini.write(asked, answer, 0, {}), "responseId": visit.issued.id("", 24)}
    done = gemini.finish(answer)
    whole = {**shell, "candidates": [gemini.candidate([*parts, *text, *calls], done)]}
    return Reply(whole, events(shell, [*parts, *said, *calls], late, done))


def seal(text: str, visit: Visit) -> str:
    return visit.issued.seal("Ci", Sealed("", visit.owner, visit.model.name, text))


def call_parts(answer: Answer, visit: Visit) -> list[dict]:
    found = []
    for index, call in enumerate(answer.calls):
        said = {"name": call.name, "args": gemini.parsed(call.arguments)}
        if call.id != "":
            said = {"id": call.id or visit.issued.id("", 12), **said}
        part = {"functionCall": said}
        if answer.thinking and index == 0:
            part["thoughtSignature"] = seal(call.name, visit)
        found.append(part)
    return found


def events(shell: dict, parts: list[dict], late: dict, done: str) -> list[tuple[str | None, dict | str]]:
    """The signature of a text comes late, in a chunk without one; so does why it ended."""
    count = {name: shell["usageMetadata"][name] for name in ("promptTokenCount", "promptTokensDetails")}
    begun = {**count, "totalTokenCount": count["promptTokenCount"]}
    found = [{**shell, "usageMetadata": begun, "candidates": [gemini.candidate([part], None)]} for part in parts]
    found.append({**shell, "candidates": [gemini.candidate([{"text": "", **late}], done)]})
    return [(None, event) for event in found]
