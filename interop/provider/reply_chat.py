"""How a model of OpenAI answers in Chat Completions."""

from dataclasses import replace

from provider import chat
from provider.issued import StoredResponse, Visit
from provider.reply import count, padding, think
from provider.words import Answer, Asked, Reply


def reply(asked: Asked, answer: Answer, body: dict, visit: Visit) -> Reply:
    answer = think(answer, visit.model.thinks(body.get("reasoning_effort")))
    prompt = visit.issued.cache.count_prefix(
        ("openai", visit.owner, visit.model.name),
        [body.get("tools"), *body["messages"]],
        1024,
        128,
    )
    answer = count(answer, prompt)
    calls = tuple(replace(call, id=call.id or visit.issued.id("call_", 24)) for call in answer.calls)
    answer = replace(answer, calls=calls)
    asked = replace(asked, model=visit.model.name)
    id = visit.issued.id("chatcmpl-", 29)
    whole = {**chat.write(asked, answer, 0, body), "id": id}
    if body.get("store"):
        visit.issued.stored[id] = StoredResponse(visit.owner, tuple(body["messages"]), whole)
    return Reply(whole, [(None, one) for one in chunks(asked, answer, body, id)])


def chunks(asked: Asked, answer: Answer, body: dict, id: str) -> list[dict | str]:
    hidden = (body.get("stream_options") or {}).get("include_obfuscation", True)
    found: list[dict | str] = []
    for number, (_, event) in enumerate(chat.events(asked, answer, 0, body)):
        if isinstance(event, dict):
            event = {**event, "id": id, **({"obfuscation": padding(number)} if hidden else {})}
        found.append(event)
    return found
