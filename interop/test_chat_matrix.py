"""The same conversation from every front over every provider: four dialects in, four and the built-in model out."""

import time

import pytest

from fronts import DIALECTS
from fronts.heard import WEATHER
from harness.models import KINDS

EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
FRONT = pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])


@pytest.fixture(autouse=True)
def sent(chat):
    """Whatever a test is about: what is sent to providers is what their own clients could have sent."""
    yield
    chat.check_sent()


@FRONT
@EITHER
@pytest.mark.parametrize("kind", [*KINDS, "offline"])
def test_an_agent_does_the_same_everywhere(chat, name, stream, kind):
    front = chat.front(name)
    heard = front.ask(f"dice-{kind}", front.begin("Please roll 1d1+41 for me."), stream=stream)
    assert "42" in heard.text
    assert (heard.calls, heard.finish) == ([], "stop")
    assert [(call["name"], call["status"]) for call in heard.told["calls"]] == [("roll", "ok")]
    assert (heard.told["ended"], heard.told["rounds"]) == ("answered", 2)
    if kind != "offline":
        assert heard.usage == (22, 14)
        assert [seen.dialect for seen in chat.seen] == [kind, kind]


@FRONT
@EITHER
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("script", ["parallel", "text-and-tool", "rounds-3", "thinking", "without-ids"])
def test_an_agent_gives_equivalent_answers(chat, name, stream, kind, script):
    front = chat.front(name, "dicer")
    heard = front.ask(f"{kind}-{script}", front.begin("Please roll."), stream=stream)
    rounds = 4 if script == "rounds-3" else 2
    count = 3 if script in ("parallel", "rounds-3", "without-ids") else 1
    told = heard.told
    assert (told["ended"], told["rounds"], [call["status"] for call in told["calls"]]) == (
        "answered",
        rounds,
        ["ok"] * count,
    )
    assert (heard.finish, heard.usage) == ("stop", (11 * rounds, 7 * rounds))
    expected = [f"makes {total}" for total in (1, 2, 3)] if count == 3 else ["makes 42"]
    places = [heard.text.index(words) for words in expected]
    assert places == sorted(places)


@FRONT
@EITHER
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("agent", [None, "dicer"])
def test_a_tool_of_the_client_goes_through_every_provider(chat, name, stream, kind, agent):
    front = chat.front(name, agent)
    history = front.begin("How is the weather in Paris?")
    heard = front.ask(f"{kind}-client-tool", history, [WEATHER], stream)
    [call] = heard.calls
    assert (call.name, call.arguments, heard.finish) == ("get_weather", {"city": "Paris"}, "calls")
    history = front.go_on(history, heard, {call.id: "It rains."})
    heard = front.ask(f"{kind}-client-tool", history, [WEATHER], stream)
    assert (heard.text, heard.finish) == ("The tool said: It rains.", "stop")


@FRONT
@EITHER
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("script", ["refusal", "length"])
def test_why_it_ended_has_a_word_in_every_dialect(chat, name, stream, kind, script):
    front = chat.front(name)
    assert front.ask(f"{kind}-{script}", front.begin("Go on."), stream=stream).finish == script


@pytest.mark.parametrize("name, field", [("openai-py-chat", "created"), ("openai-py-responses", "created_at")])
@EITHER
@pytest.mark.parametrize("kind", ["anthropic", "gemini"])
def test_an_answer_tells_when_it_was_made(chat, name, field, stream, kind):
    """Neither of these providers does."""
    front = chat.front(name)
    begun = int(time.time())
    front.ask(f"{kind}-echo", front.begin("Hello."), stream=stream)
    said = front.tape.events()[0] if stream else front.tape.json()
    assert begun <= said.get("response", said)[field] <= time.time()


@FRONT
@EITHER
@pytest.mark.parametrize("kind", KINDS)
def test_calls_of_both_kinds_over_every_provider(chat, name, stream, kind):
    front = chat.front(name, "dicer")
    history = front.begin("Roll, and say how the weather is.")
    heard = front.ask(f"{kind}-mixed", history, [WEATHER], stream)
    [call] = heard.calls
    assert (call.name, heard.told["ended"]) == ("get_weather", "calls_pending")
    heard.native = heard.told["history"]
    heard = front.ask(f"{kind}-mixed", front.go_on(history, heard, {call.id: "It rains."}), [WEATHER], stream)
    assert "42" in heard.text and "It rains." in heard.text
