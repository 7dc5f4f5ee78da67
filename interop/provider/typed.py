"""Whether a request has the form that its official client declares: the first fault, with its place.

The parameter types of the clients are made from the vendors' own API descriptions. A rule that they cannot say (pairs
of calls and results, what a model takes) is in the `strict_*` modules.
"""

import types as builtin
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union

import typing_extensions

WRAPPERS = (typing_extensions.Required, typing_extensions.NotRequired, typing.Required, typing.NotRequired)
# Fields that say which of several forms an object has.
DISCRIMINATORS = ("type", "role")
JSON_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}


class Tag(str):
    """A step of a path that only names the chosen form: Anthropic writes it, OpenAI does not."""


@dataclass(frozen=True)
class Fault:
    kind: Literal["unknown", "missing", "type", "value"]
    path: tuple[str | int, ...]
    got: Any = None
    wanted: tuple[str, ...] = ()
    """Types, or values."""

    @property
    def depth(self) -> int:
        return len(self.path)


@cache
def hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


@cache
def required(kind: Any) -> frozenset[str]:
    wanted = (typing_extensions.Required, typing.Required)
    return frozenset(name for name, hint in hints(kind).items() if typing.get_origin(hint) in wanted)


def bare(kind: Any) -> Any:
    """The type without what is written around it."""
    while typing.get_origin(kind) is typing.Annotated or typing.get_origin(kind) in WRAPPERS:
        kind = typing.get_args(kind)[0]
    return kind


def find_fault(kind: Any, value: Any, path: tuple[str | int, ...] = ()) -> Fault | None:
    kind = bare(kind)
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, builtin.UnionType):
        return in_union([bare(one) for one in inside], value, path)
    if origin is Literal:
        known = tuple(str(one) for one in inside)
        return None if value in inside else Fault("value", path, value, known)
    if typing_extensions.is_typeddict(kind):
        return in_object(kind, value, path)
    if is_mapping(origin):
        return None if isinstance(value, dict) else Fault("type", path, value, ("object",))
    if is_list(origin):
        return in_list(inside[0] if inside else Any, value, path)
    if kind in (None, type(None)):
        return None if value is None else Fault("type", path, value, ("null",))
    if kind in JSON_NAMES:
        return None if is_of(kind, value) else Fault("type", path, value, (JSON_NAMES[kind],))
    return None


def is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def is_list(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Iterable) and origin is not str


def is_of(kind: type, value: Any) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def in_list(kind: Any, value: Any, path: tuple[str | int, ...]) -> Fault | None:
    if not isinstance(value, list):
        return Fault("type", path, value, ("array",))
    return next((fault for at, one in enumerate(value) if (fault := find_fault(kind, one, (*path, at)))), None)


def in_object(kind: Any, value: Any, path: tuple[str | int, ...]) -> Fault | None:
    if not isinstance(value, dict):
        return Fault("type", path, value, ("object",))
    known = hints(kind)
    for name, one in value.items():
        if name not in known:
            return Fault("unknown", (*path, name))
        if fault := find_fault(known[name], one, (*path, name)):
            return fault
    missing = sorted(required(kind) - set(value))
    return Fault("missing", (*path, missing[0])) if missing else None


def literals(kind: Any, name: str) -> tuple[Any, ...]:
    if not typing_extensions.is_typeddict(kind) or name not in hints(kind):
        return ()
    found = bare(hints(kind)[name])
    if typing.get_origin(found) is Union:
        found = next((bare(one) for one in typing.get_args(found) if typing.get_origin(bare(one)) is Literal), found)
    return typing.get_args(found) if typing.get_origin(found) is Literal else ()


def flat(kinds: list[Any]) -> list[Any]:
    found = []
    for kind in kinds:
        inner = typing.get_args(kind) if typing.get_origin(kind) in (Union, builtin.UnionType) else None
        found += flat([bare(one) for one in inner]) if inner else [kind]
    return found


def in_union(kinds: list[Any], value: Any, path: tuple[str | int, ...]) -> Fault | None:
    # Classes of answers stand in some unions for the sake of programs; JSON has only the others.
    kinds = [kind for kind in flat(kinds) if not hasattr(kind, "model_fields")]
    if not isinstance(value, dict):
        faults = [find_fault(kind, value, path) for kind in kinds]
        return None if None in faults else furthest(faults, path, value)
    objects = [kind for kind in kinds if typing_extensions.is_typeddict(kind)]
    for name in DISCRIMINATORS:
        if name not in value or not objects:
            continue
        # A form that does not declare the field at all stays: its own check names it.
        fitting = [kind for kind in objects if not literals(kind, name) or value[name] in literals(kind, name)]
        if not any(literals(kind, name) for kind in objects):
            continue
        if not fitting:
            wanted = tuple(dict.fromkeys(str(one) for kind in objects for one in literals(kind, name)))
            return Fault("value", (*path, name), value[name], wanted)
        objects = fitting
    others = [kind for kind in kinds if not typing_extensions.is_typeddict(kind)]
    tagged = (*path, Tag(value["type"])) if isinstance(value.get("type"), str) and path else path
    faults = [find_fault(kind, value, tagged) for kind in objects] + [find_fault(kind, value, path) for kind in others]
    return None if None in faults else furthest(faults, path, value)


def furthest(faults: list[Fault], path: tuple[str | int, ...], value: Any) -> Fault:
    """What came furthest is most likely what was meant; if nothing came further, all that is possible."""
    deepest = max(faults, key=lambda fault: fault.depth)
    if deepest.depth > len(path):
        return deepest
    kind = "value" if isinstance(value, str) and any(fault.kind == "value" for fault in faults) else "type"
    wanted = tuple(dict.fromkeys(one for fault in faults if fault.kind == kind for one in fault.wanted))
    return Fault(kind, path, value, wanted)
