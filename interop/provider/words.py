"""What is asked and what is answered, without any wire format."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Result:
    """What a tool gave back, as the model reads it."""

    id: str
    text: str


@dataclass(frozen=True)
class Asked:
    model: str
    stream: bool
    system: str
    said: str
    """The last words of the user."""
    tools: tuple[str, ...]
    """What may be called in this round."""
    results: tuple[Result, ...]
    """Since the user's last words, oldest first."""
    rounds: int
    """Answers with calls since the user's last words."""
    unsigned: int = 0
    """Those of them that came back without what the provider signed them with."""


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str
    """As the model writes them: they need not be JSON."""
    id: str | None = None


@dataclass(frozen=True)
class Usage:
    input: int = 11
    cached: int = 4
    output: int = 7
    thought: int = 2
    written: int = 0
    """Of the input, into the cache."""
    written_1h: int = 0
    """Of those, for an hour."""


@dataclass(frozen=True)
class Reply:
    """An answer on the wire, both ways."""

    whole: dict
    events: list[tuple[str | None, dict | str]]


@dataclass(frozen=True)
class Answer:
    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    finish: str = "stop"
    """`stop` (with calls: because of them), `length` or `refusal`."""
    usage: Usage = Usage()

    def pieces(self) -> list[str]:
        """The text as a stream brings it."""
        words = self.text.split(" ")
        return [word + " " for word in words[:-1]] + words[-1:] if self.text else []


@dataclass(eq=False)
class Refusal(Exception):
    """An error in place of an answer."""

    status: int
    message: str
    kind: str
    """`invalid`, `key`, `model`, `rate`, `overloaded`, `length` or `failed`; each dialect has its own word for it."""
    headers: dict[str, str] = field(default_factory=dict)
    retry_s: int | None = None
    param: str | None = None
    """OpenAI: the field that is wrong."""
    code: str | None = None
    """OpenAI: its own word, where that of `kind` is not the one."""
    details: tuple[dict, ...] = ()
    """Gemini: what stands beside the message."""


def invalid(message: str) -> Refusal:
    return Refusal(400, message, "invalid")


def need(what: bool, message: str) -> None:
    """Refuses the request as the real provider would."""
    if not what:
        raise invalid(message)


def halves(text: str) -> list[str]:
    """Arguments come in more than one event."""
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]
