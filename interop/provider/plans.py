"""The name of a model says all that it does: words with dots between, in any order.

`tool-once`, `many-500`: a script (`script.py`; without one, `echo`). `tool-once.odd-chunks`: a fault of its way
(`faults.py`). `cut-at-50`: a fault behind so many percent of the events; `cut-at-event-3`: at the fourth event.
`second-round`: faults begin when a tool has run. `rate-limited`, `rate-limited-2`: refusals, for ever or for so many requests. `silent`, `cut`, `bom`,
`mistyped`: nothing comes, half of it comes, a byte order mark comes first, events come as `application/json`.

Before them, with a plus sign, may stand the name of a vendor's model (`vendors.py`): `gpt-6.1-sol+tool-once.cut`.
Its requests are then judged as the vendor does (`strict_*.py`). Ways of such models: `done-only` (Responses: arguments
come at once, in `.done`), `redacted` (Anthropic: thinking that cannot be read comes too), `unconfirmed` (refuses also
what is only believed to be refused).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from provider import faults, script
from provider.words import Answer, Asked, Refusal

VENDOR_WAYS = {"done-only", "redacted", "unconfirmed"}
WAYS = {"silent", "cut", "bom", "mistyped", "second-round", *VENDOR_WAYS}


@dataclass
class Plan:
    script: Callable[[Asked], Answer] = script.echo
    events: list[Callable] = field(default_factory=list)
    text: Callable[[faults.Event], str] = faults.plain
    chunks: Callable[[str], Iterator[bytes]] = faults.whole
    raw: faults.Raw | None = None
    refusal: Refusal | None = None
    times: float = 0
    ways: set[str] = field(default_factory=set)

    def of_events(self, events: list[faults.Event], dialect) -> list[faults.Event]:
        for fault in self.events:
            events = fault(events, dialect)
        return events

    def in_round(self, rounds: int) -> "Plan":
        """Before its faults begin, the script alone."""
        return Plan(script=self.script) if "second-round" in self.ways and rounds == 0 else self

    def take(self, word: str) -> bool:
        """Whether the word means anything."""
        counted = re.fullmatch(r"(.+)-(\d+)", word)
        at = re.fullmatch(r"(.+)-at-(event-)?(\d+)", word)
        if at and at[1] in faults.AT:
            self.events.append((at_event if at[2] else at_point)(faults.AT[at[1]], int(at[3])))
        elif word in WAYS:
            self.ways.add(word)
        elif word in faults.EVENTS:
            self.events.append(faults.EVENTS[word])
        elif word in faults.TEXTS:
            self.text = faults.TEXTS[word]
        elif word in faults.CHUNKS:
            self.chunks = faults.CHUNKS[word]
        elif word in faults.RAW:
            self.raw = faults.RAW[word]
        elif word in faults.REFUSALS:
            self.refusal, self.times = faults.REFUSALS[word], float("inf")
        elif counted and counted[1] in faults.REFUSALS:
            self.refusal, self.times = faults.REFUSALS[counted[1]], int(counted[2])
        elif found := script.named(word):
            self.script = found
        else:
            return False
        return True


def at_point(fault: Callable, percent: int) -> Callable:
    return lambda events, _dialect: fault(events, min(len(events) - 1, len(events) * percent // 100))


def at_event(fault: Callable, place: int) -> Callable:
    return lambda events, _dialect: fault(events, min(len(events) - 1, place))


def plan(model: str, words: str | None = None) -> Plan:
    """What the model does: by its name, or by the words that stand behind the vendor's."""
    found = Plan()
    if words == "":
        return found
    for word in (model if words is None else words).split("."):
        if not found.take(word):
            raise Refusal(404, f"The model `{model}` does not exist or you do not have access to it.", "model")
    return found
