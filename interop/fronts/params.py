"""Whether a request is one that the official client of its dialect could have sent, by its parameter types."""

import types as builtin
import typing
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, Union

import typing_extensions
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from google.genai import types
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

PARAMS = {
    "chat": CompletionCreateParamsNonStreaming,
    "responses": ResponseCreateParamsNonStreaming,
    "anthropic": MessageCreateParamsNonStreaming,
}
# Part of Anthropic's API in its first version, and no longer of the client's types.
SAMPLING = {"temperature", "top_p", "top_k"}
# OpenAI's own helpers for streams leave them in what they give back.
TOLERATED = {"index", "parsed"}
WRAPPERS = (typing_extensions.Required, typing_extensions.NotRequired, typing.Required, typing.NotRequired)
hints = cache(lambda kind: typing.get_type_hints(kind, include_extras=True))


def fits(dialect: str, body: dict) -> None:
    if dialect == "gemini":
        return fits_gemini(body)
    aside = {"stream", *(SAMPLING if dialect == "anthropic" else ())}
    given = {name: value for name, value in body.items() if name not in aside}
    if dialect == "responses" and isinstance(body["input"], list):
        given["input"] = [with_id(item) for item in body["input"]]
    found = problem(PARAMS[dialect], given, dialect)
    assert found is None, found


def with_id(item: dict) -> dict:
    """The types want an id of sealed reasoning, and the API does not."""
    sealed = item.get("type") == "reasoning" and item.get("encrypted_content")
    return {"id": "rs_none", **item} if sealed else item


def fits_gemini(body: dict) -> None:
    for content in body["contents"]:
        types.Content.model_validate(content)
    for tool in body.get("tools", []):
        types.Tool.model_validate(tool)
    if "systemInstruction" in body:
        types.Content.model_validate(body["systemInstruction"])
    if "toolConfig" in body:
        types.ToolConfig.model_validate(body["toolConfig"])
    types.GenerationConfig.model_validate(body.get("generationConfig", {}))


@cache
def required(kind: Any) -> frozenset[str]:
    """The type itself cannot tell: its annotations are only read here."""
    wanted = (typing_extensions.Required, typing.Required)
    optional = (typing_extensions.NotRequired, typing.NotRequired)
    return frozenset(
        name
        for name, hint in hints(kind).items()
        if typing.get_origin(hint) in wanted or (kind.__total__ and typing.get_origin(hint) not in optional)
    )


def problem(kind: Any, value: Any, path: str) -> str | None:
    """The first thing that does not fit, if any."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated or origin in WRAPPERS:
        return problem(inside[0], value, path)
    if origin in (Union, builtin.UnionType):
        found = [problem(one, value, path) for one in inside]
        # What came furthest is most likely what was meant.
        return None if None in found else max(found, key=lambda one: ("is none of" not in one, one.count(".")))
    if origin is Literal:
        return None if value in inside else f"{path}: {value!r} is none of {inside}"
    if typing_extensions.is_typeddict(kind):
        return in_object(kind, value, path)
    if origin and isinstance(origin, type) and issubclass(origin, Mapping):
        return None if isinstance(value, dict) else f"{path}: no object"
    if origin and isinstance(origin, type) and issubclass(origin, Iterable):
        return in_list(inside[0], value, path)
    if kind in (Any, object):
        return None
    if kind in (None, type(None)):
        return None if value is None else f"{path}: not null"
    if isinstance(kind, type):
        fits = isinstance(value, (int, float) if kind is float else kind)
        return None if fits and not (isinstance(value, bool) and kind is not bool) else f"{path}: no {kind.__name__}"
    return None


def in_list(kind: Any, value: Any, path: str) -> str | None:
    if not isinstance(value, list):
        return f"{path}: no list"
    return next((found for at, one in enumerate(value) if (found := problem(kind, one, f"{path}.{at}"))), None)


def in_object(kind: Any, value: Any, path: str) -> str | None:
    if not isinstance(value, dict):
        return f"{path}: no object"
    known = hints(kind)
    if missing := required(kind) - set(value):
        return f"{path}: {sorted(missing)} missing for {kind.__name__}"
    for name, one in value.items():
        if name in TOLERATED:
            continue
        if name not in known:
            return f"{path}: {kind.__name__} has no {name!r}"
        if found := problem(known[name], one, f"{path}.{name}"):
            return found
    return None
