"""Deepgram's own client and OpenAI's client of GPT-Live, with Tollgate between them and providers that speak the real
protocols: both see a session of their own, in which the gateway's tools are never to be seen."""

import base64
import json

import pytest
from deepgram import DeepgramClient
from deepgram.agent.v1.types import AgentV1InjectUserMessage, AgentV1SendFunctionCallResponse, AgentV1Settings
from deepgram.agent.v1.types import AgentV1UpdateThink
from deepgram.environment import DeepgramClientEnvironment
from openai import OpenAI

from harness.gateway import Gateway
from harness.paths import program
from harness.process import wait_for
from provider.live_deepgram import AUDIO, Deepgram
from provider.live_gpt import GptLive

KEY, SECRET = "key-of-the-client-0123456789", "secret-of-the-provider-0123456789"
DICER = {"tools": ["roll", "pace_look_up"], "auto_execute": ["roll", "pace_look_up"], "engine": "s2s", "budget_tier": "deep"}


class Place:
    """A gateway before the two providers."""

    def __init__(self, folder):
        self.deepgram, self.gpt = Deepgram(), GptLive()
        # A server may not write beside the config.
        pace = folder / "pace" / "pace.json"
        pace.parent.mkdir()
        pace.write_text(json.dumps({"look_up": {"ms": 3_000}}))
        slow = {"command": [*program("servers", "pace"), "--pace", str(pace)], "trusted": True}
        slow["tools"] = {"look_up": {"estimated_duration_ms": 3_000}}
        config = {
            "servers": {"pace": slow},
            "providers": {
                "dg": {"kind": "deepgram", "base_url": self.deepgram.url, "api_key": SECRET},
                "oa": {"kind": "openai", "base_url": self.gpt.url, "api_key": SECRET},
                "demo": {"kind": "offline"},
            },
            "models": {
                "thinker": {"provider": "dg", "id": "gpt-4o-mini", "api": "realtime"},
                "open": {"provider": "dg"},
                "voice": {"provider": "oa", "id": "gpt-live-1", "api": "realtime"},
                "small": {"provider": "demo"},
            },
            "agents": {
                "caller": {**DICER, "models": ["thinker"], "prompt": "You roll dice."},
                "free": {**DICER, "models": ["open"]},
                "talker": {**DICER, "models": ["voice"], "prompt": "You roll dice."},
                "deep": {**DICER, "models": ["voice", "small"]},
            },
            "default_agent": "caller",
            "keys": [{"name": "app", "key": KEY, "role": "caller"}],
        }
        self.gateway = Gateway(folder, config)
        self.folder = folder
        self.gateway.wait_for_server("pace")

    def forget(self) -> None:
        for provider in (self.deepgram, self.gpt):
            provider.sessions.clear()
            provider.complaints.clear()

    def stop(self) -> None:
        self.gateway.stop()
        self.deepgram.stop()
        self.gpt.stop()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("realtime"))
    yield place
    place.stop()


@pytest.fixture
def place(running):
    running.forget()
    yield running
    assert running.deepgram.complaints == []
    assert running.gpt.complaints == []


# --- Deepgram


def think(**more) -> dict:
    return {"provider": {"type": "open_ai", "model": "thinker"}, **more}


def thinker_of(session) -> str:
    return session.thinks[-1]["provider"]["model"]


def settings(**more) -> AgentV1Settings:
    audio = {"input": {"encoding": "linear16", "sample_rate": 24_000}}
    return AgentV1Settings(audio=audio, agent={"think": think(**more)})


def deepgram(place, agent: str = "caller"):
    address = place.gateway.url.replace("http", "ws", 1)
    environment = DeepgramClientEnvironment(
        base=place.gateway.url, production=address, agent=address, agent_rest=place.gateway.url
    )
    headers = {"additional_headers": {"x-tollgate-agent": agent}}
    return DeepgramClient(api_key=KEY, environment=environment).agent.v1.connect(request_options=headers)


def until(connection, type: str) -> list:
    """All that comes up to and with the next message of this type."""
    heard = []
    while not heard or getattr(heard[-1], "type", None) != type:
        heard.append(connection.recv())
    return heard


def types(heard) -> list[str]:
    """What the client has no type for is the gateway's own, and was asked for."""
    return ["audio" if isinstance(message, bytes) else getattr(message, "type", "own") for message in heard]


def said(heard) -> list[str]:
    return [message.content for message in heard if getattr(message, "role", None) == "assistant"]


def ask(connection, text: str) -> list:
    connection.send_inject_user_message(AgentV1InjectUserMessage(content=text))
    return until(connection, "AgentAudioDone")


LAMP = {"name": "lamp", "description": "switches a lamp", "parameters": {"type": "object", "properties": {}}}


def test_deepgrams_client_gets_answers_of_tools_that_it_never_sees(place):
    with deepgram(place) as connection:
        # Some clients say nothing until they are welcome.
        assert connection.recv().type == "Welcome"
        connection.send_settings(settings(prompt="Be kind."))
        until(connection, "SettingsApplied")
        heard = ask(connection, "roll a die")
    assert types(heard) == ["ConversationText", "ConversationText", "audio", "AgentAudioDone"]
    assert heard[2] == AUDIO
    (words,) = said(heard)
    assert json.loads(words)["data"]["total"] == 42
    (session,) = place.deepgram.sessions
    assert thinker_of(session) == "gpt-4o-mini"
    assert session.thinks[0]["prompt"] == "You roll dice.\n\nBe kind."
    assert place.deepgram.keys[-1] == f"Token {SECRET}"


def test_a_request_for_both_sides_is_split(place):
    with deepgram(place) as connection:
        connection.send_settings(settings(functions=[LAMP]))
        until(connection, "SettingsApplied")
        connection.send_inject_user_message(AgentV1InjectUserMessage(content="both"))
        request = until(connection, "FunctionCallRequest")[-1]
        assert [function.name for function in request.functions] == ["lamp"]
        connection.send_function_call_response(
            AgentV1SendFunctionCallResponse(id=request.functions[0].id, name="lamp", content="on")
        )
        (words,) = said(until(connection, "AgentAudioDone"))
    assert "42" in words and "on" in words


def test_another_tier_has_other_functions_and_calls_that_are_taken_back_are_not_answered(place):
    with deepgram(place) as connection:
        connection.send_settings(settings())
        until(connection, "SettingsApplied")
        (session,) = place.deepgram.sessions
        assert set(session.functions) == {"roll"}
        connection.send_raw({"type": "tollgate.tier", "tier": "deep"})
        wait_for("another tier", lambda: "pace_look_up" in session.functions, 30)
        connection.send_inject_user_message(AgentV1InjectUserMessage(content="resume"))
        heard = until(connection, "UserStartedSpeaking")
        heard += ask(connection, "hello")
        cancelled = place.folder / "pace" / "look_up.cancelled"
        wait_for("the end of the call", cancelled.exists, 30)
    assert said(heard) == ["You said: hello"]
    assert not {"FunctionCallRequest", "FunctionCallCancelled", "ThinkUpdated"} & set(types(heard))
    assert session.answers == {}


def test_a_change_of_the_think_block_keeps_our_functions(place):
    with deepgram(place) as connection:
        connection.send_settings(settings())
        until(connection, "SettingsApplied")
        connection.send_update_think(AgentV1UpdateThink(think=think(functions=[LAMP])))
        until(connection, "ThinkUpdated")
        assert "42" in said(ask(connection, "roll"))[0]
    (session,) = place.deepgram.sessions
    assert set(session.functions) == {"lamp", "roll"}


def test_another_model_than_the_sessions_is_refused(place):
    with deepgram(place) as connection:
        connection.send_settings(settings())
        until(connection, "SettingsApplied")
        other = {"provider": {"type": "anthropic", "model": "claude-dear"}}
        connection.send_update_think(AgentV1UpdateThink(think=other))
        warning = until(connection, "Warning")[-1]
    assert warning.code == "MODEL_NOT_OFFERED"
    assert len(place.deepgram.sessions[0].thinks) == 1


def test_a_model_that_the_config_does_not_pin_is_the_clients(place):
    with deepgram(place, "free") as connection:
        connection.send_settings(AgentV1Settings(audio={}, agent={"think": {"provider": {"type": "google", "model": "g"}}}))
        until(connection, "SettingsApplied")
        assert "42" in said(ask(connection, "roll"))[0]
        connection.send_update_think(AgentV1UpdateThink(think={"provider": {"type": "anthropic", "model": "c"}}))
        until(connection, "ThinkUpdated")
        assert "42" in said(ask(connection, "roll"))[0]
    assert thinker_of(place.deepgram.sessions[0]) == "c"


# --- GPT-Live


def live(place, agent: str = "talker"):
    client = OpenAI(api_key=KEY, base_url=f"{place.gateway.url}/v1")
    return client.live.connect(extra_headers={"x-tollgate-agent": agent})


def start(connection, delegation: dict | None) -> object:
    session = {"model": "voice", "instructions": "Be kind."}
    if delegation:
        session["delegation"] = delegation
    connection.send({"type": "session.start", "session": session})
    return up_to(connection, "session.started")[-1]


def responses(*tools: dict) -> dict:
    return {"type": "responses", "responses": {"model": "gpt-5.6", "tools": list(tools)}}


def up_to(connection, type: str) -> list:
    events = []
    while not events or events[-1].type != type:
        events.append(connection.recv())
    return events


def speak(connection, text: str, end: str = "session.output_audio.delta") -> list:
    audio = base64.b64encode(text.encode()).decode()
    connection.send({"type": "session.input_audio.append", "audio": audio})
    return up_to(connection, end)


def spoken(events) -> str:
    return "".join(event.delta for event in events if event.type == "session.output_transcript.delta")


def nested(events) -> list[str]:
    return [event.event["type"] for event in events if event.type == "response.event"]


SWITCH = {"type": "function", "name": "lamp", "parameters": {"type": "object", "properties": {}}}


def test_gpt_lives_backend_uses_tools_that_the_client_never_sees(place):
    with live(place) as connection:
        started = start(connection, responses())
        assert started.session.instructions == "Be kind."
        assert not started.session.delegation.responses.tools
        events = speak(connection, "roll a die")
    assert nested(events) == ["response.created", "response.completed"] * 2
    assert json.loads(spoken(events))["data"]["total"] == 42
    (session,) = place.gpt.sessions
    assert session.config["model"] == "gpt-live-1"
    assert session.config["instructions"] == "You roll dice.\n\nBe kind."
    assert session.tool_lists[0] == ["roll"]


def test_a_batch_goes_on_when_client_and_gateway_have_answered(place):
    with live(place) as connection:
        start(connection, responses(SWITCH))
        audio = base64.b64encode(b"both").decode()
        connection.send({"type": "session.input_audio.append", "audio": audio})
        calls = []
        while not calls:
            event = connection.recv()
            if event.type == "response.event" and event.event["type"] == "response.output_item.done":
                calls.append(event.event["item"])
        assert [call["name"] for call in calls] == ["lamp"]
        output = {"type": "function_call_output", "call_id": calls[0]["call_id"], "output": "on"}
        connection.send({"type": "response.item.create", "item": output})
        connection.send({"type": "response.create"})
        words = spoken(up_to(connection, "session.output_audio.delta"))
    assert "42" in words and "on" in words


def test_what_the_voice_delegates_another_model_answers(place):
    with live(place, "deep") as connection:
        start(connection, None)
        events = speak(connection, "ask roll 1d1")
    assert "session.delegation.created" not in [event.type for event in events]
    assert spoken(events)
    (session,) = place.gpt.sessions
    wait_for("the words", lambda: session.commentary, 30)


def test_a_client_of_gpt_live_cannot_answer_our_calls(place):
    with live(place) as connection:
        start(connection, responses())
        speak(connection, "roll")
        (session,) = place.gpt.sessions
        (id,) = session.results
        output = {"type": "function_call_output", "call_id": id, "output": "1000"}
        connection.send({"type": "response.item.create", "event_id": "mine", "item": output})
        error = up_to(connection, "error")[-1].error
    assert (error.code, error.client_event_id) == ("tool_call_not_yours", "mine")
