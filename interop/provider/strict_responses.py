"""What Responses of OpenAI refuses, and what the model then reads: stored items in the place of their ids."""

import copy
import json

from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from provider.issued import Visit
from provider.strict_openai import (
    check_effort,
    check_form,
    check_function,
    check_length,
    check_metadata,
    check_schema,
    refuse,
)

CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
PREFIXES = {"reasoning": "rs", "message": "msg", "function_call": "fc", "function_call_output": "fc"}
USER_PARTS = ("input_text", "input_image", "input_file")
ASSISTANT_PARTS = ("output_text", "refusal")
NOT_KEPT = (
    "Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item "
    "from your input."
)


def check(body: dict, visit: Visit) -> dict:
    check_form(ResponseCreateParamsNonStreaming, filled(body, visit))
    if body.get("input") in (None, "", []) and not body.get("previous_response_id") and not body.get("prompt"):
        raise refuse("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    check_tools(body)
    check_options(body, visit)
    check_metadata(body.get("metadata"))
    return {**body, "input": resolve(body, visit)}


def filled(body: dict, visit: Visit) -> dict:
    """With what the types require and the API does not."""
    found = copy.deepcopy(body)
    if isinstance(found.get("input"), list):
        for at, item in enumerate(found["input"]):
            if isinstance(item, dict) and item.get("type", "message") == "message" and "role" in item:
                check_parts(item, at)
                if item["role"] == "assistant" and isinstance(item.get("content"), list):
                    item.setdefault("id", "msg_none")
                    item.setdefault("status", "completed")
                    item.setdefault("type", "message")
                    for part in item["content"]:
                        if part.get("type") == "output_text":
                            part.setdefault("annotations", [])
            elif isinstance(item, dict) and set(item) == {"id"}:
                item["type"] = "item_reference"
            elif isinstance(item, dict) and item.get("type") == "reasoning" and item.get("encrypted_content"):
                item.setdefault("id", "rs_none")
    if "unconfirmed" not in visit.ways and isinstance(found.get("tools"), list):
        for tool in found["tools"]:
            if isinstance(tool, dict) and tool.get("type") == "function":
                tool.setdefault("strict", None)
                tool.setdefault("parameters", None)
    return found


def check_parts(item: dict, at: int) -> None:
    if not isinstance(item.get("content"), list):
        return
    known = ASSISTANT_PARTS if item["role"] == "assistant" else USER_PARTS
    for index, part in enumerate(item["content"]):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in {*ASSISTANT_PARTS, *USER_PARTS} - set(known):
            names = ", ".join(f"'{one}'" for one in known)
            message = f"Invalid value: '{kind}'. Supported values are: {names}."
            raise refuse(message, f"input[{at}].content[{index}]", "invalid_value")


def check_tools(body: dict) -> None:
    names = []
    for at, tool in enumerate(body.get("tools") or []):
        if tool["type"] == "function":
            check_function(tool["name"], tool.get("parameters"), tool.get("strict"), f"tools[{at}]")
            names.append(tool["name"])
    choice = body.get("tool_choice")
    if choice is not None and choice not in ("auto", "none") and not body.get("tools"):
        word = choice if isinstance(choice, str) else choice["type"]
        raise refuse(f"Tool choice '{word}' must be specified with 'tools' parameter.", "tool_choice")
    if isinstance(choice, dict) and choice["type"] == "function" and choice["name"] not in names:
        raise refuse("Tool choice 'function' not found in 'tools' parameter.", "tool_choice")


def check_options(body: dict, visit: Visit) -> None:
    effort = (body.get("reasoning") or {}).get("effort")
    check_effort(effort, visit, "reasoning.effort")
    if not visit.model.efforts and "reasoning.encrypted_content" in (body.get("include") or []):
        raise refuse("Encrypted content is not supported with this model.", "include")
    if not visit.model.efforts and (body.get("reasoning") or {}).get("summary"):
        raise refuse(
            "Unsupported parameter: 'reasoning.summary' is not supported with this model.", "reasoning.summary"
        )
    if visit.model.thinks(effort):
        for name in ("temperature", "top_p", "top_logprobs"):
            if body.get(name) is not None:
                raise refuse(f"Unsupported parameter: '{name}' is not supported with this model.", name)
        if "message.output_text.logprobs" in (body.get("include") or []):
            raise refuse("Logprobs are not supported with this model.", "include")
    most = body.get("max_output_tokens")
    # vectorize-io/hindsight#58, UKGovernmentBEIS/inspect_evals#694.
    if most is not None and most < 16:
        message = f"integer below minimum value. Expected a value >= 16, but got {most} instead."
        raise refuse(f"Invalid 'max_output_tokens': {message}", "max_output_tokens", "integer_below_min_value")
    if body.get("stream_options") is not None and not body.get("stream"):
        raise refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if body.get("conversation") and body.get("previous_response_id"):
        message = "Mutually exclusive parameters: Ensure you are only providing one of: 'previous_response_id' or"
        raise refuse(f"{message} 'conversation'.", None, "mutually_exclusive_parameters")
    form = (body.get("text") or {}).get("format") or {}
    if form.get("type") == "json_schema" and form.get("strict"):
        what = f"response_format '{form['name']}'"
        check_schema(form["schema"], what, "text.format.schema", "invalid_json_schema")
    if form.get("type") == "json_object" and "json" not in json.dumps(body.get("input")).lower():
        # The same as in Chat Completions.
        message = "Response input messages must contain the word 'json' in some form to use 'text.format' of type"
        raise refuse(f"{message} 'json_object'.", "input")


def resolve(body: dict, visit: Visit) -> list[dict]:
    """All items that the model reads."""
    before: list[dict] = []
    if previous := body.get("previous_response_id"):
        stored = visit.issued.stored.get(previous)
        if stored is None or stored.owner != visit.owner:
            message = f"Previous response with id '{previous}' not found."
            raise refuse(message, "previous_response_id", "previous_response_not_found")
        before = [*stored.items]
    given = body.get("input")
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    items = [*before, *(by_reference(item, visit) for item in given)]
    check_ids(given)
    for at, item in enumerate(given):
        if item.get("type") == "reasoning":
            check_seal(item, at, visit)
    check_reasoning(items, visit)
    check_pairs(items)
    return items


def by_reference(item: dict, visit: Visit) -> dict:
    if item.get("type") != "item_reference" and set(item) != {"id"}:
        return item
    found = visit.issued.items.get(item["id"])
    if found and found.owner == visit.owner and found.stored:
        return found.item
    raise not_found(item["id"], found is not None)


def not_found(id: str, unstored: bool):
    return refuse(f"Item with id '{id}' not found." + (f" {NOT_KEPT}" if unstored else ""), "input")


def check_ids(given: list[dict]) -> None:
    seen, called = set(), set()
    for at, item in enumerate(given):
        if item.get("call_id") is not None:
            check_length(item["call_id"], f"input[{at}].call_id", 64)
        if item.get("type") == "function_call":
            if item["call_id"] in called:
                # earendil-works/pi#9057; openai/gpt-oss#308 has what becomes of one that is not refused.
                raise refuse(f"Duplicate 'call_id': {item['call_id']}", f"input[{at}].call_id")
            called.add(item["call_id"])
        id = item.get("id")
        prefix = PREFIXES.get(item.get("type", "message"))
        if id is None or prefix is None:
            continue
        check_length(id, f"input[{at}].id", 64)
        if not id.startswith(prefix):
            # continuedev/continue#11494, openai/codex#33176.
            message = f"Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{prefix}'."
            raise refuse(message, f"input[{at}].id", "invalid_value")
        if id in seen:
            message = f"Duplicate item found with id {id}. Remove duplicate items from your input and try again."
            raise refuse(message, "input")
        seen.add(id)


def check_seal(item: dict, at: int, visit: Visit) -> None:
    if item.get("content"):
        message = (
            f"Expected an array with maximum length 0, but got an array with length {len(item['content'])} instead."
        )
        place = f"input[{at}].content"
        raise refuse(f"Invalid '{place}': array too long. {message}", place, "array_above_max_length")
    sealed = item.get("encrypted_content")
    if sealed is None:
        found = visit.issued.items.get(item["id"])
        if found is None or found.owner != visit.owner or not found.stored:
            raise not_found(item["id"], True)
        return
    made = visit.issued.sealed.get(sealed)
    if made is None or made.owner != visit.owner or made.model != visit.model.name:
        short = f"{sealed[:4]}...{sealed[-4:]}"
        message = f"The encrypted content {short} could not be verified."
        raise refuse(f"{message} Reason: Encrypted content could not be decrypted or parsed.", None, SEAL)
    if item.get("id") not in (None, made.id):
        message = f"The encrypted content for item {item['id']} could not be verified."
        raise refuse(f"{message} Reason: Encrypted content item_id did not match the target item id.", None, SEAL)


SEAL = "invalid_encrypted_content"


def check_reasoning(items: list[dict], visit: Visit) -> None:
    thought = {thought_id(item, visit) for item in items if item.get("type") == "reasoning"}
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        made = visit.issued.items.get(item.get("id") or "")
        if made and made.reasoning and made.reasoning not in thought and kind != "reasoning":
            message = f"Item '{item['id']}' of type '{kind}' was provided without its required 'reasoning' item:"
            raise refuse(f"{message} '{made.reasoning}'.", "input")
        if kind != "reasoning":
            continue
        after = items[at + 1] if at + 1 < len(items) else {}
        follows = after.get("type") in ("reasoning", *CALLS) or after.get("role") == "assistant"
        if not follows:
            id = thought_id(item, visit)
            message = f"Item '{id}' of type 'reasoning' was provided without its required following item."
            raise refuse(message, "input")


def thought_id(item: dict, visit: Visit) -> str:
    """Sealed reasoning need not say it."""
    return item.get("id") or visit.issued.sealed[item["encrypted_content"]].id


def check_pairs(items: list[dict]) -> None:
    pending: dict[str, str] = {}
    for item in items:
        kind = item.get("type", "message")
        if kind in CALLS:
            pending[item["call_id"]] = CALLS[kind]
        elif kind in CALLS.values():
            if pending.get(item["call_id"]) != kind:
                message = f"No tool call found for function call output with call_id {item['call_id']}."
                raise refuse(message, "input")
            pending.pop(item["call_id"])
    if pending:
        raise refuse(f"No tool output found for function call {next(iter(pending))}.", "input")
