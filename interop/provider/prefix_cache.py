"""How many tokens of a prompt a provider has seen before, and how it counts them.

Four letters are one token. OpenAI and Gemini find the longest beginning by themselves; Anthropic only looks where the
request has marks.
"""

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any

LETTERS = 4
LOOK_BACK = 20


@dataclass(frozen=True)
class Counted:
    """Tokens of a prompt, in three disjoint parts."""

    fresh: int
    read: int = 0
    written: int = 0
    written_1h: int = 0
    """Of those, for an hour."""

    @property
    def whole(self) -> int:
        return self.fresh + self.read + self.written


def letters(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def tokens(text: str) -> int:
    return -(-len(text) // LETTERS)


@dataclass
class PrefixCache:
    prompts: dict[tuple[str, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    marks: dict[tuple[str, ...], dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    counted: list[tuple[str, Counted]] = field(default_factory=list)
    """Of every request in its order, with the model's name."""

    def count_prefix(self, place: tuple[str, ...], prompt: list[Any], minimum: int, step: int = 1) -> Counted:
        """Automatic: whatever a prompt of the same place began with, from `minimum` on, in steps."""
        text = "".join(letters(one) for one in prompt)
        known = self.prompts[place]
        longest = max((len(commonprefix([text, one])) for one in known), default=0) // LETTERS
        read = longest // step * step if longest >= minimum else 0
        known.append(text)
        return self.note(place, Counted(tokens(text) - read, read))

    def count_marks(self, place: tuple[str, ...], blocks: list[tuple[Any, str | None]], minimum: int) -> Counted:
        """Explicit: each block with the lifetime of its mark, if it has one."""
        known, sizes, keys, so_far = self.marks[place], [], [], hashlib.sha256()
        total = 0
        for block, _ in blocks:
            text = letters(block)
            so_far.update(text.encode())
            total += tokens(text)
            sizes.append(total)
            keys.append(so_far.hexdigest())
        marked = [at for at, (_, ttl) in enumerate(blocks) if ttl]
        if not marked:
            return self.note(place, Counted(total))
        seen = (at for mark in marked for at in range(max(0, mark - LOOK_BACK + 1), mark + 1) if keys[at] in known)
        read = max((sizes[at] for at in seen), default=0)
        written, hour = 0, 0
        for mark in marked:
            if sizes[mark] < minimum:
                continue
            known[keys[mark]] = sizes[mark]
            more = max(0, sizes[mark] - read - written)
            written += more
            hour += more if blocks[mark][1] == "1h" else 0
        return self.note(place, Counted(total - read - written, read, written, hour))

    def note(self, place: tuple[str, ...], counted: Counted) -> Counted:
        self.counted.append((place[-1], counted))
        return counted
