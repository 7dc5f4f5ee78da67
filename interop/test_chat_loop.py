"""How far an agent goes, and what it makes of models that cannot be trusted."""

import json
import time

import pytest

from fronts import DIALECTS
from fronts.heard import WEATHER
from harness.models import KINDS
from provider.script import ARGUMENTS

EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
KIND = pytest.mark.parametrize("kind", KINDS)
ONE_EACH = pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])


@ONE_EACH
@EITHER
@KIND
def test_b_ch_08_a_model_that_calls_for_ever_comes_to_an_end(chat, name, stream, kind):
    front = chat.front(name, "dicer")
    heard = front.ask(f"{kind}-forever", front.begin("Roll."), stream=stream)
    assert (heard.told["ended"], heard.calls) == ("max_depth", [])
    assert [call["status"] for call in heard.told["calls"]] == ["ok"] * 4 + ["denied"]
    assert heard.text, "it says what it knows"
    assert len(chat.seen) == heard.told["rounds"]
    assert heard.usage == (11 * len(chat.seen), 7 * len(chat.seen))


@ONE_EACH
@pytest.mark.parametrize("count, stream", [(20, False), (20, True), (500, False)])
def test_b_ch_08_many_calls_at_once_are_counted(chat, name, count, stream):
    front = chat.front(name, "dicer")
    began = time.monotonic()
    heard = front.ask(f"{front.dialect}-many-{count}", front.begin("Roll."), stream=stream)
    ran = [call for call in heard.told["calls"] if call["status"] == "ok"]
    assert len(ran) == min(count, 32)
    assert heard.finish == "stop"
    assert time.monotonic() - began < 60


@EITHER
@KIND
def test_b_ch_08_two_calls_with_one_id_get_a_result_each(chat, stream, kind):
    front = chat.front("openai-py-chat", "dicer")
    heard = front.ask(f"{kind}-same-id", front.begin("Roll."), stream=stream)
    assert "makes 42" in heard.text and "1d1:" in heard.text
    assert len({call["id"] for call in heard.told["calls"]}) == 2


@EITHER
@KIND
def test_a_call_that_comes_again_in_the_same_answer_runs_once(chat, stream, kind):
    front = chat.front("openai-py-chat", "dicer")
    heard = front.ask(f"{kind}-same-call", front.begin("Roll."), stream=stream)
    assert "makes 42" in heard.text
    assert [call["status"] for call in heard.told["calls"]] == ["ok"]


@ONE_EACH
@EITHER
@pytest.mark.parametrize("script, named", [("unknown-tool", "no_such_tool"), ("hidden-tool", "write_file")])
def test_a_call_to_what_was_not_offered_is_refused_in_words(chat, name, stream, script, named):
    front = chat.front(name, "dicer")
    heard = front.ask(f"{front.dialect}-{script}", front.begin("Do it."), stream=stream)
    assert (heard.calls, heard.finish) == ([], "stop")
    assert named in heard.text, "the model has read why"
    assert not any(call["status"] == "ok" for call in heard.told["calls"])


# Those of which something can be made run; the model hears what is wrong with the others.
READABLE = {"trailing-comma", "single-quotes", "fenced", "twice"}


@pytest.mark.parametrize("kind", ["chat", "responses", "anthropic"])
@EITHER
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_b_ch_06_arguments_that_are_not_json(chat, kind, stream, arguments):
    front = chat.front("openai-py-chat", "dicer")
    if (kind, arguments, stream) == ("anthropic", "deep-json", False):
        # Here they are part of the answer's own JSON.
        with pytest.raises(front.errors["server"]):
            front.ask(f"{kind}-args-{arguments}", front.begin("Roll."))
        return
    heard = front.ask(f"{kind}-args-{arguments}", front.begin("Roll."), stream=stream)
    assert (heard.finish, heard.calls) == ("stop", [])
    [call] = heard.told["calls"]
    assert call["status"] in ("ok", "invalid_arguments", "error")
    if arguments not in READABLE:
        assert call["status"] != "ok"
    # Whatever came of it, the provider took the history that was made of it.
    assert [seen.status for seen in chat.seen] == [200, 200]


@ONE_EACH
@KIND
@EITHER
def test_b_ch_13_figures_that_cannot_be_are_not_added_up(chat, name, kind, stream):
    front = chat.front(name, "dicer")
    heard = front.ask(f"{kind}-negative-usage", front.begin("Hello."), stream=stream)
    assert heard.usage[0] >= 0 and heard.usage[1] >= 0


@ONE_EACH
@EITHER
def test_the_client_hides_a_tool_of_ours_with_its_own(chat, name, stream):
    schema = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
    mine = {"name": "roll", "description": "Rolls wooden dice", "schema": {**schema, "additionalProperties": False}}
    front = chat.front(name, "dicer")
    heard = front.ask(f"{front.dialect}-tool-once", front.begin("Roll."), [mine], stream)
    assert [call.name for call in heard.calls] == ["roll"]
    assert json.dumps(chat.seen[0].body).count("Rolls wooden dice") == 1
    assert "Rolls dice and returns" not in json.dumps(chat.seen[0].body)


@EITHER
def test_mixed_answers_can_be_inline(chat, stream):
    front = chat.front("openai-py-chat", "inline")
    heard = front.ask("inline", front.begin("Roll, and say how the weather is."), [WEATHER], stream)
    assert heard.finish == "stop"
    assert "42" in heard.text and "get_weather" in json.dumps([heard.text, [call.name for call in heard.calls]])
