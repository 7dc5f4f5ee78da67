"""What can be wrong with the way in which an answer comes.

Three kinds: faults of the events, faults of the bytes they are written in, and answers that are none at all. Each is
one function, so that a new one is one function more.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from provider.words import Refusal

Event = tuple[str | None, dict | str]
OVERLOADED = Refusal(529, "Overloaded, come again", "overloaded")

# === Faults of the events: a function of all of them, and of the dialect. ===


def error_mid_stream(events: list[Event], dialect) -> list[Event]:
    kept = events[: max(1, len(events) // 2)]
    return [*kept, dialect.error_event(OVERLOADED, len(kept))]


def no_end(events: list[Event], _dialect) -> list[Event]:
    """Without the last event. Chat Completions can be understood all the same: its last one says nothing."""
    return events[:-1]


def end_twice(events: list[Event], _dialect) -> list[Event]:
    return [*events, events[-1]]


def strange_events(events: list[Event], _dialect) -> list[Event]:
    """Something new every now and then, as providers add it."""
    strange = {"type": "brand_new", "news": {"a": [1, None]}}
    return [one for event in events[:-1] for one in (event, ("brand_new", strange))] + events[-1:]


def index_gaps(events: list[Event], _dialect) -> list[Event]:
    """Calls are counted 3, 8, 13."""

    def wide(value):
        if isinstance(value, list):
            return [wide(one) for one in value]
        if not isinstance(value, dict):
            return value
        found = {name: wide(inner) for name, inner in value.items()}
        if "tool_calls" in found:
            found["tool_calls"] = [{**call, "index": 3 + 5 * call["index"]} for call in found["tool_calls"]]
        return found

    return [(name, wide(data)) for name, data in events]


def renamed(events: list[Event], _dialect) -> list[Event]:
    """Every piece of a call names a tool again, and another one each time."""
    number = itertools.count(1)

    def other(value):
        if isinstance(value, list):
            return [other(one) for one in value]
        if not isinstance(value, dict):
            return value
        found = {name: other(inner) for name, inner in value.items()}
        if set(found) == {"arguments"}:
            found["name"] = f"write_file_{next(number)}"
        return found

    return [(name, other(data)) for name, data in events]


EVENTS: dict[str, Callable[[list[Event], object], list[Event]]] = {
    "error-mid-stream": error_mid_stream,
    "no-end": no_end,
    "end-twice": end_twice,
    "strange-events": strange_events,
    "index-gaps": index_gaps,
    "renamed": renamed,
}

# === Faults at a point of the stream: a function of all events and of the place of one of them. ===

# In place of an event: the connection ends here, or nothing more comes.
CUT: Event = ("cut", {})
STALL: Event = ("stall", {})
IDS = {"id", "item_id", "response_id", "responseId", "call_id", "tool_use_id", "index", "output_index", "content_index"}
TEN_MEBIBYTES = 10 << 20


def cut(events: list[Event], place: int) -> list[Event]:
    return [*events[:place], CUT]


def stall(events: list[Event], place: int) -> list[Event]:
    return [*events[:place], STALL]


def wrong_type(events: list[Event], place: int) -> list[Event]:
    """A list where an object belongs."""
    return [*events[:place], (events[place][0], [1, None]), *events[place + 1 :]]  # type: ignore[list-item]


def wrong_inside(events: list[Event], place: int) -> list[Event]:
    """Numbers where the fields of an object belong."""
    name, data = events[place]
    wrong = {key: 7 for key in data if key != "type"} | {"type": data.get("type")} if isinstance(data, dict) else 7
    return [*events[:place], (name, wrong), *events[place + 1 :]]  # type: ignore[list-item]


def wrong_id(events: list[Event], place: int) -> list[Event]:
    """An event of something that was never begun."""

    def other(value):
        if isinstance(value, list):
            return [other(one) for one in value]
        if not isinstance(value, dict):
            return value
        found = {key: other(inner) for key, inner in value.items()}
        ids = found.keys() & IDS
        return {**found, **{key: 41 if isinstance(found[key], int) else f"{found[key]}_other" for key in ids}}

    name, data = events[place]
    return [*events[:place], (name, other(data)), *events[place + 1 :]]


def twice(events: list[Event], place: int) -> list[Event]:
    return [*events[: place + 1], *events[place:]]


def swapped(events: list[Event], place: int) -> list[Event]:
    place = min(place, len(events) - 2)
    return [*events[:place], events[place + 1], events[place], *events[place + 2 :]] if place >= 0 else events


def long_line(events: list[Event], place: int) -> list[Event]:
    name, data = events[place]
    padded = {**data, "padding": "x" * TEN_MEBIBYTES} if isinstance(data, dict) else data
    return [*events[:place], (name, padded), *events[place + 1 :]]


AT: dict[str, Callable[[list[Event], int], list[Event]]] = {
    "cut": cut,
    "stall": stall,
    "wrong-type": wrong_type,
    "wrong-inside": wrong_inside,
    "wrong-id": wrong_id,
    "twice": twice,
    "swapped": swapped,
    "long-line": long_line,
}

# === Faults of the bytes: a function of one event's text, or of the whole stream's chunks. ===


def plain(event: Event) -> str:
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"


def several_lines(event: Event) -> str:
    """JSON over many data lines, no blank behind the colon, fields that mean nothing."""
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data, indent=1)
    lines = "".join(f"data:{line}\n" for line in text.split("\n"))
    return (f"event:{name}\n" if name else "") + "id: 7\nretry: 10\nnonsense\n" + lines + "\n"


def commented(event: Event) -> str:
    return f": keep-alive\n\n:\n\n{plain(event)}"


def no_blank(event: Event) -> str:
    """No event ever ends."""
    return plain(event)[:-1]


def huge(event: Event) -> str:
    """More than anybody needs in one event."""
    name, _ = event
    return (f"event: {name}\n" if name else "") + "data: " + "x" * (17 << 20) + "\n\n"


TEXTS: dict[str, Callable[[Event], str]] = {
    "several-lines": several_lines,
    "comments": commented,
    "no-blank": no_blank,
    "huge-event": huge,
}


def whole(text: str) -> Iterator[bytes]:
    yield text.encode()


def odd_chunks(text: str) -> Iterator[bytes]:
    """Every byte comes alone, so that letters and line ends are torn apart."""
    raw = text.encode()
    yield from (raw[index : index + 1] for index in range(len(raw)))


def crlf(text: str) -> Iterator[bytes]:
    yield from odd_chunks(text.replace("\n", "\r\n"))


def cr(text: str) -> Iterator[bytes]:
    yield text.replace("\n", "\r").encode()


def slowly(text: str) -> Iterator[bytes]:
    time.sleep(0.1)
    yield text.encode()


def bad_utf8(text: str) -> Iterator[bytes]:
    yield text.encode().replace(b"You ", b"Y\xff\xfeou ")


def endless_line(text: str) -> Iterator[bytes]:
    """Until somebody has enough of it."""
    yield b"data: "
    yield from itertools.repeat(b"x" * 65_536, 4096)


def comments_only(text: str) -> Iterator[bytes]:
    for _ in range(600):
        time.sleep(0.1)
        yield b": still here\n\n"


CHUNKS: dict[str, Callable[[str], Iterator[bytes]]] = {
    "odd-chunks": odd_chunks,
    "crlf": crlf,
    "cr": cr,
    "slow": slowly,
    "bad-utf8": bad_utf8,
    "endless-line": endless_line,
    "comments-only": comments_only,
}

# === Answers that are none. ===


@dataclass(frozen=True)
class Raw:
    """A whole HTTP answer. Fewer bytes than `length` says: the connection breaks."""

    status: int
    headers: dict[str, str]
    body: bytes
    length: int | None = None


LONG_AGO = {"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}
HTML = b"<!doctype html><title>502</title><h1>Bad gateway</h1>"
JSON = {"content-type": "application/json"}
RAW = {
    "html": Raw(200, {"content-type": "text/html"}, HTML),
    "html-502": Raw(502, {"content-type": "text/html"}, HTML),
    "nothing-204": Raw(204, {}, b""),
    "empty": Raw(200, JSON, b""),
    "array": Raw(200, JSON, b"[]"),
    "number": Raw(200, JSON, b"7"),
    "object": Raw(200, JSON, b"{}"),
    "half": Raw(200, JSON, b'{"id": "chatcmpl-1", "choi'),
    "broken-off": Raw(200, JSON, b'{"id": "chatcmpl-1"', 1000),
    "gzip-lie": Raw(200, {**JSON, "content-encoding": "gzip"}, b'{"id": "chatcmpl-1"}'),
    "redirect": Raw(302, {"location": "http://127.0.0.1:1/elsewhere"}, b""),
    "deep": Raw(200, JSON, b"[" * 200_000),
}

# === Refusals, for the first so many requests or for ever. ===

REFUSALS = {
    "rate-limited": Refusal(429, "Rate limit reached", "rate", retry_s=1),
    "rate-limited-silently": Refusal(429, "Rate limit reached", "rate"),
    "rate-limited-negative": Refusal(429, "Rate limit reached", "rate", {"retry-after": "-1"}),
    "rate-limited-for-ages": Refusal(429, "Rate limit reached", "rate", {"retry-after": "1000000000"}),
    "rate-limited-on-a-date": Refusal(429, "Rate limit reached", "rate", LONG_AGO),
    "overloaded-529": Refusal(529, "Overloaded", "overloaded"),
    "overloaded": Refusal(503, "The server is overloaded", "overloaded"),
    "failing": Refusal(500, "The server had an error", "failed"),
    "locked": Refusal(401, "Incorrect API key provided: sk-tes***", "key"),
    "too-long": Refusal(400, "This model's maximum context length is 8192 tokens.", "length"),
    "wrong": Refusal(400, "Invalid value for 'temperature'", "invalid"),
}
