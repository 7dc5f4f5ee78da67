"""Whether JSON is what a client's own types say: every field that they require, of its type, and none beside.

Clients themselves are lenient: they would take nearly anything and fail later, in somebody's program.
"""

from functools import cache
from typing import Any

import pydantic

# Ours, in every dialect.
EXTENSIONS = {"tollgate"}


# Made once for each type: that takes longer than all checks together.
adapter = cache(pydantic.TypeAdapter)


def fits(kind: Any, value: dict, more: frozenset[str] = frozenset()) -> None:
    unknown(adapter(kind).validate_python(value), EXTENSIONS | more, [])


def unknown(value: Any, allowed: set[str] | frozenset[str], path: list[str]) -> None:
    if isinstance(value, pydantic.BaseModel):
        extra = set(value.model_extra or {}) - allowed
        assert not extra, f"{'.'.join(path)}: {type(value).__name__} has no {sorted(extra)}"
        for name in type(value).model_fields:
            unknown(getattr(value, name), allowed, [*path, name])
    elif isinstance(value, list):
        for index, one in enumerate(value):
            unknown(one, allowed, [*path, str(index)])
