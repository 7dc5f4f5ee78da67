"""Deep turns of live speech: another model answers, the realtime model speaks its answer, and what the caller hears is
measured. The provider is as strict as OpenAI's; transcripts come when they like, late, twice or never."""

import json
import statistics
import threading

import pytest

from harness import realtime
from harness.live_line import LiveLine, check_answered, check_hidden, speak, trusted
from harness.process import wait_for
from harness.realtime import Heard, Talk
from provider.live_openai import OpenAiLive
from provider.live_openai_plays import WRONG
from provider.live_openai_rules import MS_PER_BYTE
from provider.server import Provider
from test_realtime_openai import IDS

KEYS = {"app": LiveLine.key, "other": "key-of-another-one-0123456789"}
EVERY = pytest.mark.parametrize("client", realtime.CLIENTS.values(), ids=realtime.CLIENTS)
DEEP = "Please think carefully about the weather in Rome."
RAIN = "Rome: rain"
RIGHT = 'The tool said: {"status":"ok","answer":"The tool said: ' + RAIN + '"}'
ANNOUNCED = "One moment, please."
CHAT = "And how are you?"
# By default; and the time that the realtime model takes.
HOLD_S, MODEL_S = 0.3, 0.25


class Line(LiveLine):
    """With a realtime model that talks at once, and a chat model that calls a slow tool."""

    def __init__(self, folder):
        super().__init__(folder)
        self.provider, self.chat = OpenAiLive(), Provider()
        entry = self.pace_server()
        archive = {"allow": ["weather"], "tools": {"weather": {"estimated_duration_ms": 3000}}}
        slow = {"slow_response_threshold_ms": 500, "slow_response_message": ANNOUNCED}
        common = {
            "engine": "s2s", "tools": ["pace_*", "archive_*"], "auto_execute": ["*"], "budget_tier": "deep",
        }  # fmt: skip
        live = {"provider": "openai", "api": "realtime"}
        config = {
            "servers": {
                "pace": entry, "archive": {**entry, **archive, "defaults": slow},
                # Announces nothing.
                "vault": {**entry, **archive},
            },
            # Each turn of a session may be deep.
            "budget": {
                "min_samples": 100, "deep_interval_s": 0,
                "tiers": {"fast_ms": 1000, "standard_ms": 1500, "deep_ms": 9000},
            },
            "providers": {
                "openai": {"kind": "openai", "base_url": self.provider.url, "api_key": "secret-of-openai-0123456789"},
                "chats": {"kind": "openai", "base_url": f"{self.chat.url}/v1", "api_key": "secret-of-chats-0123456789"},
            },
            "models": {
                **{name: {**live, "id": f"gpt-realtime-2.1--{name}"} for name in ("talkative", "talkative-too")},
                "thinker": {"provider": "chats", "id": "archive"},
                "quiet-thinker": {"provider": "chats", "id": "vault"},
            },
            "agents": {
                # As it is by default.
                "usual": {**common, "models": ["talkative", "thinker"]},
                "too": {**common, "models": ["talkative-too", "thinker"]},
                "quiet": {**common, "tools": ["pace_*", "vault_*"], "models": ["talkative", "quiet-thinker"]},
                "patient": {**common, "models": ["talkative", "thinker"], "realtime": {"hold_ms": 5000}},
                "hasty": {**common, "models": ["talkative", "thinker"], "realtime": {"hold_ms": 0}},
                "polite": {
                    **common, "models": ["talkative", "thinker"],
                    "realtime": {"slow_response_threshold_ms": 100, "slow_response_message": "Let me see."},
                },
            },
            "default_agent": "usual",
            "keys": [{"name": name, "key": key, "role": "caller"} for name, key in KEYS.items()],
        }  # fmt: skip
        self.start(config, "archive_weather", "--tls")

    def talk(self, client, model: str, *steps, **more) -> Heard:
        return client(self.gateway.url, KEYS["app"], Talk(model, list(steps), **more))

    @property
    def session(self):
        [session] = self.provider.sessions
        return session

    def stop(self) -> None:
        super().stop()
        self.chat.stop()
        self.provider.stop()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    with trusted(Line(tmp_path_factory.mktemp("deep"))) as line:
        yield line


@pytest.fixture
def line(started):
    started.set()
    started.provider.forget()
    return started


def heard_of(heard: Heard) -> list[str]:
    """What the caller heard, response by response."""
    texts: dict[str, str] = {}
    for piece in heard.audio:
        texts[piece["response"]] = texts.get(piece["response"], "") + piece["text"]
    return [text.strip() for text in texts.values()]


def answers(heard: Heard) -> list[str]:
    """Without announcements, which a busy machine may cause."""
    return [text for text in heard_of(heard) if text != ANNOUNCED]


def ms_of_wrong(heard: Heard) -> int:
    return sum(len(text) * MS_PER_BYTE for text in heard_of(heard) if WRONG.startswith(text))


def check_one_right_answer(line: Line, heard: Heard) -> None:
    assert ms_of_wrong(heard) == 0, heard_of(heard)
    assert answers(heard) == [RIGHT]
    check_hidden(heard, *IDS)
    check_answered(line.session)


# In pieces, as it is spoken.
PIECES = [{"audio": "Please think carefully "}, {"audio": "about the weather "}, speak("in Rome.", RAIN)]


@EVERY
@pytest.mark.parametrize("transcripts", ["before", "streaming", "after", "partial", "twice"])
def test_nothing_of_a_wrong_answer_is_heard_if_the_words_come_in_time(line, client, transcripts):
    line.provider.transcripts = transcripts
    heard = line.talk(client, "usual", {"seen": "session.updated"}, *PIECES)
    check_one_right_answer(line, heard)


@EVERY
@pytest.mark.parametrize("transcripts", ["late", "never", "failed"])
def test_without_words_the_realtime_model_answers_once_and_to_its_end(line, client, transcripts):
    line.provider.transcripts = transcripts
    last = "about it anyway."
    # A late transcript of the first turn comes in the second one.
    heard = line.talk(client, "usual", {"seen": "session.updated"}, speak(DEEP, last), speak(CHAT, last))
    assert answers(heard) == [WRONG, WRONG]
    check_hidden(heard, *IDS)
    check_answered(line.session)


@EVERY
def test_a_longer_hold_waits_for_late_words(line, client):
    line.provider.transcripts = "late"
    heard = line.talk(client, "patient", {"seen": "session.updated"}, speak(DEEP, RAIN))
    check_one_right_answer(line, heard)


@EVERY
@pytest.mark.parametrize("transcripts", ["before", "after", "late"])
def test_without_a_hold_an_answer_is_either_heard_to_its_end_or_not_at_all(line, client, transcripts):
    line.provider.transcripts = transcripts
    heard = line.talk(client, "hasty", {"seen": "session.updated"}, speak(DEEP, " t"), speak(CHAT, "anyway."))
    first, second = answers(heard)
    assert first in (WRONG, RIGHT) and second == WRONG
    assert first == WRONG or transcripts != "late"
    check_answered(line.session)


@EVERY
def test_the_client_sees_the_session_as_it_set_it(line, client):
    heard = line.talk(client, "usual", {"seen": "session.updated"}, speak(CHAT, "anyway."))
    kept = line.session.config["audio"]["input"]["turn_detection"]
    assert (kept["create_response"], kept["interrupt_response"]) == (False, True)
    assert '"create_response":false' not in heard.raw.replace(" ", "")
    assert '"create_response":true' in heard.raw.replace(" ", "")


def test_a_client_that_requests_its_responses_itself_is_still_asked(line):
    audio = {"input": {"transcription": {"model": "whisper-1"}, "turn_detection": {"type": "server_vad", "create_response": False}}}
    update = {"type": "session.update", "session": {"type": "realtime", "audio": audio}}
    line.provider.transcripts = "after"
    heard = line.talk(
        realtime.python, "usual",
        {"send": update, "seen": "session.updated"},
        {"audio": DEEP, "seen": "conversation.item.input_audio_transcription.completed"},
        {"send": {"type": "response.create"}, "until": RAIN},
    )  # fmt: skip
    check_one_right_answer(line, heard)
    assert '"create_response":false' in heard.raw.replace(" ", "")
    created = heard.kinds.index("response.created")
    assert heard.kinds.index("conversation.item.input_audio_transcription.completed") < created


@EVERY
def test_a_slow_turn_is_announced_once_and_then_answered(line, client):
    line.set(weather={"ms": 2500})
    heard = line.talk(client, "usual", {"seen": "session.updated"}, speak(DEEP, RAIN))
    assert heard_of(heard) == [ANNOUNCED, RIGHT]
    check_hidden(heard, *IDS)
    assert not any("One moment" in json.dumps(item) for item in line.session.items), "it is beside the conversation"
    before, after = [[piece["at"] for piece in heard.audio if word in piece["text"]][0] for word in ("One", "Rome")]
    assert after - before > 1, "it fills the time of the tool"


def test_a_slow_turn_is_announced_after_a_second_though_neither_agent_nor_tool_says_how(line):
    line.set(weather={"ms": 3000})
    heard = line.talk(realtime.python, "quiet", {"seen": "session.updated"}, speak(DEEP, RAIN))
    assert heard_of(heard) == [ANNOUNCED, RIGHT]
    spoke = next(at for at, who, _ in line.session.timeline if who == "caller")
    assert heard.audio[0]["at"] - spoke >= 1


@EVERY
def test_the_agents_own_announcement_comes_first(line, client):
    line.set(weather={"ms": 2500})
    heard = line.talk(client, "polite", {"seen": "session.updated"}, speak(DEEP, RAIN))
    assert heard_of(heard) == ["Let me see.", RIGHT]


@EVERY
def test_a_caller_who_speaks_ends_the_slow_turn(line, client):
    line.set(weather={"ms": 6000})
    before = line.count("weather", "cancelled")
    heard = line.talk(client, "usual", {"seen": "session.updated"}, speak(DEEP, "One moment"), speak("Never mind.", "anyway."))
    assert heard_of(heard) == [ANNOUNCED, WRONG]
    wait_for("cancelled", lambda: line.count("weather", "cancelled") == before + 1, 30)
    check_hidden(heard, *IDS)
    check_answered(line.session)


def test_sessions_of_two_keys_at_once_do_not_disturb_each_other(line):
    line.provider.transcripts_of = {"talkative": "partial", "talkative-too": "late"}
    line.set(weather={"ms": 1500})
    found: dict[str, Heard] = {}

    def run(agent: str, key: str, *steps) -> None:
        found[agent] = realtime.python(line.gateway.url, key, Talk(agent, [{"seen": "session.updated"}, *steps]))

    talks = [
        threading.Thread(target=run, args=("usual", KEYS["app"], speak(DEEP, RAIN))),
        threading.Thread(target=run, args=("too", KEYS["other"], speak(DEEP, "anyway."))),
    ]
    for talk in talks:
        talk.start()
    for talk in talks:
        talk.join()
    assert heard_of(found["usual"]) == [ANNOUNCED, RIGHT]
    assert answers(found["too"]) == [WRONG]
    for heard in found.values():
        check_hidden(heard, *IDS)


def test_figures_of_what_is_heard_when(line, capsys):
    """From the end of the caller's speech to the first sound, and the sound of wrong answers; see docs/realtime.md."""
    rows = []
    for transcripts, text, until in (("before", CHAT, "anyway."), ("never", CHAT, "anyway."), ("after", DEEP, RAIN)):
        line.provider.transcripts = transcripts
        waits, wrong = [], 0
        for _ in range(3):
            heard = line.talk(realtime.python, "usual", {"seen": "session.updated"}, speak(text, until))
            spoke = next(at for at, who, _ in line.provider.sessions[-1].timeline if who == "caller")
            waits.append(heard.audio[0]["at"] - spoke)
            wrong += ms_of_wrong(heard) if text == DEEP else 0
        rows.append((transcripts, text, statistics.median(waits), wrong))
    with capsys.disabled():
        for transcripts, text, median, wrong in rows:
            print(f"\ntranscript {transcripts}, {text!r}: first sound after {median * 1000:.0f} ms, {wrong} ms wrong")
    assert all(wrong == 0 for *_, wrong in rows)
    assert rows[1][2] > HOLD_S + MODEL_S * 0.9, "the hold is waited for"
