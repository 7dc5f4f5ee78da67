"""Conversations of several rounds and turns before models that judge like their vendors: four fronts, four APIs.

Reasoning, signatures and ids have to come back to the model that made them, and to no other. Files in the reasons are
those of `crates/tollgate-llm/src`.
"""

import pytest

from fronts import DIALECTS
from fronts.heard import WEATHER
from harness.asking import ask
from harness.models import CLIENT_KEY

SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
ROLL = {"name": "roll", "description": "Rolls dice", "schema": {**SCHEMA, "additionalProperties": False}}
MODELS = [
    "chat-gpt-6-sol", "responses-gpt-5.5", "responses-gpt-6.1-sol", "anthropic-claude-haiku-4-5",
    "anthropic-claude-opus-5-5", "anthropic-claude-fable-5-2", "gemini-gemini-2.5-flash", "gemini-gemini-3.8-flash",
]  # fmt: skip
SWITCHED = [
    "chat-gpt-6-sol", "responses-gpt-5.5", "responses-gpt-6.1-sol", "anthropic-claude-opus-5-5",
    "gemini-gemini-3.8-flash",
]  # fmt: skip
# What shows the client the reasoning of a model.
SHOWN = {
    "chat": {},
    "responses": {"reasoning": {"summary": "auto"}},
    "anthropic": {"thinking": {"type": "adaptive", "display": "summarized"}},
    "gemini": {"thinking_config": {"include_thoughts": True}},
}
SEALED = "format/openai_responses/history.rs gives sealed reasoning a new id (rs_tollgate_N), to which it is not bound"
BOUND = "agent/: the answer has the thinking of all rounds without their calls, and it comes back as one turn"
OTHER_MODEL = "conversation.rs: ThoughtSignature knows the dialect that made it, not the model"
FOREIGN = "provider/pass_through.rs forwards signatures of other makers (tollgate:anthropic:…) as they are"
UNSIGNED = "provider/pass_through.rs forwards calls of other makers without the signature that Gemini 3 asks for"
STORED = "response_store.rs of tollgate-server takes `store` out, so that openai_responses/request_writer.rs omits it"


class RefusedTodayError(Exception):
    """What is known to be refused, and nothing else."""


def kind_of(model: str) -> str:
    return model.partition("-")[0]


def thinks(model: str) -> bool:
    """Also when it is not asked to."""
    return kind_of(model) == "gemini" or model.endswith(("gpt-6.1-sol", "opus-5-5", "fable-5-2"))


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


def story_fault(story, dialect: str, model: str) -> str | None:
    if model == "responses-gpt-6.1-sol" and dialect in ("anthropic", "gemini") and story is not rounds_of_an_agent:
        return SEALED
    if story is two_turns_of_an_agent and model.endswith(("opus-5-5", "fable-5-2")) and dialect != "chat":
        return BOUND
    return None


def tell(chat, known: str | None, story, *given) -> str | None:
    """What was refused, if that is known."""
    chat.provider.forget()
    try:
        story(chat, *given)
    except Exception as error:
        refused = [seen for seen in chat.seen if seen.status == 400]
        if known and refused:
            return f"{given}: {error}"
        raise
    assert all(seen.status == 200 for seen in chat.seen), given
    return None


def mark(reasons: set) -> list:
    reason = "; ".join(sorted(reasons - {None}))
    return [pytest.mark.xfail(strict=True, raises=RefusedTodayError, reason=reason)] if reason else []


def story_params() -> list:
    return [
        pytest.param(
            story, dialect, model, marks=mark({story_fault(story, dialect, model)}),
            id=f"{story.__name__}-{dialect}-{model}",
        )
        for story in STORIES
        for dialect in DIALECTS
        for model in MODELS
    ]  # fmt: skip


@pytest.mark.parametrize("story, dialect, model", story_params())
def test_a_model_gets_back_what_it_said(chat, story, dialect, model):
    known = story_fault(story, dialect, model)
    refused = [tell(chat, known, story, dialect, model, stream) for stream in (False, True)]
    if any(refused):
        raise RefusedTodayError("\n".join(one for one in refused if one))


# === Another model in the middle of a turn ===


def switch(chat, dialect, first, second, stream):
    front = begin(chat, dialect)
    history = front.begin("Please roll.")
    for model in (first, second, first):
        heard = front.ask(f"{model}+rounds-2", history, [ROLL], stream, **options(dialect, model))
        history = front.go_on(history, heard, {call.id: "It is 42." for call in heard.calls})
    assert "The tool said" in heard.text


def sent_fault(dialect: str, maker: str, target: str) -> str | None:
    """Of a request to `target` with what `maker` said."""
    if dialect == "chat" or kind_of(target) in ("chat", "anthropic") and dialect != kind_of(target):
        return None
    if dialect == kind_of(target):
        if kind_of(maker) == dialect:
            return None
        if thinks(maker):
            return FOREIGN
        return UNSIGNED if target.endswith("3.8-flash") else None
    if kind_of(target) == kind_of(maker) == "responses" and thinks(maker):
        return SEALED if maker == target else OTHER_MODEL
    return None


def switch_faults(dialect: str, first: str, second: str) -> set:
    sent = [(first, second), (first, first), (second, first)]
    return {sent_fault(dialect, maker, target) for maker, target in sent} - {None}


def switch_params() -> list:
    return [
        pytest.param(
            dialect, first, second, marks=mark(switch_faults(dialect, first, second)), id=f"{dialect}-{first}-{second}"
        )
        for dialect in DIALECTS
        for first in SWITCHED
        for second in SWITCHED
        # A client that sends one vendor's models each other's reasoning is told so by the vendor.
        if first != second and not dialect == kind_of(first) == kind_of(second)
    ]


@pytest.mark.parametrize("dialect, first, second", switch_params())
def test_a_model_is_not_sent_what_another_one_signed(chat, dialect, first, second):
    known = "; ".join(switch_faults(dialect, first, second)) or None
    refused = [tell(chat, known, switch, dialect, first, second, stream) for stream in (False, True)]
    if any(refused):
        raise RefusedTodayError("\n".join(one for one in refused if one))


EMPTY = "format/anthropic/stream_writer.rs opens a text block for the empty text of Gemini's last chunk"


@pytest.mark.parametrize("script", ["tool-once", "echo"])
@pytest.mark.parametrize(
    "model",
    [
        "responses-gpt-6.1-sol",
        "anthropic-claude-opus-5-5",
        pytest.param("gemini-gemini-3.8-flash", marks=pytest.mark.xfail(strict=True, reason=EMPTY)),
    ],
)
def test_a_stream_has_no_empty_block(chat, model, script):
    """Anthropic refuses to take it back, most of all behind a call."""
    front = begin(chat, "anthropic")
    heard = front.ask(f"{model}+{script}", front.begin("Please roll."), [ROLL], True)
    texts = [block["text"] for block in heard.native[0]["content"] if block["type"] == "text"]
    assert all(texts) and len(texts) == (script == "echo")


BY_SCHEMA = "mode/schema.rs writes oneOf, which Anthropic refuses in the schema of an answer"


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("anthropic", marks=pytest.mark.xfail(strict=True, reason=BY_SCHEMA)),
        "chat",
        "responses",
        "gemini",
    ],
)
def test_tools_by_constrained_json_are_taken(chat, kind):
    front = begin(chat, "chat", "dicer")
    front.ask(f"by-schema-{kind}", front.begin("Please roll."))
    assert [seen.status for seen in chat.seen] == [200]


# === What the vendor keeps, and what it has seen before ===


@pytest.mark.parametrize("agent", [None, pytest.param("dicer", marks=pytest.mark.xfail(strict=True, reason=STORED))])
@pytest.mark.parametrize("dialect", ["responses"])
def test_what_is_not_to_be_stored_is_not_stored(chat, dialect, agent):
    front = begin(chat, dialect, agent)
    front.ask("responses-gpt-6.1-sol+echo", front.begin("My secret."), store=False)
    assert chat.provider.issued.stored == {}


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "responses"])
@pytest.mark.parametrize("kind, model", [("responses", "gpt-6.1-sol"), ("chat", "gpt-5.5")])
@pytest.mark.parametrize("agent", [None, "dicer"])
def test_nothing_is_stored_for_clients_that_cannot_say_so(chat, dialect, kind, model, agent):
    front = begin(chat, dialect, agent)
    front.ask(f"{kind}-{model}+echo", front.begin("My secret."))
    assert chat.provider.issued.stored == {}


CACHED = {
    "chat": lambda answer: answer["usage"]["prompt_tokens_details"]["cached_tokens"],
    "responses": lambda answer: answer["usage"]["input_tokens_details"]["cached_tokens"],
    "anthropic": lambda answer: answer["usage"]["cache_read_input_tokens"],
    "gemini": lambda answer: answer["usageMetadata"]["cachedContentTokenCount"],
}
LONG = "All about dice. " * 1500
ASKED = {
    "chat": {"messages": [{"role": "user", "content": LONG}]},
    "responses": {"input": LONG},
    "anthropic": {"messages": [{"role": "user", "content": LONG}], "max_tokens": 4096},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": LONG}]}]},
}


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize("model", ["chat-gpt-5.5", "responses-gpt-6.1-sol", "gemini-gemini-3.8-flash"])
def test_later_rounds_of_an_agent_come_from_the_cache(chat, dialect, model):
    body = {**ASKED[dialect], "model": f"{model}+rounds-2"}
    status, answer = ask(chat.url, dialect, body, CLIENT_KEY, x_tollgate_agent="dicer")
    assert (status, len(chat.seen)) == (200, 3), answer
    # Two rounds find nearly all of the long question, and the client is told.
    assert CACHED[dialect](answer) > 2 * 5000, answer


@pytest.mark.parametrize("agent", [None, "dicer"])
def test_marks_of_a_client_reach_the_cache(chat, agent):
    given = {"x_tollgate_agent": agent} if agent else {}
    system = [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}]
    body = {"system": system, **ASKED["anthropic"], "messages": [{"role": "user", "content": "Hello."}]}
    model = "anthropic-claude-opus-4-8+echo"
    counted = []
    for _ in range(2):
        status, answer = ask(chat.url, "anthropic", {**body, "model": model}, CLIENT_KEY, **given)
        assert status == 200, answer
        counted.append((answer["usage"]["cache_creation_input_tokens"], answer["usage"]["cache_read_input_tokens"]))
    (written, none), (nothing, read) = counted
    assert (none, nothing) == (0, 0) and written == read > 5000
