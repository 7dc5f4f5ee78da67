"""Refusals that both of OpenAI's APIs have: form, tools, schemas, sampling."""

import json
import re
from typing import Any

from provider.issued import Visit
from provider.typed import Fault, Tag, find_fault
from provider.words import Refusal

NAME = re.compile(r"[a-zA-Z0-9_-]+")
HELPERS = ("index", "parsed", "parsed_arguments")
NOT_STRICT = (
    "allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties",
    "unevaluatedProperties",
)  # fmt: skip


def refuse(message: str, param: str | None = None, code: str | None = None) -> Refusal:
    return Refusal(400, message, "invalid", param=param, code=code)


def written(path: tuple[str | int, ...]) -> str:
    """`input[0].content`."""
    found = ""
    for step in path:
        if isinstance(step, int):
            found += f"[{step}]"
        elif not isinstance(step, Tag):
            found += f".{step}" if found else step
    return found


def listed(words: tuple[str, ...]) -> str:
    quoted = [f"'{word}'" for word in words]
    return ", ".join(quoted[:-1]) + (f", and {quoted[-1]}" if len(quoted) > 2 else f" and {quoted[-1]}") \
        if len(quoted) > 1 else quoted[0]  # fmt: skip


def json_kind(value: Any) -> str:
    names = {bool: "a boolean", int: "an integer", float: "a decimal", str: "a string", list: "an array"}
    return "null" if value is None else names.get(type(value), "an object")


def of_fault(fault: Fault) -> Refusal:
    at = written(fault.path)
    if fault.kind == "unknown":
        return refuse(f"Unknown parameter: '{at}'.", at, "unknown_parameter")
    if fault.kind == "missing":
        return refuse(f"Missing required parameter: '{at}'.", at, "missing_required_parameter")
    if fault.kind == "value":
        got = fault.got if isinstance(fault.got, str) else json.dumps(fault.got)
        at = at.removesuffix(".type")
        return refuse(f"Invalid value: '{got}'. Supported values are: {listed(fault.wanted)}.", at, "invalid_value")
    wanted = " or ".join(fault.wanted)
    message = f"Invalid type for '{at}': expected {wanted}, but got {json_kind(fault.got)} instead."
    return refuse(message, at, "invalid_type")


def without_helpers(value: Any) -> Any:
    """Without what OpenAI's own helpers for streams leave in what a program sends back."""
    if isinstance(value, list):
        return [without_helpers(one) for one in value]
    if isinstance(value, dict):
        return {name: without_helpers(one) for name, one in value.items() if name not in HELPERS}
    return value


def check_form(kind: Any, body: dict) -> None:
    given = {name: value for name, value in body.items() if name != "stream"}
    given |= {name: without_helpers(given[name]) for name in ("messages", "input") if name in given}
    if not isinstance(body.get("stream"), bool | None):
        raise of_fault(Fault("type", ("stream",), body["stream"], ("boolean",)))
    if "model" not in given:
        raise refuse("you must provide a model parameter")
    if fault := find_fault(kind, given):
        raise of_fault(fault)


def check_length(text: str, at: str, longest: int) -> None:
    if not text:
        message = "Expected a string with minimum length 1, but got an empty string instead."
        raise refuse(f"Invalid '{at}': empty string. {message}", at, "empty_string")
    if len(text) > longest:
        message = f"Expected a string with maximum length {longest}, but got a string with length {len(text)} instead."
        raise refuse(f"Invalid '{at}': string too long. {message}", at, "string_above_max_length")


def check_name(name: str, at: str) -> None:
    check_length(name, at, 64)
    if not NAME.fullmatch(name):
        message = "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        raise refuse(f"Invalid '{at}': string does not match pattern. {message}", at, "invalid_value")


def check_schema(schema: Any, what: str, param: str, code: str) -> None:
    """A strict one: every object is closed, and has everything."""

    def wrong(context: tuple, message: str) -> Refusal:
        return refuse(f"Invalid schema for {what}: In context={context!r}, {message}", param, code)

    def look(part: Any, context: tuple) -> None:
        if not isinstance(part, dict):
            return
        for key in NOT_STRICT:
            if key in part:
                raise wrong(context, f"'{key}' is not permitted.")
        kinds = part.get("type")
        if kinds == "object" or (isinstance(kinds, list) and "object" in kinds) or "properties" in part:
            if part.get("additionalProperties") is not False:
                raise wrong(context, "'additionalProperties' is required to be supplied and to be false.")
            missing = [name for name in part.get("properties", {}) if name not in part.get("required", [])]
            if missing:
                message = "'required' is required to be supplied and to be an array including every key in properties."
                raise wrong(context, f"{message} Missing '{missing[0]}'.")
        if kinds == "array" and "items" not in part:
            raise wrong(context, "array schema missing items.")
        for name, inner in part.get("properties", {}).items():
            look(inner, (*context, "properties", name))
        for name, inner in {**part.get("$defs", {}), **part.get("definitions", {})}.items():
            look(inner, (*context, "$defs", name))
        look(part.get("items"), (*context, "items"))
        for at, inner in enumerate(part.get("anyOf", [])):
            look(inner, (*context, "anyOf", str(at)))

    if not isinstance(schema, dict) or schema.get("type") != "object":
        kind = schema.get("type") if isinstance(schema, dict) else None
        message = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
        raise refuse(f"Invalid schema for {what}: {message}", param, code)
    if "anyOf" in schema:
        raise wrong((), "'anyOf' is not permitted.")
    look(schema, ())


def check_function(name: str, parameters: Any, strict: bool | None, at: str) -> None:
    """`at` is the place of the object that has the name."""
    check_name(name, f"{at}.name")
    if strict:
        check_schema(parameters, f"function '{name}'", f"{at}.parameters", "invalid_function_parameters")
    elif parameters and parameters.get("type") != "object":
        kind = parameters.get("type")
        message = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
        where = f"{at}.parameters"
        raise refuse(f"Invalid schema for function '{name}': {message}", where, "invalid_function_parameters")


def check_effort(effort: str | None, visit: Visit, param: str) -> None:
    if effort is None:
        return
    if not visit.model.efforts:
        message = f"Unsupported parameter: '{param}' is not supported with this model."
        raise refuse(message, param, "unsupported_parameter")
    if effort not in visit.model.efforts:
        known = listed(visit.model.efforts)
        message = f"'{effort}' is not supported with the '{visit.model.name}' model. Supported values are: {known}."
        raise refuse(f"Unsupported value: {message}", param, "unsupported_value")


def check_metadata(metadata: dict | None) -> None:
    for name, value in (metadata or {}).items():
        check_length(name, "metadata", 64)
        if len(value) > 512:
            check_length(value, f"metadata.{name}", 512)
    if len(metadata or {}) > 16:
        raise refuse("Invalid 'metadata': too many properties.", "metadata", "object_above_max_properties")
