"""What Messages of Anthropic refuses: form, options and tools. Order and pairs are in `strict_turns.py`."""

import json
import re
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from provider import messages, strict_turns
from provider.issued import Visit
from provider.typed import Fault, find_fault
from provider.words import Refusal, invalid

SAMPLING = ("temperature", "top_p", "top_k")
# Fields that a beta adds.
BETA = ("mcp_servers", "context_management", "output_format", "fallbacks", "betas")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# What a schema of an answer, or of a strict tool, may say.
SCHEMA = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf", "$ref",
    "$defs", "definitions", "description", "title", "default", "format", "minItems", "$schema",
}  # fmt: skip
NO_ENABLED = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'


def check(body: dict, visit: Visit) -> dict:
    check_form(body, visit)
    check_thinking(body, visit)
    check_sampling(body, visit)
    check_tools(body, visit)
    check_limit(body)
    check_output(body, visit)
    check_marks(body)
    strict_turns.check(body, visit)
    return for_reading(body)


def written(path: tuple[str | int, ...]) -> str:
    return ".".join(str(step) for step in path)


def of_fault(fault: Fault) -> Refusal:
    at = written(fault.path)
    if fault.kind == "unknown":
        return invalid(f"{at}: Extra inputs are not permitted")
    if fault.kind == "missing":
        return invalid(f"{at}: Field required")
    if fault.kind == "type":
        names = {"object": "an object", "array": "a valid list", "null": "null"}
        return invalid(f"{at}: Input should be {names.get(fault.wanted[0], f'a valid {fault.wanted[0]}')}")
    quoted = [f"'{one}'" for one in fault.wanted]
    if fault.path[-1] == "type" and len(fault.path) > 2:
        tags = ", ".join(quoted)
        message = f"Input tag '{fault.got}' found using 'type' does not match any of the expected tags: {tags}"
        return invalid(f"{written(fault.path[:-1])}: {message}")
    wanted = " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
    return invalid(f"{at}: Input should be {wanted}")


def check_form(body: dict, visit: Visit) -> None:
    aside = {"stream", *SAMPLING, *(BETA if visit.betas else ())}
    given = {name: value for name, value in body.items() if name not in aside}
    if strict_turns.DROP in visit.betas and (body.get("thinking") or {}).get("type") == "adaptive":
        given["thinking"] = {name: value for name, value in body["thinking"].items() if name != "block_binding"}
    if fault := find_fault(MessageCreateParamsNonStreaming, given):
        raise of_fault(fault)
    for name in SAMPLING:
        kind = int if name == "top_k" else float
        if name in body and (fault := find_fault(kind, body[name], (name,))):
            raise of_fault(fault)
    if not body["messages"]:
        raise invalid("messages: at least one message is required")


def thinking_type(body: dict, visit: Visit) -> str:
    said = (body.get("thinking") or {}).get("type")
    return said or ("adaptive" if visit.model.thinks else "disabled")


def check_thinking(body: dict, visit: Visit) -> None:
    model, thinking = visit.model, body.get("thinking") or {}
    kind = thinking.get("type")
    effort = (body.get("output_config") or {}).get("effort")
    if kind and kind not in model.thinking:
        more = f" {NO_ENABLED}" if kind == "enabled" else ""
        raise invalid(f'"thinking.type.{kind}" is not supported for this model.{more}')
    if effort and not model.efforts:
        raise invalid("This model does not support the effort parameter.")
    if effort and effort not in model.efforts:
        known = ", ".join(model.efforts)
        message = f"output_config.effort: '{effort}' is not supported for this model; supported levels: {known}"
        raise invalid(message)
    if kind == "disabled" and model.name == "claude-opus-5" and effort in ("xhigh", "max"):
        raise invalid(f'"thinking.type.disabled" is not supported for this model with effort {effort}')
    if kind == "enabled":
        budget = thinking["budget_tokens"]
        if budget < 1024:
            message = "Input should be greater than or equal to 1024"
            raise invalid(f"thinking.enabled.budget_tokens: {message}")
        if budget >= body["max_tokens"] and "interleaved-thinking-2025-05-14" not in visit.betas:
            raise invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")


def check_sampling(body: dict, visit: Visit) -> None:
    temperature, top_p = body.get("temperature"), body.get("top_p")
    if temperature is not None and not 0 <= temperature <= 1:
        raise invalid("temperature: range: 0..1")
    if not visit.model.sampling:
        refused = {
            "temperature": temperature is not None and temperature != 1,
            "top_p": top_p is not None and top_p < 0.99,
            "top_k": body.get("top_k") is not None,
        }
        for name in (name for name, wrong in refused.items() if wrong):
            raise invalid(f"`{name}` is deprecated for this model.")
        return
    # SalesforceAIResearch/MCP-Universe#49 (since Opus 4.1), OpenHands/OpenHands#12909 (Opus 4.6).
    if temperature is not None and top_p is not None:
        raise invalid("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
    if thinking_type(body, visit) != "disabled" and temperature not in (None, 1):
        raise invalid("`temperature` may only be set to 1 when thinking is enabled.")


def check_tools(body: dict, visit: Visit) -> None:
    tools, choice = body.get("tools") or [], body.get("tool_choice")
    names = []
    for at, tool in enumerate(tools):
        name = tool.get("name", "")
        names.append(name)
        if tool.get("type") not in (None, "custom"):
            continue
        place = f"tools.{at}.custom"
        if not TOOL_NAME.fullmatch(name):
            raise invalid(f"{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema = tool["input_schema"]
        if "type" not in schema:
            raise invalid(f"{place}.input_schema.type: Field required")
        if schema["type"] != "object":
            raise invalid(f"{place}.input_schema.type: Input should be 'object'")
        # anthropics/claude-code#5319.
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            message = "input_schema does not support oneOf, allOf, or anyOf at the top level"
            raise invalid(f"{place}.input_schema: {message}")
        if tool.get("strict"):
            check_schema(schema, f"{place}.input_schema")
    if len(set(names)) != len(names):
        raise invalid("tools: Tool names must be unique.")
    if choice is None:
        return
    if not tools:
        raise invalid("tool_choice: may only be specified while providing tools")
    if choice["type"] in ("any", "tool"):
        if not visit.model.forced:
            raise invalid('tool_choice: type "tool" and "any" are not supported for this model.')
        if (body.get("thinking") or {}).get("type") == "enabled":
            raise invalid("Thinking may not be enabled when tool_choice forces tool use.")
    if choice["type"] == "tool" and choice["name"] not in names:
        raise invalid(f"Tool '{choice['name']}' not found in provided tools")


def check_limit(body: dict) -> None:
    if body["max_tokens"] < 0:
        raise invalid("max_tokens: Input should be greater than or equal to 0")
    if body["max_tokens"] == 0:
        with_it = {
            "stream": body.get("stream"),
            "thinking": (body.get("thinking") or {}).get("type") == "enabled",
            "output_config.format": (body.get("output_config") or {}).get("format"),
            "tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
        }
        for name in (name for name, said in with_it.items() if said):
            raise invalid(f"max_tokens: 0 cannot be used with `{name}`")


def check_output(body: dict, visit: Visit) -> None:
    form = (body.get("output_config") or {}).get("format")
    if not form:
        return
    check_schema(form["schema"], "output_config.format.schema")
    if body["messages"][-1]["role"] == "assistant":
        raise invalid("output_config.format: cannot be used with a prefilled assistant message")
    if '"citations": {"enabled": true}' in json.dumps(body["messages"]):
        raise invalid("output_config.format: cannot be used with citations")


def check_schema(schema: Any, at: str) -> None:
    if not isinstance(schema, dict):
        return
    for name in schema:
        if name not in SCHEMA:
            kind = schema.get("type", "object")
            raise invalid(f"{at}: For '{kind}' type, property '{name}' is not supported")
    if schema.get("minItems", 0) not in (0, 1):
        raise invalid(f"{at}: For 'array' type, 'minItems' values other than 0 or 1 are not supported")
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        raise invalid(f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    for name in ("properties", "$defs", "definitions"):
        for inner in (schema.get(name) or {}).values():
            check_schema(inner, at)
    for inner in (schema.get("items"), *schema.get("anyOf", []), *schema.get("allOf", [])):
        check_schema(inner, at)


def marked(body: dict) -> list[dict]:
    """Everything that may have a mark for the cache, in the order of the prompt."""
    found = [*(body.get("tools") or [])]
    if isinstance(body.get("system"), list):
        found += body["system"]
    for message in body["messages"]:
        for block in messages.blocks_of(message["content"]):
            found.append(block)
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                found += block["content"]
    return found


def check_marks(body: dict) -> None:
    marks = [one["cache_control"] for one in marked(body) if one.get("cache_control")]
    marks += [body["cache_control"]] if body.get("cache_control") else []
    if len(marks) > 4:
        raise invalid(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    lives = [mark.get("ttl", "5m") for mark in marks]
    if "1h" in lives and "5m" in lives[: len(lives) - lives[::-1].index("1h")]:
        raise invalid("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")
    for one in marked(body):
        if one.get("cache_control") and one.get("type") == "text" and not one["text"]:
            raise invalid("cache_control cannot be set for empty text blocks")


def for_reading(body: dict) -> dict:
    """Without messages of the system, and without what a gateway marks as such, which the script reads as one."""
    said, kept = [body.get("system")], []
    for message in body["messages"]:
        blocks = messages.blocks_of(message["content"])
        notes = [block for block in blocks if message["role"] == "system" or is_note(block)]
        said.append(notes)
        if rest := [block for block in blocks if block not in notes]:
            kept.append({**message, "content": rest})
    system = "".join(messages.text_of(one) for one in said)
    return {**body, "system": system, "messages": kept, "max_tokens": max(1, body["max_tokens"])}


def is_note(block: dict) -> bool:
    return block["type"] == "text" and block["text"].startswith("<system>\n")
