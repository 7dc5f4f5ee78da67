"""What a client made of an answer, in the same words for every dialect."""

from dataclasses import dataclass, field
from typing import Any

# A tool that a client has itself.
WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city",
    "schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True)
class Made:
    """A call that the client is to run."""

    id: str
    name: str
    arguments: dict


@dataclass
class Heard:
    text: str
    calls: list[Made]
    finish: str
    """`stop`, `calls`, `length` or `refusal`."""
    usage: tuple[int, int]
    """Tokens in and out, what was cached and thought among them."""
    told: dict | None
    """The `tollgate` field."""
    headers: dict[str, str]
    native: Any
    """As the client's history keeps it."""
    notes: list[dict] = field(default_factory=list)
    """What was told in comments or events of the stream."""
