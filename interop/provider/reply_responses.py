"""How a model of OpenAI answers in Responses: ids that are remembered, sealed reasoning, every event."""

from dataclasses import replace

from provider import responses
from provider.issued import OutputItem, Sealed, StoredResponse, Visit
from provider.reply import count, padding, think
from provider.words import Answer, Asked, Reply


def reply(asked: Asked, answer: Answer, body: dict, visit: Visit) -> Reply:
    """`body` is the request with the items that the model reads."""
    reasoning = body.get("reasoning") or {}
    answer = think(answer, visit.model.thinks(reasoning.get("effort")))
    prompt = [body.get("tools"), body.get("instructions"), *body["input"]]
    place = ("openai", visit.owner, visit.model.name)
    counted = visit.issued.cache.count_prefix(place, prompt, 1024, 128)
    if visit.model.bills_writes and counted.whole >= 1024:
        fresh = counted.whole % 128
        counted = replace(counted, fresh=fresh, written=counted.fresh - fresh)
    answer = count(answer, counted)
    asked = replace(asked, model=visit.model.name)
    stored = body.get("store") is not False
    output = items(answer, body, visit)
    remember(output, stored, visit)
    more = {
        "id": visit.issued.id("resp_"),
        "reasoning": {"effort": reasoning.get("effort") or effort(visit), "summary": reasoning.get("summary")},
        "previous_response_id": body.get("previous_response_id"),
        "service_tier": "default",
        "store": stored,
    }
    begun = responses.shell(asked, 0, body, **more)
    done = {**begun, "status": "completed", "output": output, "usage": usage(answer)}
    if answer.finish == "length":
        done |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    if stored:
        kept = (*body["input"], *output)
        visit.issued.stored[done["id"]] = StoredResponse(visit.owner, kept, done)
    return Reply(done, events(begun, done, body, visit))


def effort(visit: Visit) -> str | None:
    return visit.model.default_effort if visit.model.efforts else None


def usage(answer: Answer) -> dict:
    found = responses.usage(answer)
    found["input_tokens_details"]["cache_write_tokens"] = answer.usage.written
    return found


def items(answer: Answer, body: dict, visit: Visit) -> list[dict]:
    found = responses.output(answer, 0)
    shown = (body.get("reasoning") or {}).get("summary")
    for item in found:
        prefix = {"reasoning": "rs_", "message": "msg_", "function_call": "fc_"}[item["type"]]
        item["id"] = visit.issued.id(prefix)
        if item["type"] == "function_call" and item["call_id"].startswith("call_0000"):
            item["call_id"] = visit.issued.id("call_", 24)
        if item["type"] == "reasoning":
            item["summary"] = item["summary"] if shown else []
            sealed = Sealed(item["id"], visit.owner, visit.model.name)
            item["encrypted_content"] = visit.issued.seal("gAAAAAB", sealed)
    return found


def remember(output: list[dict], stored: bool, visit: Visit) -> None:
    thought = next((item["id"] for item in output if item["type"] == "reasoning"), None)
    for item in output:
        led = thought if item["type"] != "reasoning" else None
        visit.issued.items[item["id"]] = OutputItem(item, visit.owner, stored, led)


def item_events(item: dict, index: int, visit: Visit) -> list[dict]:
    if item["type"] == "reasoning" and not item["summary"]:
        # What comes first need not be whole.
        begun = {**item, "encrypted_content": item["encrypted_content"][:24]}
        return [
            {"type": "response.output_item.added", "output_index": index, "item": begun},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    found = responses.item_events(item, index)
    if item["type"] == "reasoning":
        found[0]["item"]["encrypted_content"] = item["encrypted_content"][:24]
    if "done-only" in visit.ways:
        found = [one for one in found if one["type"] != "response.function_call_arguments.delta"]
    return found


def events(begun: dict, done: dict, body: dict, visit: Visit) -> list[tuple[str | None, dict | str]]:
    found = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(done["output"]):
        found += item_events(item, index, visit)
    found.append({"type": f"response.{done['status']}", "response": done})
    hidden = (body.get("stream_options") or {}).get("include_obfuscation", True)
    numbered = []
    for number, event in enumerate(found):
        more = {"obfuscation": padding(number)} if hidden and event["type"].endswith(".delta") else {}
        numbered.append((event["type"], {**event, "sequence_number": number, **more}))
    return numbered
