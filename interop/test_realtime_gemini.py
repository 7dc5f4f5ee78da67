"""Gemini Live through the gateway: the official clients, a provider as strict as Google's, tools of a real MCP server
beside the client's own."""

import json

import pytest
from websockets.sync.client import connect

from harness import talks
from harness.live_line import LiveLine, trusted
from harness.process import wait_for
from harness.talks import Talk
from provider import live_gemini_plays
from provider.live_gemini import GeminiLive

KEY = LiveLine.key
SECRET = "secret-of-google-0123456789"
FAMILIES = {
    "2.5": "gemini-2.5-flash-native-audio",
    "3.1": "gemini-3.1-flash-live",
    "3.8": "gemini-3.8-live",
    "thinking": "gemini-3.8-live-extended-thinking",
}
LIGHTS = {
    "tools": [
        {"functionDeclarations": [
            {"name": "lights", "parameters": {"type": "OBJECT", "properties": {"on": {"type": "BOOLEAN"}}}}
        ]}
    ],
    "responseModalities": ["AUDIO"],
}  # fmt: skip
ANSWERS = {"lights": {"output": "they are on"}}
LISTENS = {"inputAudioTranscription": {}, "outputAudioTranscription": {}}
# What a client may see of a session in which everything else is the gateway's.
PLAIN = {"setup_complete", "server_content", "usage_metadata"}
# Models whose agent has no other: nothing takes over when they fail.
ALONE = [("3.8", "crash"), *((family, "vanish") for family in FAMILIES)]
EITHER = pytest.mark.parametrize("client", talks.CLIENTS.values(), ids=talks.CLIENTS)
EVERY = pytest.mark.parametrize("family", FAMILIES)


def alone_agent(family: str, play: str) -> str:
    """An agent with this model only: nothing takes over."""
    return f"only-{family.replace('.', '_')}-{play}"


def key_of(agent: str) -> str:
    return f"key-of-{agent}-0123456789"


def models() -> dict:
    return {
        f"{family}-{play}": {"provider": "google", "api": "realtime", "id": f"{name}--{play}"}
        for family, name in FAMILIES.items()
        for play in live_gemini_plays.NAMED
    }


def agents() -> dict:
    common = {"tools": ["*_*"], "auto_execute": ["*_*"], "prompt": "You speak with {caller_name}."}
    alone = {alone_agent(family, play): {**common, "models": [f"{family}-{play}"]} for family, play in ALONE}
    return {"caller": {**common, "budget_tier": "deep", "models": list(models())}, **alone}


class Line(LiveLine):
    """With the provider behind it."""

    def __init__(self, folder):
        super().__init__(folder)
        self.provider = GeminiLive()
        entry = self.pace_server(
            tools={
                "look_up": {"estimated_duration_ms": 50},
                "weather": {"estimated_duration_ms": 50, "delivery": "when_idle"},
                "write_down": {"estimated_duration_ms": 50, "approval": "never"},
            }
        )
        slow = {**entry, "allow": ["weather"], "tools": {"weather": {"estimated_duration_ms": 5000}}}
        config = {
            "servers": {"pace": entry, "slow": slow},
            # Time enough, on a busy machine too, for all that is not about being late.
            "budget": {"min_samples": 100, "tiers": {"fast_ms": 2000, "standard_ms": 3500, "deep_ms": 6000}},
            "providers": {"google": {"kind": "gemini", "base_url": self.provider.url, "api_key": SECRET}},
            "models": models(),
            "agents": agents(),
            "default_agent": "caller",
            "keys": [
                {"name": "app", "key": KEY, "role": "caller", "rights": ["execute", "override_tier"], "agents": ["caller"]},
                *({"name": agent, "key": key_of(agent), "rights": ["execute"], "agents": [agent]} for agent in agents() if agent != "caller"),
            ],
        }
        self.start(config, "slow_weather", "--tls")

    def talk(self, client, model: str, *steps, key: str = KEY, **more) -> talks.Heard:
        more.setdefault("config", LIGHTS)
        return client(self.gateway.url, key, Talk(model, list(steps), answers=ANSWERS, **more))

    def stop(self) -> None:
        super().stop()
        self.provider.stop()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    with trusted(Line(tmp_path_factory.mktemp("gemini"))) as line:
        yield line


@pytest.fixture
def line(started):
    started.set()
    started.provider.sessions.clear()
    started.provider.keys.clear()
    return started


def say(text: str, turns: int = 1) -> dict:
    return {"say": text, "turns": turns}


def check_hidden(heard: talks.Heard) -> None:
    assert set(heard.kinds) <= PLAIN, heard.kinds
    assert (heard.calls, heard.closed) == ([], None)


def check_left(line: Line) -> None:
    """Each connection but the last was closed by the gateway, in order, before the next one was used."""
    *before, last = line.provider.sessions
    wait_for("the next connection", lambda: last.setup and all(session.closed for session in before), 30)
    assert {session.closed[0] for session in before} <= {1000}, [session.closed for session in before]


def declaring(**declaration) -> dict:
    return {"tools": [{"functionDeclarations": [{"name": "lights", **declaration}]}]}


@pytest.mark.parametrize(
    ("model", "config", "answer", "closed"),
    [
        ("3.8-live--mixed", declaring(), {"output": "on"}, None),
        ("3.8-live--mixed", declaring(), {"output": "on" * 20_000}, 1011),
        ("3.8-live--echo", declaring(parameters={"type": "OBJECT", "required": []}), {}, 1008),
        ("3.1-live--echo", declaring(behavior="NON_BLOCKING"), {}, 1007),
        ("3.8-live--echo", declaring(name="1 light"), {}, 1007),
    ],
)
def test_the_provider_alone_takes_what_googles_takes(started, model, config, answer, closed):
    """Without the gateway; the Python client would insist on TLS."""
    alone = GeminiLive()
    talk = Talk(f"gemini-{model}", [say("Hello?")], config, {"lights": answer, "pace_look_up": {"output": "none"}})
    try:
        heard = talks.javascript(alone.url, "any", talk)
        assert (heard.closed and heard.closed[0]) == closed, heard
    finally:
        alone.stop()


@EITHER
@EVERY
def test_a_tool_of_the_gateway_is_called_and_the_client_sees_only_the_answer(line, client, family):
    heard = line.talk(client, f"{family}-tool", say("Look it up."))
    assert "moon: nothing special" in heard.turns[0].text, heard
    check_hidden(heard)
    [session] = line.provider.sessions
    assert {"lights", "pace_look_up", "pace_write_down"} <= set(session.declared())
    assert session.setup["model"] == f"models/{FAMILIES[family]}--tool"
    assert session.instruction["parts"][0]["text"] == "You speak with there."
    assert line.provider.keys == [SECRET], "the provider never sees the client's key"


@EITHER
@EVERY
def test_a_batch_of_both_is_split(line, client, family):
    heard = line.talk(client, f"{family}-mixed", say("Light, and look it up."))
    assert heard.calls == [{"name": "lights", "args": {"on": True}}]
    assert "moon: nothing special" in heard.turns[0].text and "they are on" in heard.turns[0].text
    assert heard.closed is None


@EITHER
@pytest.mark.parametrize("family", ["2.5", "3.8", "thinking"])
def test_a_model_talks_on_beside_a_tool_that_it_need_not_wait_for(line, client, family):
    line.set(weather={"ms": 700})
    heard = line.talk(client, f"{family}-aside", say("How is the weather?", turns=2))
    assert heard.texts[0] == "One moment."
    assert "Rome: rain" in heard.texts[1]
    check_hidden(heard)
    [answers] = line.provider.sessions[-1].calls.answers.values()
    assert [answer["scheduling"] for answer in answers] == ["WHEN_IDLE"] * len(answers)


@EITHER
@pytest.mark.parametrize("family", ["2.5", "3.1", "3.8"])
def test_calls_that_are_taken_back_are_stopped_and_never_answered(line, client, family):
    line.set(look_up={"ms": 3000})
    before = line.count("look_up", "cancelled")
    config = {"config": LIGHTS}
    talk = Talk(f"{family}-cancel", [say("Look it up."), say("Hello?")], **config)
    heard = client(line.gateway.url, KEY, talk)
    assert heard.turns[0].interrupted and heard.texts[1] == "You said: Hello?"
    assert [call["name"] for call in heard.calls] == ["lights"]
    assert len(heard.cancelled) == 1, "only the client's own"
    assert line.provider.sessions[-1].calls.answers == {}
    wait_for("cancelled", lambda: line.count("look_up", "cancelled") == before + 1, 30)


@EITHER
@pytest.mark.parametrize("family", ["2.5", "3.1", "3.8"])
def test_a_call_that_was_only_interrupted_is_answered(line, client, family):
    line.set(look_up={"ms": 3000})
    heard = line.talk(client, f"{family}-interrupt", say("Look it up."))
    assert heard.turns[0].interrupted and "cancel" in heard.turns[0].text, heard
    check_hidden(heard)


@EITHER
def test_a_write_that_nobody_meant_is_not_done_and_one_that_stands_is_done_once(line, client):
    before = line.count("write_down")
    heard = line.talk(client, "3.8-hasty", say("Write it down."), say("Hello?"))
    assert heard.texts[1] == "You said: Hello?"
    assert line.count("write_down") == before
    heard = line.talk(client, "3.8-write", say("Write it down."))
    assert "written" in heard.texts[0]
    assert line.count("write_down") == before + 1


@EITHER
def test_a_function_that_nobody_has_is_refused_in_words(line, client):
    heard = line.talk(client, "3.8-unknown", say("Launch."))
    assert "error" in heard.texts[0] and "pace_launch" in heard.texts[0], heard
    check_hidden(heard)


@EITHER
def test_s_31_a_result_is_never_so_large_that_the_provider_closes(line, client):
    heard = line.talk(client, "3.8-large", say("Look it up."))
    assert len(heard.texts[0]) < 10_000
    check_hidden(heard)


@EITHER
@pytest.mark.parametrize("family", ["2.5", "3.1", "3.8"])
def test_what_took_too_long_is_told_when_it_is_there(line, client, family):
    line.set(look_up={"ms": 5500})
    heard = line.talk(client, f"{family}-tool", say("Look it up.", turns=2))
    assert "pending" in heard.texts[0], heard
    assert "moon: nothing special" in heard.texts[1]
    check_hidden(heard)


@EITHER
def test_a_provider_that_leaves_is_not_noticed(line, client):
    heard = line.talk(client, "3.8-leave", say("One."), {"turns": 0}, say("Two."))
    assert heard.texts == ["You said: One.", "You said: Two."]
    check_hidden(heard)
    wait_for("another connection", lambda: len(line.provider.sessions) == 2, 30)
    check_left(line)
    assert line.provider.sessions[1].setup["sessionResumption"]["handle"].startswith("handle-")


@EITHER
@pytest.mark.parametrize("family", ["2.5", "3.1", "3.8"])
def test_a_call_outlives_its_connection(line, client, family):
    line.set(look_up={"ms": 3000})
    heard = line.talk(client, f"{family}-leave-in-call", say("Look it up.", turns=2))
    assert heard.turns[0].interrupted, "the turn went with its connection"
    assert "moon: nothing special" in heard.texts[1], heard
    check_hidden(heard)
    check_left(line)


@EITHER
@pytest.mark.parametrize("family", ["2.5", "3.1", "3.8"])
def test_other_tools_come_with_another_tier(line, client, family):
    config = {**LIGHTS, **LISTENS}
    steps = [{"audio": "Hello there."}, {"audio": "Now think carefully about it."}, {"audio": "So, what is there?"}]
    heard = line.talk(client, f"{family}-tools", *steps, config=config)
    assert heard.turns[1].input == "Now think carefully about it."
    assert "slow_weather" not in heard.texts[0] and "pace_look_up" in heard.texts[0]
    # Older models know it from the next turn on.
    assert "slow_weather" in heard.texts[1 if family == "3.8" else 2], heard
    assert heard.turns[0].transcript == heard.texts[0]
    check_hidden(heard)
    assert all("lights" in session.declared() for session in line.provider.sessions)
    assert len(line.provider.sessions) == (1 if family == "3.8" else 2)
    check_left(line)


@EITHER
def test_a_provider_that_breaks_is_connected_once_more(line, client):
    heard = line.talk(client, "3.8-crash", say("Look it up."), key=key_of(alone_agent("3.8", "crash")))
    assert len(line.provider.sessions) == 2
    assert heard.closed is None, heard


@EITHER
@EVERY
def test_a_session_whose_handle_is_refused_goes_on_with_what_was_said(line, client, family):
    config = {**LIGHTS, **LISTENS}
    steps = [{"audio": "My name is Ada."}, {"audio": "Are you there?"}]
    heard = line.talk(client, f"{family}-vanish", *steps, key=key_of(alone_agent(family, "vanish")), config=config)
    assert heard.texts == ["You said: My name is Ada.", "You said: Are you there?"]
    first, refused, fresh = line.provider.sessions
    assert refused.setup["sessionResumption"]["handle"].startswith("handle-")
    assert "handle" not in fresh.setup["sessionResumption"]
    told = fresh.received[0]["clientContent"]
    assert told["turnComplete"] is False
    assert [turn["role"] for turn in told["turns"]] == ["user", "model"]
    assert "My name is Ada." in json.dumps(told["turns"][0])
    assert first.tools == fresh.tools
    check_hidden(heard)


@EITHER
def test_a_provider_that_falls_silent_after_its_announcement_is_left_in_time(line, client):
    heard = line.talk(client, "3.8-expire", say("Hello."), say("Still there?"))
    assert heard.texts == ["You said: Hello.", "You said: Still there?"]
    assert line.provider.sessions[1].setup["sessionResumption"]["handle"].startswith("handle-")
    check_hidden(heard)


def test_an_answer_to_a_call_that_is_not_the_clients_never_reaches_the_provider(line):
    line.set(look_up={"ms": 1000})
    first = next(line.provider.numbers) + 1
    forged = {"id": f"function-call-{first}", "name": "pace_look_up", "response": {"output": "forged"}}
    heard = line.talk(talks.python, "3.8-mixed", say("Both."), forged=forged)
    assert heard.closed[0] == 400, "the client is told"
    answers = line.provider.sessions[-1].calls.answers
    wait_for("the client's own answer", lambda: "they are on" in json.dumps(answers), 30)
    assert "forged" not in json.dumps(answers)


def test_a_client_may_wish_for_a_tier_and_hears_what_it_sent_wrongly(line):
    path = "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    url = f"{line.gateway.url.replace('https', 'wss')}/{path}?key={KEY}"
    with connect(url, ssl=line.trust()) as socket:

        def ask(message) -> dict:
            socket.send(message if isinstance(message, str) else json.dumps(message))
            return json.loads(socket.recv(timeout=10))

        assert ask({"setup": {"model": "models/3.8-tools"}}) == {"setupComplete": {}}
        [session] = line.provider.sessions
        assert "slow_weather" not in session.declared()
        assert ask({"tollgate": {"tier": "deep"}})["tollgate"]["tier"] == "deep"
        wait_for("its tools", lambda: "slow_weather" in session.declared(), 30)
        assert ask({"tollgate": {"tier": "slow"}})["error"]["status"] == "INVALID_ARGUMENT"
        assert ask("garbage")["error"]["code"] == 400
        assert [list(message) for message in session.received] == [["contextUpdate"]], "nothing else got through"
