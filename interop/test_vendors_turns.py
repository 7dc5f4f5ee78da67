"""Conversations of several rounds and turns before models that judge like their vendors: four fronts, four APIs.

Reasoning, signatures and ids have to come back to the model that made them, and to no other.
"""

import openai
import pytest

from fronts import DIALECTS
from fronts.heard import WEATHER
from provider.strict_gemini import DUMMIES

SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
ROLL = {"name": "roll", "description": "Rolls dice", "schema": {**SCHEMA, "additionalProperties": False}}
MODELS = [
    "chat-gpt-6-sol", "responses-gpt-5.5", "responses-gpt-6.1-sol", "anthropic-claude-haiku-4-5",
    "anthropic-claude-opus-5-5", "anthropic-claude-fable-5-2", "gemini-gemini-2.5-flash", "gemini-gemini-3.8-flash",
]  # fmt: skip
SWITCHED = [
    "chat-gpt-6-sol", "responses-gpt-5.5", "responses-gpt-6.1-sol", "anthropic-claude-haiku-4-5",
    "anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash",
]  # fmt: skip
# What shows the client the reasoning of a model.
SHOWN = {
    "chat": {},
    "responses": {"reasoning": {"summary": "auto"}},
    "anthropic": {"thinking": {"type": "adaptive", "display": "summarized"}},
    "gemini": {"thinking_config": {"include_thoughts": True}},
}
def kind_of(model: str) -> str:
    return model.partition("-")[0]


def begin(chat, dialect: str, agent: str | None = None):
    front = chat.front(DIALECTS[dialect].name, agent)
    # Comes through when nothing is rewritten.
    front.more = getattr(front, "more", frozenset()) | {"obfuscation"}
    return front


def options(dialect: str, model: str) -> dict:
    if model.endswith("haiku-4-5") and dialect == "anthropic":
        return {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}
    return SHOWN[dialect]


def run_tools(front, model: str, script: str, history: list, stream: bool):
    """The client's own loop; its history afterwards, with the answer."""
    for _ in range(4):
        heard = front.ask(f"{model}+{script}", history, [ROLL], stream, **options(front.dialect, model))
        if not heard.calls:
            assert "The tool said" in heard.text
            return [*history, *heard.native]
        history = front.go_on(history, heard, {call.id: "It is 42." for call in heard.calls})
    raise AssertionError("it calls for ever")


# === Stories ===


def rounds_of_an_agent(chat, dialect, model, stream):
    front = begin(chat, dialect, "dicer")
    history = front.begin("Please roll.")
    heard = front.ask(f"{model}+rounds-2", history, [], stream, **options(dialect, model))
    assert "The tool said" in heard.text and heard.told["rounds"] == 3
    return front, history, heard


def rounds_of_a_client(chat, dialect, model, stream):
    front = begin(chat, dialect)
    for script in ("rounds-2", "parallel", "text-and-tool"):
        run_tools(front, model, script, front.begin("Please roll."), stream)


def two_turns_of_an_agent(chat, dialect, model, stream):
    front, history, heard = rounds_of_an_agent(chat, dialect, model, stream)
    again = [*history, *heard.native, *front.begin("Once more.")]
    front.ask(f"{model}+rounds-2", again, [], stream, **options(dialect, model))


def two_turns_with_all_that_was_done(chat, dialect, model, stream):
    front, history, heard = rounds_of_an_agent(chat, dialect, model, stream)
    again = [*history, *heard.told["history"], *front.begin("Once more.")]
    front.ask(f"{model}+rounds-2", again, [], stream, **options(dialect, model))


def two_turns_of_a_client(chat, dialect, model, stream):
    front = begin(chat, dialect)
    history = run_tools(front, model, "rounds-2", front.begin("Please roll."), stream)
    run_tools(front, model, "rounds-2", [*history, *front.begin("Once more.")], stream)


def tools_of_both(chat, dialect, model, stream):
    front = begin(chat, dialect, "dicer")
    history = front.begin("Roll, and say how the weather is.")
    heard = front.ask(f"{model}+mixed", history, [WEATHER], stream, **options(dialect, model))
    [call] = heard.calls
    heard.native = heard.told["history"]
    history = front.go_on(history, heard, {call.id: "It rains."})
    heard = front.ask(f"{model}+mixed", history, [WEATHER], stream, **options(dialect, model))
    assert "It rains." in heard.text


def special_way(chat, dialect, model, stream):
    """Thinking that cannot be read, and arguments that come at once."""
    way = {"anthropic": "tool-once.redacted", "responses": "tool-once.done-only"}.get(kind_of(model))
    if way:
        front = begin(chat, dialect)
        run_tools(front, model, way, front.begin("Please roll."), stream)


STORIES = [
    rounds_of_an_agent, rounds_of_a_client, two_turns_of_an_agent, two_turns_with_all_that_was_done,
    two_turns_of_a_client, tools_of_both, special_way,
]  # fmt: skip


def tell(chat, story, *given) -> None:
    chat.provider.forget()
    story(chat, *given)
    assert all(seen.status == 200 for seen in chat.seen), given


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize("story", STORIES)
def test_a_model_gets_back_what_it_said(chat, story, dialect, model):
    for stream in (False, True):
        tell(chat, story, dialect, model, stream)


# === Another model in the middle of a turn ===


def switch(chat, dialect, first, second, stream):
    front = begin(chat, dialect)
    history = front.begin("Please roll.")
    for model in (first, second, first):
        heard = front.ask(f"{model}+rounds-2", history, [ROLL], stream, **options(dialect, model))
        history = front.go_on(history, heard, {call.id: "It is 42." for call in heard.calls})
    assert "The tool said" in heard.text


# A client that sends one vendor's models each other's reasoning is told so by the vendor.
SWITCHES = [
    (dialect, first, second)
    for dialect in DIALECTS
    for first in SWITCHED
    for second in SWITCHED
    if first != second and not dialect == kind_of(first) == kind_of(second)
]


@pytest.mark.parametrize("dialect, first, second", SWITCHES)
def test_a_model_is_not_sent_what_another_one_signed(chat, dialect, first, second):
    for stream in (False, True):
        tell(chat, switch, dialect, first, second, stream)


def take_turns(chat, dialect, agent, stream):
    """Of three models, each fails in the middle of what it began."""
    front = begin(chat, dialect)
    history = front.begin("Please roll.")
    for _ in range(2):
        chat.seen.clear()
        heard = front.ask(agent, history, [], stream, **SHOWN[dialect])
        assert "The tool said" in heard.text
        assert [seen.status for seen in chat.seen] == [200, 503, 200, 503, 200, 200]
        assert len(heard.told["calls"]) == 3 and {call["status"] for call in heard.told["calls"]} == {"ok"}
        history = [*history, *heard.native, *front.begin("Once more.")]


@pytest.mark.parametrize("agent", [f"takes-over-{number}" for number in range(3)])
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_another_model_takes_over_in_the_middle_of_a_turn(chat, dialect, agent):
    for stream in (False, True):
        take_turns(chat, dialect, agent, stream)


# === What clients keep ===

# What the second request of a loop has of the reasoning of the first answer.
REPLAYED = {
    "responses": lambda body: [item for item in body["input"] if item.get("type") == "reasoning"],
    "anthropic": lambda body: [block for block in body["messages"][1]["content"] if block["type"] == "thinking"],
    "gemini": lambda body: [
        part
        for part in body["contents"][1]["parts"]
        if "functionCall" in part and part.get("thoughtSignature") not in (None, *DUMMIES)
    ],
}


@pytest.mark.parametrize("script", ["tool-once", "text-and-tool", "parallel"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize(
    "model", ["responses-gpt-6.1-sol", "anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash"]
)
def test_a_client_that_sends_reasoning_back_keeps_it(chat, dialect, model, stream, script):
    front = begin(chat, dialect)
    front.kept = {"reasoning_details"}
    chat.provider.forget()
    run_tools(front, model, script, front.begin("Please roll."), stream)
    assert [seen.status for seen in chat.seen] == [200, 200]
    assert len(REPLAYED[kind_of(model)](chat.seen[1].body)) == 1, chat.seen[1].body


@pytest.mark.parametrize("model", ["anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash"])
@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_is_not_the_last_item(chat, model, stream):
    """OpenAI refuses it when it comes back."""
    front = begin(chat, "responses")
    heard = front.ask(f"{model}+echo", front.begin("Hello."), stream=stream, **SHOWN["responses"])
    assert heard.native[-1]["type"] == "message", heard.native


@pytest.mark.parametrize("script", ["tool-once", "echo"])
@pytest.mark.parametrize(
    "model", ["responses-gpt-6.1-sol", "anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash"]
)
def test_a_stream_has_no_empty_block(chat, model, script):
    """Anthropic refuses to take it back, most of all behind a call."""
    front = begin(chat, "anthropic")
    heard = front.ask(f"{model}+{script}", front.begin("Please roll."), [ROLL], True)
    texts = [block["text"] for block in heard.native[0]["content"] if block["type"] == "text"]
    assert all(texts) and len(texts) == (script == "echo")


@pytest.mark.parametrize("kind", ["chat", "responses", "anthropic", "gemini"])
def test_tools_by_constrained_json_are_taken(chat, kind):
    front = begin(chat, "chat", "dicer")
    front.ask(f"by-schema-{kind}", front.begin("Please roll."))
    assert [seen.status for seen in chat.seen] == [200]


# === What the vendor keeps ===


@pytest.mark.parametrize("agent", [None, "dicer"])
def test_what_is_not_to_be_stored_is_not_stored(chat, agent):
    front = begin(chat, "responses", agent)
    front.ask("responses-gpt-6.1-sol+echo", front.begin("My secret."), store=False)
    assert chat.provider.issued.stored == {}
    assert front.tape.json()["store"] is False


@pytest.mark.parametrize("store", [True, openai.omit])
def test_what_the_gateway_keeps_is_not_stored_elsewhere(chat, store):
    front = begin(chat, "responses", "dicer")
    front.ask("responses-gpt-6.1-sol+rounds-2", front.begin("My secret."), store=store)
    first = front.tape.json()
    assert first["store"] is True
    more = front.begin("What did I say?")
    front.ask("responses-gpt-6.1-sol+rounds-2", more, store=store, previous_response_id=first["id"])
    assert len(chat.seen) == 6 and all(seen.body["store"] is False for seen in chat.seen)
    assert chat.provider.issued.stored == {}
    ids = [item["id"] for seen in chat.seen for item in seen.body["input"] if "id" in item]
    assert ids == [], "nobody could find them"


@pytest.mark.parametrize("second", ["responses-gpt-6.1-sol", "responses-gpt-4.1", "anthropic-claude-opus-5-5"])
@pytest.mark.parametrize("first", ["anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash"])
def test_any_model_continues_what_the_gateway_keeps(chat, first, second):
    front = begin(chat, "responses")
    front.ask(f"{first}+echo", front.begin("My name is Ada."), store=True)
    kept = front.tape.json()["id"]
    front.ask(f"{second}+echo", front.begin("Who am I?"), store=openai.omit, previous_response_id=kept)
    assert "You said: My name is Ada." in str(chat.seen[-1].body)
    assert chat.provider.issued.stored == {}


def test_a_provider_stores_where_the_config_says_so(chat):
    front = begin(chat, "responses", "dicer")
    front.ask("stored-by-the-provider", front.begin("Not secret."), store=openai.omit)
    assert len(chat.provider.issued.stored) == 1
    chat.provider.forget()
    front.ask("stored-by-the-provider", front.begin("Secret after all."), store=False)
    assert chat.provider.issued.stored == {}


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "responses"])
@pytest.mark.parametrize("kind, model", [("responses", "gpt-6.1-sol"), ("chat", "gpt-5.5")])
@pytest.mark.parametrize("agent", [None, "dicer"])
def test_nothing_is_stored_for_clients_that_cannot_say_so(chat, dialect, kind, model, agent):
    front = begin(chat, dialect, agent)
    front.ask(f"{kind}-{model}+echo", front.begin("My secret."))
    assert chat.provider.issued.stored == {}


# === Ids that a model uses twice ===


@pytest.mark.parametrize("script, rounds", [("same-id", 1), ("same-id-twice", 2)])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("model", SWITCHED)
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_calls_with_one_id_are_told_apart(chat, dialect, model, stream, script, rounds):
    """Vendors refuse a history in which two calls have one id. Each call runs, with an id of its own."""
    front = begin(chat, dialect, "dicer")
    heard = front.ask(f"{model}+{script}", front.begin("Roll."), [], stream, **options(dialect, model))
    made = heard.told["calls"]
    assert [call["status"] for call in made] == ["ok"] * 2 * rounds
    assert len({call["id"] for call in made}) == 2 * rounds
    assert "makes 42" in heard.text and "1d1:" in heard.text
    assert [seen.status for seen in chat.seen] == [200] * (rounds + 1)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "dialect, model", [(dialect, model) for dialect in DIALECTS for model in SWITCHED if kind_of(model) != dialect]
)
def test_a_client_gets_calls_with_ids_of_their_own(chat, dialect, model, stream):
    """Unless it speaks the vendor's own dialect, and gets what the vendor says."""
    front = begin(chat, dialect)
    history = front.begin("Roll.")
    heard = front.ask(f"{model}+same-id", history, [ROLL], stream, **options(dialect, model))
    assert len({call.id for call in heard.calls}) == 2
    history = front.go_on(history, heard, {call.id: f"for {call.id}" for call in heard.calls})
    text = front.ask(f"{model}+same-id", history, [ROLL], stream, **options(dialect, model)).text
    assert all(f"for {call.id}" in text for call in heard.calls)
    assert [seen.status for seen in chat.seen] == [200, 200]
