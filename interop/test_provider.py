"""The fake provider alone: official clients hold whole conversations with it, and their own types find no fault."""

import pytest

from fronts import DIALECTS, FRONTS, params
from fronts.heard import WEATHER

ROLL = {**WEATHER, "name": "roll", "description": "Rolls dice"}
EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
EVERY = pytest.mark.parametrize("name", FRONTS)


def front(provider, name: str):
    return FRONTS[name](provider.url, "a-key")


@EVERY
@EITHER
def test_a_client_gets_an_answer(provider, name, stream):
    client = front(provider, name)
    heard = client.ask("echo", client.begin("grüß dich ✓"), stream=stream)
    assert (heard.text, heard.calls, heard.finish, heard.usage) == ("You said: grüß dich ✓", [], "stop", (11, 7))
    assert [seen.dialect for seen in provider.seen] == [client.dialect]


@EVERY
@EITHER
@pytest.mark.parametrize("model, count", [("tool-once", 1), ("parallel", 3), ("text-and-tool", 1), ("thinking", 1)])
def test_a_client_runs_tools_and_gives_the_results_back(provider, name, stream, model, count):
    client = front(provider, name)
    history = client.begin("Please roll.")
    heard = client.ask(model, history, [ROLL], stream)
    assert (heard.finish, [call.name for call in heard.calls]) == ("calls", ["roll"] * count)
    results = {call.id: f"result {index}" for index, call in enumerate(heard.calls)}
    heard = client.ask(model, client.go_on(history, heard, results), [ROLL], stream)
    told = " | ".join(f"result {index}" for index in range(count))
    assert (heard.finish, heard.text) == ("stop", f"The tool said: {told}")
    for seen in provider.seen:
        params.fits(seen.dialect, seen.body)


@pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])
@EITHER
@pytest.mark.parametrize("model", ["refusal", "length"])
def test_a_client_hears_why_it_ended(provider, name, stream, model):
    client = front(provider, name)
    assert client.ask(model, client.begin("Go on."), stream=stream).finish == model


FAILURES = [
    ("nonsense", "not found", 404),
    ("wrong", "bad request", 400),
    ("locked", "unauthenticated", 401),
    ("rate-limited", "rate limit", 429),
    ("failing", "server", 500),
]


@pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])
@EITHER
@pytest.mark.parametrize("model, kind, status", FAILURES)
def test_a_client_raises_its_own_error(provider, name, stream, model, kind, status):
    client = front(provider, name)
    with pytest.raises(client.errors[kind]) as raised:
        client.ask(model, client.begin("Hello."), stream=stream)
    assert client.status(raised.value) == status


@pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])
def test_a_client_raises_in_the_middle_of_a_stream(provider, name):
    client = front(provider, name)
    with pytest.raises(client.errors["stream"]):
        client.ask("echo.error-mid-stream", client.begin("one two three four"), stream=True)
