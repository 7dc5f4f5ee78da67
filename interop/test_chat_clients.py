"""Whole tool conversations of every official client through the gateway, streamed and not."""

import json

import pytest

from fronts import DIALECTS, FRONTS
from fronts.heard import WEATHER
from harness.models import CLIENT_KEY, KINDS, SECRETS

EVERY = pytest.mark.parametrize("name", FRONTS)
ONE_EACH = pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])
EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
ROUND = (11, 7)


@pytest.fixture(autouse=True)
def sent(chat):
    """Whatever a test is about: what is sent to providers is what their own clients could have sent."""
    yield
    chat.check_sent()


def spent(rounds: int) -> tuple[int, int]:
    return ROUND[0] * rounds, ROUND[1] * rounds


def kind_of(front) -> str:
    """The provider that speaks as the client does."""
    return front.dialect


@EVERY
@EITHER
def test_a_model_answers_without_any_agent(chat, name, stream):
    front = chat.front(name)
    heard = front.ask(f"{kind_of(front)}-echo", front.begin("grüß dich ✓"), stream=stream)
    assert (heard.text, heard.calls, heard.finish, heard.usage) == ("You said: grüß dich ✓", [], "stop", spent(1))
    assert heard.told is None, "nothing was done but to ask"
    assert [seen.dialect for seen in chat.seen] == [front.dialect]
    assert "roll" not in json.dumps(chat.seen[0].body), "a plain completion brings no tools"


@EVERY
@EITHER
def test_an_agent_rolls_and_tells_the_result(chat, name, stream):
    front = chat.front(name)
    heard = front.ask(f"dice-{kind_of(front)}", front.begin("Please roll."), stream=stream)
    assert "42" in heard.text
    assert (heard.calls, heard.finish, heard.usage) == ([], "stop", spent(2))
    [call] = heard.told["calls"]
    assert (heard.told["ended"], heard.told["rounds"]) == ("answered", 2)
    assert (call["name"], call["status"]) == ("roll", "ok")
    assert heard.headers["x-tollgate-agent"] == f"dice-{kind_of(front)}"
    assert heard.headers["x-tollgate-tools-visible"] == "1"
    assert heard.headers["x-tollgate-call-id"]


@EVERY
@EITHER
def test_an_agent_in_the_header_uses_the_model_that_is_asked_for(chat, name, stream):
    front = chat.front(name, "dicer")
    heard = front.ask(f"{kind_of(front)}-text-and-tool", front.begin("Please roll."), stream=stream)
    assert heard.text.startswith("Let me see.") and "42" in heard.text
    assert heard.headers["x-tollgate-agent"] == "dicer"
    assert "You roll dice for there." in json.dumps(chat.seen[0].body)


@EVERY
@EITHER
def test_calls_of_one_answer_come_back_in_order(chat, name, stream):
    front = chat.front(name, "dicer")
    heard = front.ask(f"{kind_of(front)}-parallel", front.begin("Roll three times."), stream=stream)
    places = [heard.text.index(f"makes {total}") for total in (1, 2, 3)]
    assert places == sorted(places)
    assert [call["status"] for call in heard.told["calls"]] == ["ok"] * 3
    assert (heard.finish, heard.usage) == ("stop", spent(2))


@EVERY
@EITHER
@pytest.mark.parametrize("agent", [None, "dicer"])
def test_a_tool_of_the_client_stays_the_clients(chat, name, stream, agent):
    front = chat.front(name, agent)
    history = front.begin("How is the weather in Paris?")
    model = f"{kind_of(front)}-client-tool"
    heard = front.ask(model, history, [WEATHER], stream)
    [call] = heard.calls
    assert (call.name, call.arguments, heard.finish) == ("get_weather", {"city": "Paris"}, "calls")
    heard = front.ask(model, front.go_on(history, heard, {call.id: "It rains."}), [WEATHER], stream)
    assert (heard.text, heard.calls, heard.finish) == ("The tool said: It rains.", [], "stop")
    assert [WEATHER["schema"]["required"][0] in json.dumps(seen.body) for seen in chat.seen] == [True, True]


@EVERY
@EITHER
@pytest.mark.parametrize("script", ["mixed", "mixed-late"])
def test_calls_of_both_kinds_in_one_turn(chat, name, stream, script):
    front = chat.front(name, "dicer")
    history = front.begin("Roll, and say how the weather is.")
    model = f"{kind_of(front)}-{script}"
    heard = front.ask(model, history, [WEATHER], stream)
    [call] = heard.calls
    assert (call.name, heard.finish, heard.told["ended"]) == ("get_weather", "calls", "calls_pending")
    assert [ran["name"] for ran in heard.told["calls"]] == ["roll"]
    # With what was done here in its history, the client needs only its own result.
    heard.native = heard.told["history"]
    heard = front.ask(model, front.go_on(history, heard, {call.id: "It rains."}), [WEATHER], stream)
    assert "42" in heard.text and "It rains." in heard.text
    assert heard.finish == "stop"


@ONE_EACH
@EITHER
def test_a_tool_that_needs_leave_is_returned_and_can_be_run(chat, name, stream):
    front = chat.front(name, "careful")
    history = front.begin("Please roll.")
    heard = front.ask(f"{kind_of(front)}-tool-once", history, stream=stream)
    [call] = heard.calls
    assert (call.name, heard.finish, heard.told["ended"]) == ("roll", "calls", "calls_pending")
    heard = front.ask(f"{kind_of(front)}-tool-once", front.go_on(history, heard, {call.id: "42"}), stream=stream)
    assert (heard.text, heard.finish) == ("The tool said: 42", "stop")


@ONE_EACH
@EITHER
def test_the_told_history_replaces_the_answer(chat, name, stream):
    front = chat.front(name, "dicer")
    model = f"{kind_of(front)}-tool-once"
    history = front.begin("Please roll.")
    heard = front.ask(model, history, stream=stream)
    heard.native = heard.told["history"]
    again = [*front.go_on(history, heard, {})[: len(history) + len(heard.native)], *front.begin("And now?")]
    heard = front.ask(f"{kind_of(front)}-echo", again, stream=stream)
    assert heard.text == "You said: And now?"
    assert "makes 42" in json.dumps(chat.seen[-1].body), "the result is part of what the model reads"


@ONE_EACH
@EITHER
def test_thoughts_and_their_signatures_go_back_where_they_came_from(chat, name, stream):
    front = chat.front(name, "dicer")
    heard = front.ask(f"{kind_of(front)}-thinking", front.begin("Please roll."), stream=stream)
    assert "42" in heard.text, "the provider refuses thoughts that are not its own"


@ONE_EACH
@EITHER
@pytest.mark.parametrize("script", ["refusal", "length"])
@pytest.mark.parametrize("agent", [None, "dicer"])
def test_why_it_ended_is_told_as_the_provider_said_it(chat, name, stream, script, agent):
    front = chat.front(name, agent)
    heard = front.ask(f"{kind_of(front)}-{script}", front.begin("Go on."), stream=stream)
    assert heard.finish == script


@pytest.mark.parametrize("name", ["openai-py-chat", "openai-py-responses", "anthropic-py"])
def test_a_stream_says_what_is_being_done(chat, name):
    front = chat.front(name, "dicer")
    heard = front.ask(f"{kind_of(front)}-tool-once", front.begin("Please roll."), stream=True)
    assert [note["type"] for note in heard.notes if note["type"] in ("call", "result")] == ["call", "result"]
    call, result = [note for note in heard.notes if note["type"] in ("call", "result")]
    assert (call["name"], json.loads(call["arguments"])) == ("roll", {"expression": "1d1+41"})
    assert (result["id"], result["status"]) == (call["id"], "ok")


@pytest.mark.parametrize("name", ["openai-py-chat", "anthropic-py"])
def test_models_and_agents_are_listed(chat, name):
    assert {"dicer", "dice-offline", "chat-echo", "small"} <= set(chat.front(name).models())


@ONE_EACH
@EITHER
def test_keys_stay_on_their_side(chat, name, stream):
    front = chat.front(name, "dicer")
    for kind in KINDS:
        heard = front.ask(f"{kind}-tool-once", front.begin("Please roll."), stream=stream)
        assert "secret-of-" not in json.dumps([heard.text, heard.told, heard.headers])
    for seen in chat.seen:
        everything = json.dumps([seen.headers, seen.body, seen.path])
        assert CLIENT_KEY not in everything
        assert SECRETS[KINDS[seen.dialect]] in everything
