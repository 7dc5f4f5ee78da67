"""OpenAI Realtime through the gateway: the official clients, a provider as strict as OpenAI's, tools of a real MCP server
beside the client's own."""

import json

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from harness import realtime
from harness.live_line import LiveLine, check_answered, check_hidden, say, speak, trusted, wait
from harness.process import wait_for
from harness.realtime import Heard, Talk
from provider import live_openai_plays
from provider.live_openai import OpenAiLive

KEY = LiveLine.key
# Of what the gateway adds to a conversation.
IDS = ('"tg-', "call_tg")
SECRET = "secret-of-openai-0123456789"
EVERY = pytest.mark.parametrize("client", realtime.CLIENTS.values(), ids=realtime.CLIENTS)
# Clients that tell how the connection ended.
PLAIN = pytest.mark.parametrize(
    "client", [realtime.CLIENTS[name] for name in ("python", "javascript")], ids=["python", "javascript"]
)


class Line(LiveLine):
    """With the provider behind it."""

    def __init__(self, folder):
        super().__init__(folder)
        self.provider = OpenAiLive()
        entry = self.pace_server(
            defaults={"slow_response_threshold_ms": 700, "slow_response_message": "One moment, please."},
            tools={
                "look_up": {"estimated_duration_ms": 50},
                "weather": {"estimated_duration_ms": 50, "delivery": "when_idle"},
                "write_down": {"estimated_duration_ms": 50},
            },
        )
        slow = {"allow": ["weather"], "tools": {"weather": {"estimated_duration_ms": 3000}}}
        models = {
            play: {"provider": "openai", "api": "realtime", "id": f"gpt-realtime-2.1--{play}"}
            for play in live_openai_plays.NAMED
        }
        common = {
            "tools": ["pace_*"],
            "auto_execute": ["pace_*", "pace_write_down"],
            "prompt": "You speak with {caller_name}.",
            "budget_tier": "deep",
        }
        config = {
            "servers": {"pace": entry, "archive": {**entry, **slow}},
            # Time enough, on a busy machine too, for all that is not about being late.
            "budget": {"min_samples": 100, "tiers": {"fast_ms": 2000, "standard_ms": 2500, "deep_ms": 6000}},
            "providers": {
                "openai": {"kind": "openai", "base_url": self.provider.url, "api_key": SECRET},
                "demo": {"kind": "offline"},
            },
            "models": {**models, "small": {"provider": "demo"}},
            "agents": {
                "caller": {**common, "models": list(models)},
                # Nothing takes over from its model.
                "lonely": {**common, "models": ["closing"]},
                # Deep turns of it are answered by a model of another kind.
                "thinker": {
                    **common, "engine": "s2s", "models": ["waiting", "small"], "tools": ["pace_*", "archive_*"],
                },
            },
            "default_agent": "caller",
            "keys": [{"name": "app", "key": KEY, "role": "caller", "rights": ["execute", "override_tier"]}],
        }
        self.start(config, "pace_look_up", "--tls")

    def talk(self, client, model: str, *steps, **more) -> Heard:
        return client(self.gateway.url, KEY, Talk(model, list(steps), **more))

    @property
    def session(self):
        [session] = self.provider.sessions
        return session

    def stop(self) -> None:
        super().stop()
        self.provider.stop()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    with trusted(Line(tmp_path_factory.mktemp("openai"))) as line:
        yield line


@pytest.fixture
def line(started):
    started.set()
    started.provider.forget()
    return started


@EVERY
def test_a_tool_of_the_gateway_is_called_and_the_client_sees_only_the_answer(line, client):
    heard = line.talk(client, "tool", say("Look it up.", "The tool said"), instructions="Speak like a pirate.")
    assert "moon: nothing special" in heard.said[-1], heard
    assert heard.calls == []
    assert heard.tools == ["lights"]
    check_hidden(heard, *IDS)
    check_answered(line.session)
    session = line.session
    assert {"lights", "pace_look_up", "pace_write_down"} <= {tool["name"] for tool in session.config["tools"]}
    assert session.config["instructions"] == "You speak with there.\n\nSpeak like a pirate."
    assert line.provider.keys == [SECRET], "the provider never sees the client's key"
    assert session.model == "gpt-realtime-2.1--tool"


@EVERY
def test_a_spoken_turn_gets_a_spoken_answer(line, client):
    heard = line.talk(client, "tool", speak("Look it up.", "The tool said"))
    assert "moon: nothing special" in heard.said[-1]
    assert "conversation.item.input_audio_transcription.completed" in heard.kinds
    check_hidden(heard, *IDS)
    check_answered(line.session)


@EVERY
def test_a_tool_of_the_client_is_the_clients(line, client):
    heard = line.talk(client, "client-tool", say("Light!", "The tool said"))
    assert (heard.calls, heard.said[-1]) == (["lights"], "The tool said: they are on")
    check_hidden(heard, *IDS)


@EVERY
def test_calls_of_both_in_one_response_are_told_together(line, client):
    line.set(look_up={"ms": 300})
    heard = line.talk(client, "mixed", say("Light, and look it up.", "The tool said"))
    assert heard.calls == ["lights"]
    assert "moon: nothing special" in heard.said[-1] and "they are on" in heard.said[-1], heard.said
    assert len([said for said in heard.said if "The tool said" in said]) == 1
    check_hidden(heard, *IDS)
    check_answered(line.session)


@EVERY
def test_calls_side_by_side_get_one_response(line, client):
    heard = line.talk(client, "parallel", say("Do it all.", "The tool said"))
    assert "moon: nothing special" in heard.said[-1] and "written" in heard.said[-1]
    check_hidden(heard, *IDS)
    check_answered(line.session)


@EVERY
def test_words_and_a_call_in_one_response_are_both_heard(line, client):
    heard = line.talk(client, "text-and-tool", say("Look it up.", "The tool said"))
    assert heard.said[0] == "One moment." and "moon" in heard.said[-1]
    check_hidden(heard, *IDS)


@EVERY
def test_an_answer_waits_for_the_end_of_the_response(line, client):
    heard = line.talk(client, "tool-late-end", say("Look it up.", "The tool said"))
    assert "moon: nothing special" in heard.said[-1]
    check_hidden(heard, *IDS)
    check_answered(line.session)


@EVERY
def test_a_race_is_lost_without_a_word_and_the_answer_is_still_told(line, client):
    heard = line.talk(client, "racing", say("Look it up.", "The tool said"))
    assert heard.said[-2:] == ["By the way.", heard.said[-1]] and "moon" in heard.said[-1], heard.said
    check_hidden(heard, *IDS)
    check_answered(line.session, "conversation_already_has_active_response")


@EVERY
def test_a_caller_who_speaks_stops_the_call(line, client):
    line.set(look_up={"ms": 3000})
    before = line.count("look_up", "cancelled")
    begun = {"say": "Look it up.", "seen": "response.output_audio_transcript.delta"}
    heard = line.talk(client, "long", begun, speak("Wait, hello?", "You said: Wait"))
    assert heard.said[-1] == "You said: Wait, hello?"
    check_hidden(heard, *IDS)
    wait_for("cancelled", lambda: line.count("look_up", "cancelled") == before + 1, 30)
    check_answered(line.session)


@EVERY
def test_arguments_that_were_cut_off_never_run(line, client):
    before = line.count("look_up")
    heard = line.talk(client, "cut-off", {"say": "Look it up.", "seen": "response.done"}, say("Hello?", "You said: Hello?"))
    assert heard.said[-1] == "You said: Hello?"
    assert line.count("look_up") == before
    check_answered(line.session)


@EVERY
@pytest.mark.parametrize("model", ["twice", "unknown-tool", "bad-arguments"])
def test_strange_calls_are_answered_once(line, client, model):
    heard = line.talk(client, model, say("Look it up.", "The tool said"))
    assert heard.said[-1] != "The tool said: "
    check_hidden(heard, *IDS)
    check_answered(line.session)
    assert len(line.session.answers) == 1


@EVERY
def test_a_result_for_later_is_spoken_of_when_it_comes(line, client):
    line.set(weather={"ms": 5000})
    heard = line.talk(
        client,
        "aside",
        {"say": "How is the weather?", "seen": "response.done"},
        speak("Are you there?", "You said"),
        wait("The tool said"),
    )
    assert "Rome: rain" in heard.said[-1]
    check_hidden(heard, *IDS)
    check_answered(line.session)


@EVERY
def test_a_slow_call_is_announced_beside_the_conversation(line, client):
    line.set(look_up={"ms": 3500})
    heard = line.talk(client, "tool", say("Please think carefully.", "One moment, please."), wait("The tool said"))
    assert heard.said[0] == "One moment, please." and "moon" in heard.said[-1]
    check_hidden(heard, *IDS)
    check_answered(line.session)
    assert not any("One moment" in json.dumps(item) for item in line.session.items)


@EVERY
@pytest.mark.parametrize("acks", ["once", "late", "twice", "never"])
def test_what_took_too_long_is_told_when_it_is_there(line, client, acks):
    line.provider.acks = acks
    line.set(look_up={"ms": 5500})
    heard = line.talk(client, "tool", say("Look it up.", "The tool said"), wait("moon: nothing special"))
    assert "moon" not in heard.said[0], heard.said
    assert len([said for said in heard.said if "moon: nothing special" in said]) == 1, heard.said
    check_hidden(heard, *IDS)
    check_answered(line.session)
    told = [text for _, who, text in line.session.timeline if who == "tool" and "nothing special" in text]
    assert len(told) == 1, line.session.timeline


@EVERY
def test_a_deep_turn_is_answered_by_another_model_and_spoken_by_this_one(line, client):
    heard = line.talk(client, "thinker", say("Please think carefully: what do you have?", "The tool said"))
    [output] = [item["output"] for item in line.session.items if item["type"] == "function_call_output"]
    answer = json.loads(output)["answer"]
    assert "offline model" in answer and "offline model" in heard.said[-1]
    check_hidden(heard, *IDS)
    check_answered(line.session)
    asked = [event["response"] for event in line.session.received if event["type"] == "response.create"]
    assert [response["tool_choice"] for response in asked] == ["none"]
    assert answer not in asked[0]["instructions"], "what another model said is no instruction"


@EVERY
def test_an_event_of_ten_megabytes_passes(line, client):
    heard = line.talk(client, "huge", say("Hello?", "You said"))
    assert heard.said == ["You said: Hello?"] and heard.closed is None


@PLAIN
def test_a_provider_that_closes_in_the_middle_of_a_call_is_told_as_it_closed(line, client):
    heard = line.talk(client, "lonely", say("Look it up.", "never"))
    assert len(line.provider.sessions) == 2, "it was asked once more"
    assert heard.closed == [1011, "The server had an error while processing your request."]


@PLAIN
def test_b_ws_12_an_answer_of_ours_cannot_be_forged(line, client):
    line.set(look_up={"ms": 400})
    forged = {"type": "function_call_output", "call_id": "call_x", "output": "forged"}
    heard = line.talk(
        client,
        "tool",
        {"send": {"type": "conversation.item.create", "event_id": "mine", "item": forged}},
        say("Look it up.", "The tool said"),
    )
    assert heard.errors == ["invalid_tool_call_id"]
    assert "forged" not in heard.said[-1]


@PLAIN
def test_the_tier_is_wished_for_and_told(line, client):
    wish = {"send": {"type": "tollgate.tier", "tier": "fast"}}
    heard = line.talk(client, "tool", wish, say("Look it up.", "The tool said"))
    assert "tollgate.tier" in heard.kinds
    assert '"fast"' in heard.raw


REFUSALS = [
    ("{", "invalid_json"),
    (b"{}", "invalid_event"),
    ("[]", "invalid_event"),
    ({"type": "session.close"}, "invalid_value"),
    ({"type": "session.update", "session": {"type": "realtime", "colour": "red"}}, "unknown_parameter"),
    (
        {"type": "session.update", "session": {"type": "realtime", "audio": {"input": {"format": {"type": "audio/pcm", "rate": 8000}}}}},
        "integer_below_min_value",
    ),
    ({"type": "input_audio_buffer.commit"}, "input_audio_buffer_commit_empty"),
    ({"type": "input_audio_buffer.append", "audio": "!"}, "invalid_value"),
    ({"type": "response.cancel"}, "response_cancel_not_active"),
    ({"type": "conversation.item.truncate", "item_id": "x", "content_index": 0, "audio_end_ms": 1}, "item_truncate_invalid_item_id"),
    ({"type": "conversation.item.delete", "item_id": "x"}, "item_delete_invalid_item_id"),
    (
        {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c" * 33, "output": ""}},
        "string_above_max_length",
    ),
]  # fmt: skip


@pytest.fixture
def alone():
    provider = OpenAiLive(SECRET)
    try:
        yield provider
    finally:
        provider.stop()


def dial(provider: OpenAiLive, query: str = "?model=gpt-realtime-2.1--echo", **headers):
    url = provider.url.replace("http", "ws") + "/realtime" + query
    return connect(url, additional_headers={"authorization": f"Bearer {SECRET}", **headers})


def test_the_provider_alone_refuses_what_openais_refuses(alone):
    with dial(alone) as socket:
        created = json.loads(socket.recv(10))["session"]
        assert created["expires_at"] > 0
        for sent, code in REFUSALS:
            socket.send(json.dumps(sent) if isinstance(sent, dict) else sent)
            answer = json.loads(socket.recv(10))
            assert (answer["type"], answer["error"]["code"]) == ("error", code), sent
    assert alone.sessions[0].config["tools"] == created["tools"], "a refused update changes nothing"


@pytest.mark.parametrize(
    ("query", "headers", "code", "closed"),
    [
        ("?model=gpt-realtime-2.1--echo", {"authorization": "Bearer other"}, "invalid_api_key", 3000),
        ("?model=gpt-realtime-2.1--echo", {"authorization": ""}, None, 3000),
        ("?model=gpt-realtime-2.1--echo", {"openai-beta": "realtime=v1"}, "beta_api_shape_disabled", 4000),
        ("?model=gpt-9", {}, "invalid_model", 4000),
        ("", {}, "missing_model", 4000),
    ],
)
def test_the_provider_alone_closes_what_openais_closes(alone, query, headers, code, closed):
    with dial(alone, query, **headers) as socket:
        answer = json.loads(socket.recv(10))
        assert (answer["type"], answer["error"]["code"]) == ("error", code)
        with pytest.raises(ConnectionClosed) as gone:
            socket.recv(10)
    assert gone.value.rcvd.code == closed


def test_a_call_that_somebody_else_holds_gets_our_tools_too(line):
    heard = realtime.sideband(line.gateway.url, KEY, "rtc_123", "The tool said")
    assert "moon: nothing special" in heard.said[-1]
    assert line.provider.queries[0].get("call_id") == ["rtc_123"]
    names = [tool["name"] for tool in line.session.config["tools"]]
    assert names[0] == "lights" and "pace_look_up" in names
    check_hidden(heard, *IDS)
    check_answered(line.session)
