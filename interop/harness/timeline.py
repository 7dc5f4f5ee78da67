"""What was said and heard in a call, second by second: sounds of a tenth of a second, each of which is one character."""

import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

SOUND_S = 0.1
"""Of conversation time."""


@dataclass
class Segment:
    """One voice without a pause."""

    who: str
    start: float
    end: float
    text: str
    answer: str | None = None
    """Which answer of the model it is of."""
    note: str = ""


@dataclass
class Cut:
    at: float
    answer: str | None
    unheard: str
    """What had come already, and was not played."""


@dataclass
class Clock:
    """Conversation time, `speed` times as fast as that of the wall."""

    speed: float
    began: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        return self.of(time.monotonic())

    def of(self, moment: float) -> float:
        return (moment - self.began) * self.speed

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds / self.speed))

    def sleep_until(self, moment: float) -> None:
        self.sleep(moment - self.now())


class Ear:
    """Plays what comes at the pace of speech, and remembers what was heard."""

    def __init__(self, clock: Clock):
        self.clock, self.lock = clock, threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.sounds: list[tuple[float, str, str]] = []
        """When each character begins to be heard, of which answer, and the character."""
        self.cuts: list[Cut] = []
        self.late: list[str] = []
        """What came of an answer after it was cut."""
        self.free_at = 0.0

    def play(self, answer: str, text: str) -> None:
        with self.changed:
            if any(cut.answer == answer for cut in self.cuts):
                self.late.append(text)
            at = max(self.clock.now(), self.free_at)
            for character in text:
                self.sounds.append((at, answer, character))
                at += SOUND_S
            self.free_at = at
            self.changed.notify_all()

    def cut(self) -> Cut | None:
        """Falls silent. `None`: nothing was being played."""
        with self.changed:
            now = self.clock.now()
            rest = [sound for sound in self.sounds if sound[0] >= now]
            is_playing = self.free_at > now
            self.sounds = self.sounds[: len(self.sounds) - len(rest)]
            self.free_at = min(self.free_at, now)
            if not is_playing:
                return None
            answer = self.sounds[-1][1] if self.sounds else rest[0][1]
            self.cuts.append(Cut(now, answer, "".join(character for _, _, character in rest)))
            self.changed.notify_all()
            return self.cuts[-1]

    def heard_of(self, answer: str | None) -> int:
        """Characters of an answer that were played."""
        now = self.clock.now()
        with self.lock:
            return sum(1 for at, whose, _ in self.sounds if whose == answer and at < now)

    def text(self, since: float = 0.0) -> str:
        with self.lock:
            return "".join(character for at, _, character in self.sounds if at >= since)

    def wait_for(self, text: str, since: float, limit_s: float) -> float:
        """Until this is heard; returns when."""
        with self.changed:
            assert self.changed.wait_for(lambda: text in self.text(since), limit_s), f"{text!r} was not heard: {self.text(since)!r}"
            sounds = [sound for sound in self.sounds if sound[0] >= since]
            end = "".join(character for _, _, character in sounds).index(text) + len(text)
            at = sounds[end - 1][0] + SOUND_S
        self.clock.sleep_until(at)
        return at

    def segments(self) -> list[Segment]:
        found: list[Segment] = []
        for at, answer, character in self.sounds:
            last = found[-1] if found else None
            if last and last.answer == answer and at - last.end < SOUND_S:
                last.text += character
                last.end = at + SOUND_S
            else:
                found.append(Segment("agent", at, at + SOUND_S, character, answer))
        for segment in found:
            is_cut = any(cut.answer == segment.answer and cut.at < segment.end + 2 * SOUND_S for cut in self.cuts)
            segment.note = "cut" if is_cut else ""
            segment.text = segment.text.strip()
        return found


@dataclass
class Recording:
    """All of a call."""

    caller: str
    speed: float
    segments: list[Segment]
    cuts: list[Cut]
    late: list[str]
    events: list[Segment] = field(default_factory=list)
    """What neither of them said: renewals, tools."""
    raw: str = ""
    errors: list[str] = field(default_factory=list)

    def spoken(self) -> list[Segment]:
        """By the caller."""
        return [segment for segment in self.segments if segment.who == "caller"]

    def answers(self) -> list[Segment]:
        """Each as a whole, though the agent may have paused in it."""
        found: dict[str | None, Segment] = {}
        for segment in self.segments:
            if segment.who == "agent" and (begun := found.get(segment.answer)):
                begun.text, begun.end, begun.note = f"{begun.text} {segment.text}", segment.end, segment.note
            elif segment.who == "agent":
                found[segment.answer] = replace(segment)
        return list(found.values())

    @property
    def length(self) -> float:
        return self.segments[-1].end - self.segments[0].start

    def silences(self) -> list[tuple[Segment, Segment]]:
        """After the caller's words and before the agent's."""
        pairs = zip(self.segments, self.segments[1:], strict=False)
        return [(before, after) for before, after in pairs if (before.who, after.who) == ("caller", "agent")]

    def table(self) -> str:
        rows = sorted([*self.segments, *self.events], key=lambda row: row.start)
        lines = [
            f"{self.length:.0f} s of conversation at {self.speed:g} times its pace; waits of the gateway are as many times longer here",
            f"{'from':>7} {'to':>7}  {'who':<8} what was heard",
        ]
        for row in rows:
            note = f"  ({row.note})" if row.note else ""
            lines.append(f"{row.start:7.1f} {row.end:7.1f}  {row.who:<8} {row.text}{note}")
        return "\n".join(lines) + "\n"

    def save(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(self.table())
