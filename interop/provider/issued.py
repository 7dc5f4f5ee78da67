"""What the provider has given out, so that it knows what comes back: ids, sealed reasoning, signatures, responses."""

import base64
import hashlib
import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from provider.prefix_cache import PrefixCache


@dataclass(frozen=True)
class Sealed:
    """Reasoning that only its maker can read."""

    id: str
    owner: str
    model: str
    text: str = ""
    before: str = ""
    """What the conversation was until then."""


@dataclass(frozen=True)
class OutputItem:
    item: dict
    owner: str
    stored: bool
    reasoning: str | None
    """The id of the reasoning that led to it."""


@dataclass(frozen=True)
class StoredResponse:
    owner: str
    items: tuple[dict, ...]
    """Everything until its end: what came before, what was asked, what was answered."""
    answer: dict


@dataclass
class Issued:
    sealed: dict[str, Sealed] = field(default_factory=dict)
    items: dict[str, OutputItem] = field(default_factory=dict)
    stored: dict[str, StoredResponse] = field(default_factory=dict)
    """What the vendor keeps after it has answered, by the id of the response: for checks of privacy."""
    cache: PrefixCache = field(default_factory=PrefixCache)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def id(self, prefix: str, length: int = 48) -> str:
        """A new one, of the vendor's form."""
        digest = hashlib.sha256(f"{prefix}{next(self.numbers)}".encode()).hexdigest()
        return f"{prefix}{digest[:length]}"

    def seal(self, prefix: str, sealed: Sealed) -> str:
        noise = hashlib.sha512(f"{prefix}{next(self.numbers)}".encode()).digest()
        # Without the two letters that clients write in two ways.
        text = base64.b64encode(noise * 2).decode().replace("+", "A").replace("/", "B")
        text = prefix + text[len(prefix) :]
        self.sealed[text] = sealed
        return text


@dataclass(frozen=True)
class Visit:
    """One request to a model of a vendor."""

    model: Any
    """`vendors.Gpt`, `vendors.Claude` or `vendors.Gemini`."""
    owner: str
    """Whoever has the key."""
    headers: dict[str, str]
    issued: Issued
    ways: set[str]
    path: str = ""

    @property
    def betas(self) -> set[str]:
        return {one.strip() for one in self.headers.get("anthropic-beta", "").split(",") if one.strip()}


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
