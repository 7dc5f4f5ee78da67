"""A conversation of five minutes with two renewals, a failover, a late result, a deep turn and three interruptions: two callers
at OpenAI Realtime and two at Gemini Live at the same time. What each of them said and heard is recorded, judged, and written to
`conversations` in the test report. Speech is faster than people's (TOLLGATE_SOAK=1: as fast as people's)."""

import json
import os
import threading
import time
from pathlib import Path

import pytest

from harness.live_line import LiveLine
from harness.paths import INTEROP
from harness.phone import GeminiPhone, OpenAiPhone, Phone
from harness.timeline import SOUND_S, Clock, Recording, Segment
from provider.live_conversation import NOT_DEEP, STILL, found, story
from provider.live_gemini import GeminiLive
from provider.live_openai import OpenAiLive
from provider.server import Provider

SPEED = 1.0 if os.environ.get("TOLLGATE_SOAK") == "1" else 10.0
LENGTH_S = 300
# On the wall: a session's time, of which the last quarter is for moving.
LIFETIME_S = max(12.0, 120 / SPEED)
TOOL_S = max(1.5, 4 / SPEED)
TIERS_S = {"fast": 0.8, "standard": 1.0, "deep": 30.0}
# Above what is explained, on a busy machine too.
SLACK_S = 2.5
# A session that could be resumed tries it four times, with pauses of 1.75 s in all, or half as much again.
RESUMING_S = 2.7
FAILOVER = "One moment, please."
SEARCHING = "I am looking in the archive."
VENDORS = {"openai": ["Ann", "Ben"], "gemini": ["Cleo", "Dora"]}
WORDS = {"Ann": "lighthouse", "Ben": "harbour", "Cleo": "lantern", "Dora": "meadow"}
REPORT = Path(os.environ.get("TOLLGATE_TEST_REPORT", INTEROP.parent / "target" / "test-report")) / "conversations"
EVERY = pytest.mark.parametrize(("vendor", "name"), [(vendor, name) for vendor, names in VENDORS.items() for name in names])
OPENAI = pytest.mark.parametrize("name", VENDORS["openai"])


def key_of(name: str) -> str:
    return f"key-of-{name.lower()}-0123456789"


class Line(LiveLine):
    key = key_of("Ann")

    def __init__(self, folder):
        super().__init__(folder)
        self.set(look_up={"held": True}, weather={"ms": TOOL_S * 1000})
        self.thinker = Provider()
        self.first = {"openai": OpenAiLive(), "gemini": GeminiLive()}
        self.second = {"openai": OpenAiLive(), "gemini": GeminiLive()}
        for provider in (*self.first.values(), *self.second.values()):
            provider.speed = SPEED
        self.first["openai"].transcripts = "streaming"
        self.second["openai"].transcripts = "streaming"
        # The conversation is one, and ids are unique.
        self.second["openai"].reported = self.first["openai"].reported
        for vendor in VENDORS:
            self.second[vendor].numbers = self.first[vendor].numbers
        self.start(self.config(), "archive_weather")

    def config(self) -> dict:
        slow = {"slow_response_threshold_ms": 500, "slow_response_message": SEARCHING}
        archive = {"allow": ["weather"], "tools": {"weather": {"estimated_duration_ms": 3000}}, "defaults": slow}
        look_up = {"allow": ["look_up"], "tools": {"look_up": {"estimated_duration_ms": 50}}, "defaults": {"timeout_ms": 120_000}}
        ids = {"openai": "gpt-realtime-2.1--conversation", "gemini": "gemini-3.8-live--conversation"}
        providers, models = {}, {}
        for vendor in VENDORS:
            for place, provider, doom in (("first", self.first[vendor], "-doomed"), ("second", self.second[vendor], "")):
                name = f"{vendor}-{place}"
                providers[name] = {"kind": vendor, "base_url": provider.url, "api_key": f"secret-of-{name}-0123456789"}
                models[name] = {"provider": name, "api": "realtime", "id": ids[vendor] + doom}
        providers["chats"] = {"kind": "openai", "base_url": f"{self.thinker.url}/v1", "api_key": "secret-of-chats-0123456789"}
        agents = {
            name: {
                "engine": "s2s", "models": [*models, "thinker"], "tools": ["pace_*", "archive_*"], "auto_execute": ["*"],
                "budget_tier": "deep", "prompt": f"You speak with {name}.", "failover_message": FAILOVER,
            }
            for names in VENDORS.values() for name in names
        }  # fmt: skip
        return {
            # A look-up lasts until the test ends it.
            "limits": {"timeout_ms": 120_000},
            "servers": {"pace": self.pace_server(**look_up), "archive": self.pace_server(**archive)},
            # Each turn of a session may be deep.
            "budget": {
                "min_samples": 100, "deep_interval_s": 0, "tiers": {f"{tier}_ms": int(s * 1000) for tier, s in TIERS_S.items()},
            },
            "providers": providers,
            "models": {**models, "thinker": {"provider": "chats", "id": "archive"}},
            "agents": agents,
            "default_agent": "Ann",
            "keys": [{"name": name.lower(), "key": key_of(name), "role": "caller", "agents": [name]} for name in agents],
        }  # fmt: skip

    def sessions(self, vendor: str, name: str, place: str = "first") -> list:
        """The connections of a caller that have become part of the conversation."""
        found = self.first if place == "first" else self.second
        prompt = f"You speak with {name}."
        if vendor == "openai":
            return [session for session in found[vendor].sessions if session.config["instructions"] == prompt]
        return [session for session in found[vendor].sessions if prompt in json.dumps(session.setup)]

    def release(self, name: str) -> None:
        """The look-up of this caller ends."""
        self.pace.with_name(f"moon of {name}.free").touch()

    def fail(self, vendor: str) -> None:
        """The first provider lets nobody in any more."""
        if vendor == "openai":
            self.first[vendor].key = "another-key-0123456789"
        else:
            self.first[vendor].is_full = True

    def stop(self) -> None:
        super().stop()
        for provider in (self.thinker, *self.first.values(), *self.second.values()):
            provider.stop()


class Conversation:
    """What one caller does."""

    def __init__(self, line: Line, vendor: str, name: str):
        self.line, self.vendor, self.name = line, vendor, name
        self.number = 0
        self.events: list[Segment] = []
        self.failure: BaseException | None = None
        kind = OpenAiPhone if vendor == "openai" else GeminiPhone
        self.phone: Phone = kind(name, line.gateway.url, key_of(name), f"{vendor}-first", Clock(SPEED))

    def run(self) -> None:
        try:
            self.talk()
        except BaseException as failure:  # noqa: BLE001 (for the thread that waits)
            self.failure = failure
        finally:
            self.phone.hang_up()

    def talk(self) -> None:
        phone, name, word = self.phone, self.name, WORDS[self.name]
        self.chat(f"Hello, this is {name} calling.")
        self.chat(f"Please remember the word {word}.")
        self.interrupt("story", "fox", "Wait, {name} has a question.")
        self.find_late()
        self.count_until(lambda: self.renewals() == 1)
        self.provider_times()
        self.interrupt("poem", "sea", "Stop, {name} would like something else.")
        self.think()
        self.count_until(lambda: self.renewals() == 2)
        self.meet()
        self.fail_over()
        phone.ask(f"Which word did {name} ask for?", f"The word was {word}.")
        self.interrupt("story", "owl", "Enough of this, says {name}.")
        self.count_until(lambda: phone.clock.now() > LENGTH_S)
        self.chat(f"Goodbye from {name}.")

    def chat(self, text: str) -> None:
        self.phone.ask(text, f"You said: {text}")

    def count(self) -> None:
        self.number += 1
        self.chat(f"{self.name} counts {self.number}, how are you?")

    def count_until(self, is_met) -> None:
        """And speaks at the very moment."""
        for _ in range(60):
            if is_met():
                return self.count()
            self.count()
            end = self.phone.clock.now() + 3
            while not is_met() and self.phone.clock.now() < end:
                time.sleep(0.001)
        raise AssertionError(f"{self.name}: it did not happen")

    def interrupt(self, kind: str, about: str, text: str) -> None:
        about = f"{self.name} and the {about}"
        request = f"Tell me the {kind} of {about}."
        self.phone.interrupt(request, story(about), f"Part 3 of {about}.", text.format(name=self.name))

    def find_late(self) -> None:
        """Talks about something else until the result is there."""
        self.phone.ask(f"Please look up the moon of {self.name}.", STILL)
        self.count()
        self.count()
        now = self.phone.clock.now()
        self.note("tool", f"the result of {self.name}'s look-up is there")
        self.line.release(self.name)
        self.phone.hear(found(f"moon of {self.name}: nothing special"), now)

    def think(self) -> None:
        announced = [SEARCHING] if self.vendor == "openai" else []
        self.phone.ask(f"Please think carefully about the weather in Rome, {self.name} asks.", *announced, found("Rome: rain"))

    def renewals(self) -> int:
        return len(self.line.sessions(self.vendor, self.name)) - 1

    def provider_times(self) -> None:
        """Both callers have two connections by now, or soon; the third ones last."""
        provider = self.line.first[self.vendor]
        if len(provider.sessions) >= 2 * len(VENDORS[self.vendor]):
            provider.lifetime_s = 3600.0

    def meet(self) -> None:
        """Both callers have moved twice: nobody moves any more."""
        others = VENDORS[self.vendor]
        self.count_until(lambda: all(len(self.line.sessions(self.vendor, name)) == 3 for name in others))
        self.line.fail(self.vendor)

    def fail_over(self) -> None:
        self.note("provider", "from now on the first provider fails")
        self.phone.ask(f"Are you still there, asks {self.name}?", FAILOVER, f"You said: Are you still there, asks {self.name}?")

    def note(self, who: str, text: str) -> None:
        now = self.phone.clock.now()
        self.events.append(Segment(who, now, now, text))

    def recording(self) -> Recording:
        recording = self.phone.recording()
        of = self.phone.clock.of
        for place in ("first", "second"):
            for number, session in enumerate(self.line.sessions(self.vendor, self.name, place), 1):
                began = of(session.used)
                self.events.append(Segment("network", began, began, f"connection {number} to the {place} provider"))
        recording.events = self.events
        return recording


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    line = Line(tmp_path_factory.mktemp("conversation"))
    yield line
    line.stop()


@pytest.fixture(scope="module")
def conversations(line):
    """All four, at the same time."""
    for provider in line.first.values():
        provider.lifetime_s = LIFETIME_S
    line.first["gemini"].lifetime_s, line.first["gemini"].leaves_s = LIFETIME_S * 0.6, LIFETIME_S * 0.4
    started = {}
    for vendor, names in VENDORS.items():
        for name in names:
            started[name] = Conversation(line, vendor, name)
    threads = [threading.Thread(target=one.run) for one in started.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in started.values():
        one.recorded = one.recording()
        one.recorded.save(REPORT, f"{one.vendor}-{one.name.lower()}")
    for one in started.values():
        if one.failure:
            raise AssertionError(f"{one.name} hung up: {one.failure}\n{one.recorded.table()}") from one.failure
    return started


@EVERY
def test_it_lasts_five_minutes_and_the_provider_has_nothing_to_complain_of(line, conversations, vendor, name):
    recorded = conversations[name].recorded
    assert recorded.length >= LENGTH_S
    assert recorded.errors == []
    assert (len(line.sessions(vendor, name)), len(line.sessions(vendor, name, "second"))) == (3, 1)
    for session in [*line.sessions(vendor, name), *line.sessions(vendor, name, "second")]:
        if vendor == "openai":
            assert session.refused == []
            assert {len(answers) for answers in session.answers.values()} <= {1}
    if vendor == "openai":
        assert recorded.raw.count('"session.created"') == 1
    else:
        assert recorded.raw.count("setupComplete") == 1 and "goAway" not in recorded.raw


@EVERY
def test_all_that_the_caller_says_is_heard_once_and_in_order(line, conversations, vendor, name):
    said = [segment.text for segment in conversations[name].recorded.spoken()]
    sessions = [*line.sessions(vendor, name), *line.sessions(vendor, name, "second")]
    ends = [*(session.used for session in sessions[1:]), float("inf")]
    heard = [text for session, end in zip(sessions, ends, strict=True) for text in utterances(vendor, session, end)]
    assert heard == said
    # A connection knows what was said on those before it.
    for session in sessions[1:]:
        if vendor == "openai":
            assert f"Hello, this is {name} calling." in json.dumps(session.items)
        else:
            assert f"Hello, this is {name} calling." in json.dumps([session.heard, session.told])


def utterances(vendor: str, session, until: float) -> list[str]:
    """What was said to a connection before the gateway used the next one. A busy machine reads the rest later."""
    if vendor == "gemini":
        return [text for at, text in session.utterances if at < until]
    return [text for at, who, text in session.timeline if who == "caller" and at < until]


@EVERY
def test_each_answer_is_heard_once_and_in_order(conversations, vendor, name):
    heard = [segment.text for segment in conversations[name].recorded.answers()]
    wanted = list(conversations[name].phone.answers)
    assert len(wanted) > 15
    for text in heard:
        if "You said: Are".startswith(text):
            # The provider broke off while it was spoken.
            continue
        assert wanted, f"nobody asked for {text!r}"
        while text:
            answer = wanted.pop(0)
            is_cut = answer.startswith("The story of")
            assert text.startswith(answer) or (is_cut and answer.startswith(text)), (text, answer)
            text = "" if is_cut else text.removeprefix(answer).strip()
    assert wanted == []


@EVERY
def test_nothing_of_an_answer_is_heard_after_the_caller_cut_it(conversations, vendor, name):
    recorded = conversations[name].recorded
    callers = recorded.spoken()
    cuts = [cut for cut in recorded.cuts if any(one.start <= cut.at <= one.end + SLACK_S * SPEED for one in callers)]
    stories = [segment for segment in recorded.answers() if segment.text.startswith("The story of")]
    assert [segment.note for segment in stories] == ["cut"] * 3
    assert len(cuts) >= 3 and recorded.late == []
    for segment in stories:
        cut = next(cut for cut in cuts if cut.answer == segment.answer)
        assert segment.end <= cut.at + 0.2
        assert "Part 30" not in segment.text
    # Of the poem all had come.
    assert f"Part 30 of {name} and the sea." in next(cut.unheard for cut in cuts if cut.answer == stories[1].answer)


@EVERY
def test_the_late_result_is_spoken_once_and_when_nobody_speaks(conversations, vendor, name):
    recorded = conversations[name].recorded
    result = found(f"moon of {name}: nothing special")
    [told] = [segment for segment in recorded.answers() if result in segment.text]
    assert told.note == ""
    assert not any(one.start < told.end and told.start < one.end for one in recorded.spoken())
    [ready] = [event for event in recorded.events if event.who == "tool"]
    [still] = [segment for segment in recorded.answers() if segment.text == STILL]
    between = [one for one in recorded.spoken() if still.end < one.start < ready.start]
    assert len(between) == 2 and told.start > ready.start


@EVERY
def test_after_the_failover_one_pause_is_announced_and_all_is_known(line, conversations, vendor, name):
    recorded = conversations[name].recorded
    heard = " ".join(segment.text for segment in recorded.answers())
    assert heard.count(FAILOVER) == 1
    after = heard[heard.index(FAILOVER) :]
    assert f"The word was {WORDS[name]}." in after
    [session] = line.sessions(vendor, name, "second")
    if vendor == "openai":
        declared = [tool["name"] for tool in session.config["tools"]]
    else:
        declared = session.declared()
    assert "pace_look_up" in declared


@EVERY
def test_the_deep_turn_is_answered_once(line, conversations, vendor, name):
    heard = " ".join(segment.text for segment in conversations[name].recorded.answers())
    assert heard.count("Rome: rain") == 1
    assert NOT_DEEP[:10] not in heard
    if vendor == "openai":
        assert heard.count(SEARCHING) == 1
        # A new connection is told of it under the same id.
        calls = {(call, *outputs) for session in line.sessions(vendor, name) for call, outputs in session.answers.items()}
        assert len([call for call in calls if "Rome: rain" in call[1]]) == 1


@EVERY
def test_no_silence_is_unexplained(conversations, vendor, name):
    recorded = conversations[name].recorded
    for before, after in recorded.silences():
        silent_s = (after.start - before.end) / SPEED
        explained_s = explained(vendor, before.text) + SLACK_S
        assert silent_s <= explained_s, f"{silent_s:.1f} s after {before.text!r}"
    # Nobody but a caller who waits for a tool is silent for long after an answer.
    for before, after in zip(recorded.segments, recorded.segments[1:], strict=False):
        silent_s = (after.start - before.end) / SPEED
        explained_s = RESUMING_S if after.text.startswith(FAILOVER) else 3 / SPEED
        assert before.who == "caller" or silent_s <= explained_s + SLACK_S, f"{silent_s:.1f} s after {before.text!r}"


def explained(vendor: str, text: str) -> float:
    """Seconds on the wall that tools and other models have."""
    if "look up" in text:
        return TIERS_S["standard"]
    if "think carefully" in text:
        return TOOL_S
    return 0.3


@EVERY
def test_the_agent_speaks_into_nobodys_words(conversations, vendor, name):
    """A caller who interrupts is heard within a moment."""
    recorded = conversations[name].recorded
    for before, after in zip(recorded.segments, recorded.segments[1:], strict=False):
        if after.start < before.end - 2 * SOUND_S and after.who != before.who:
            assert (before.who, before.note) == ("agent", "cut"), (before, after)
            assert (before.end - after.start) / SPEED < SLACK_S


@EVERY
def test_nothing_of_another_caller_is_in_it(line, conversations, vendor, name):
    recorded = conversations[name].recorded
    others = [other for names in VENDORS.values() for other in names if other != name]
    heard = " ".join(segment.text for segment in recorded.segments) + recorded.raw
    for other in others:
        assert other not in heard and WORDS[other] not in heard
        for session in [*line.sessions(vendor, name), *line.sessions(vendor, name, "second")]:
            assert other not in json.dumps(session.received) and WORDS[other] not in json.dumps(session.received)


@EVERY
def test_nothing_of_the_gateway_is_in_it(conversations, vendor, name):
    raw = conversations[name].recorded.raw
    for ours in ("pace_look_up", "archive_weather", "tollgate", "You speak with", '"tg-', "renewed"):
        assert ours not in raw, raw[max(0, raw.index(ours) - 300) :][:600]
