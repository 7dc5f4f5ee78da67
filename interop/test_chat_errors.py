"""What goes wrong behind the gateway, and who hears of it how: errors, broken streams, clients that go away."""

import http.client
import json
import time

import httpx2
import pytest

from fronts import DIALECTS, FRONTS
from harness.models import CLIENT_KEY, KINDS
from harness.process import wait_for
from provider import faults

EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
ONE_EACH = pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])
KIND = pytest.mark.parametrize("kind", KINDS)

# Model, what the client raises, and with which status.
FAILURES = [
    ("no-such-model", "not found", 404),
    ("openai/no-such-model", "not found", 404),
    ("nobody/echo", "not found", 404),
    ("{kind}-echo.wrong", "bad request", 400),
    ("{kind}-echo.too-long", "bad request", 400),
    ("{kind}-echo.rate-limited", "rate limit", 429),
    ("{kind}-echo.rate-limited-silently", "rate limit", 429),
    ("{kind}-echo.overloaded", "server", 503),
    ("{kind}-echo.failing", "server", 502),
    ("{kind}-echo.locked", "server", 502),
]
# Where both sides speak alike and no agent is asked, errors of the provider pass as they are.
PASSED = {502: {500, 502}}


@ONE_EACH
@EITHER
@pytest.mark.parametrize("agent", [None, "dicer"])
@pytest.mark.parametrize("model, what, status", FAILURES)
def test_a_client_raises_its_own_error(chat, name, stream, agent, model, what, status):
    front = chat.front(name, agent)
    with pytest.raises(front.errors[what]) as raised:
        front.ask(model.format(kind=front.dialect), front.begin("Hello."), stream=stream)
    assert front.status(raised.value) in PASSED.get(status, {status})
    assert "secret-of-" not in str(raised.value), "nobody hears of the provider's keys"


@KIND
@EITHER
@pytest.mark.parametrize("model, what, status", FAILURES[3:])
def test_an_error_of_every_provider_has_its_word_in_another_dialect(chat, kind, stream, model, what, status):
    front = chat.front("anthropic-py" if kind != "anthropic" else "openai-py-chat")
    with pytest.raises(front.errors[what]) as raised:
        front.ask(model.format(kind=kind), front.begin("Hello."), stream=stream)
    assert front.status(raised.value) == status


@pytest.mark.parametrize("name", ["openai-js-chat", "openai-js-responses"])
@EITHER
@pytest.mark.parametrize("model, what, status", [FAILURES[0], FAILURES[3], FAILURES[5], FAILURES[8]])
def test_errors_in_javascript(chat, name, stream, model, what, status):
    front = chat.front(name)
    with pytest.raises(FRONTS[name].error) as raised:
        front.ask(model.format(kind=front.dialect), front.begin("Hello."), stream=stream)
    assert raised.value.kind == front.errors[what]
    assert raised.value.status_code in PASSED.get(status, {status})


@ONE_EACH
def test_a_wrong_key_is_the_clients_own_error(chat, name):
    front = FRONTS[name](chat.url, "not-a-key")
    with pytest.raises(front.errors["unauthenticated"]) as raised:
        front.ask("dicer", front.begin("Hello."))
    assert front.status(raised.value) == 401
    assert chat.seen == []


@ONE_EACH
@KIND
def test_when_to_come_back_is_told(chat, name, kind):
    front = chat.front(name)
    with pytest.raises(front.errors["rate limit"]):
        front.ask(f"{kind}-echo.rate-limited", front.begin("Hello."))
    # Gemini has its own place for it, and no other.
    assert "retryDelay" in str(front.tape.json()) or int(front.tape.headers["retry-after"]) >= 1


@KIND
@EITHER
@pytest.mark.parametrize("fault", ["rate-limited-1", "overloaded-1", "failing-1"])
def test_what_passes_by_itself_is_tried_again(chat, kind, stream, fault):
    front = chat.front("openai-py-chat")
    heard = front.ask(f"again-{kind}-echo.{fault}", front.begin("Hello."), stream=stream)
    assert heard.text == "You said: Hello."
    assert [seen.status for seen in chat.seen] == [faults.REFUSALS[fault[:-2]].status, 200]


@pytest.mark.parametrize("fault", ["rate-limited-negative", "rate-limited-for-ages", "rate-limited-on-a-date"])
def test_b_ch_13_odd_times_to_come_back_at_hold_nobody_up(chat, fault):
    front = chat.front("openai-py-chat")
    began = time.monotonic()
    with pytest.raises(front.errors["rate limit"]):
        front.ask(f"chat-echo.{fault}", front.begin("Hello."))
    assert time.monotonic() - began < 10


# Every front over every provider, and where both speak alike also without an agent, so that bytes pass as they are.
PAIRS = [
    pytest.param(front.name, kind, agent, id=f"{front.name}-{kind}-{agent}")
    for front in DIALECTS.values()
    for kind in KINDS
    for agent in ("dicer", None)
    if agent or kind == front.dialect
]


@pytest.mark.parametrize("name, kind, agent", PAIRS)
@pytest.mark.parametrize("fault", ["cut", "error-mid-stream"])
def test_b_se_10_a_stream_that_breaks_off_ends_in_an_error(chat, name, kind, agent, fault):
    front = chat.front(name, agent)
    # Bytes that pass as they are also break off as they do.
    broken = (front.errors["stream"], httpx2.HTTPError) if agent is None else front.errors["stream"]
    with pytest.raises(broken):
        front.ask(f"{kind}-echo.{fault}", front.begin("one two three four five six"), stream=True)


@KIND
@pytest.mark.parametrize("fault", faults.RAW)
@EITHER
@pytest.mark.parametrize("agent", [None, "dicer"])
def test_b_ch_13_an_answer_that_is_none_is_the_providers_fault(chat, kind, fault, stream, agent):
    front = chat.front("openai-py-chat" if agent or kind != "chat" else "anthropic-py", agent)
    with pytest.raises(front.errors["server"]) as raised:
        front.ask(f"{kind}-echo.{fault}", front.begin("Hello."), stream=stream)
    assert front.status(raised.value) == 502
    assert "<h1>" not in str(raised.value), "pages of others are not passed on"


@KIND
@pytest.mark.parametrize("agent", [None, "dicer"])
def test_a_provider_that_says_nothing_times_out(chat, kind, agent):
    front = chat.front("openai-py-chat", agent)
    with pytest.raises(front.errors["server"]) as raised:
        front.ask(f"hasty-{kind}-echo.silent", front.begin("Hello."))
    assert front.status(raised.value) == 504
    assert wait_for("the request", lambda: chat.seen, 10)[0].gone.wait(30), "nobody waits any longer"


WAYS = ["odd-chunks", "crlf", "cr", "several-lines", "comments", "bom", "strange-events", "end-twice", "index-gaps"]


@KIND
@pytest.mark.parametrize("way", WAYS)
def test_b_se_03_odd_streams_are_read_as_they_are_meant(chat, kind, way):
    front = chat.front("anthropic-py" if kind != "anthropic" else "openai-py-chat", "dicer")
    heard = front.ask(f"{kind}-tool-once.{way}", front.begin("Please roll."), stream=True)
    assert "42" in heard.text
    assert heard.finish == "stop"


@KIND
@pytest.mark.parametrize("model", ["{}-echo.no-blank", "{}-echo.huge-event", "hasty-{}-echo.endless-line"])
def test_b_se_01_events_that_never_end_are_the_providers_fault(chat, kind, model):
    front = chat.front("anthropic-py" if kind != "anthropic" else "openai-py-chat", "dicer")
    with pytest.raises(front.errors["stream"]):
        front.ask(model.format(kind), front.begin("Hello."), stream=True)
    assert wait_for("the request", lambda: chat.seen, 10)[0].done.wait(30), "nobody reads on"


@KIND
def test_b_se_04_letters_that_are_none_harm_nobody(chat, kind):
    front = chat.front("anthropic-py" if kind != "anthropic" else "openai-py-chat", "dicer")
    try:
        assert "said: Hello." in front.ask(f"{kind}-echo.bad-utf8", front.begin("Hello."), stream=True).text
    except front.errors["stream"] as error:
        assert "secret-of-" not in str(error)


@KIND
def test_b_se_06_nothing_but_comments_is_no_answer(chat, kind):
    front = chat.front("anthropic-py" if kind != "anthropic" else "openai-py-chat", "dicer")
    began = time.monotonic()
    with pytest.raises(front.errors["stream"]):
        front.ask(f"hasty-{kind}-echo.comments-only", front.begin("Hello."), stream=True)
    assert time.monotonic() - began < 20


@KIND
def test_b_se_09_events_of_the_wrong_type_are_read_or_refused(chat, kind):
    front = chat.front("anthropic-py" if kind != "anthropic" else "openai-py-chat", "dicer")
    try:
        assert front.ask(f"{kind}-echo.mistyped", front.begin("Hello."), stream=True).text == "You said: Hello."
    except front.errors["server"] as error:
        assert front.status(error) == 502


@KIND
def test_b_ch_13_a_call_that_changes_its_name_runs_nothing_else(chat, kind):
    front = chat.front("anthropic-py" if kind != "anthropic" else "openai-py-chat", "dicer")
    try:
        heard = front.ask(f"{kind}-tool-once.renamed", front.begin("Please roll."), stream=True)
        assert [call["name"] for call in heard.told["calls"]] == ["roll"]
    except front.errors["stream"] as error:
        assert "changes its name" in str(error)


@KIND
def test_b_se_07_an_end_that_never_comes_is_missed_where_it_says_something(chat, kind):
    front = chat.front("anthropic-py" if kind != "anthropic" else "openai-py-chat")
    if kind == "chat":
        assert front.ask(f"{kind}-echo.no-end", front.begin("Hello."), stream=True).text == "You said: Hello."
    else:
        with pytest.raises(front.errors["stream"]):
            front.ask(f"{kind}-echo.no-end", front.begin("Hello."), stream=True)


@pytest.mark.parametrize("name, kind, agent", PAIRS)
def test_b_ch_10_a_client_that_goes_away_ends_the_answer(chat, name, kind, agent):
    front = chat.front(name, agent)
    stream = iter(front.open_stream(f"{kind}-wordy.slow", front.begin("Talk.")))
    for _ in range(3):
        next(stream)
    [seen] = chat.seen
    assert not seen.gone.is_set()
    front.hang_up()
    assert seen.gone.wait(30), "the provider still talks to nobody"


@KIND
def test_b_ch_10_nobody_waits_for_an_answer_that_nobody_reads(chat, kind):
    host = chat.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    body = {"model": f"{kind}-echo.silent", "messages": [{"role": "user", "content": "Hello."}]}
    headers = {"authorization": f"Bearer {CLIENT_KEY}", "content-type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    wait_for("the request", lambda: len(chat.seen) == 1, 30)
    connection.close()
    assert chat.seen[0].gone.wait(12), "the gateway still waits"
