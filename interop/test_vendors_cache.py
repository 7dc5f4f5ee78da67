"""What a vendor has seen before: later rounds of an agent come from its cache, and marks of a client reach it.

Tokens are counted by the provider (`provider/prefix_cache.py`), as the vendor counts them.
"""

import json

import pytest

from fronts import DIALECTS
from harness.asking import ask
from harness.models import CASCADE, CLIENT_KEY

MODELS = [
    "chat-gpt-5.5", "responses-gpt-6.1-sol", "anthropic-claude-opus-4-6", "anthropic-claude-opus-4-8",
    "anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash",
]  # fmt: skip
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
MARK = {"cache_control": {"type": "ephemeral"}}


def check_rounds(counted: list, rounds: int) -> None:
    """Each round finds nearly everything that the one before it sent."""
    assert len(counted) == rounds
    for before, here in zip(counted, counted[1:], strict=False):
        assert here.read >= 0.9 * before.whole > 4000, counted


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize("model", MODELS)
def test_later_rounds_of_an_agent_come_from_the_cache(chat, dialect, model):
    body = {**ASKED[dialect], "model": f"{model}+rounds-2"}
    status, answer = ask(chat.url, dialect, body, CLIENT_KEY, x_tollgate_agent="dicer")
    assert (status, len(chat.seen)) == (200, 3), answer
    counted = [one for _, one in chat.provider.issued.cache.counted]
    check_rounds(counted, 3)
    assert CACHED[dialect](answer) == sum(one.read for one in counted), "the client is told"


@pytest.mark.parametrize("strong", CASCADE)
def test_a_note_at_the_end_of_each_round_does_not_spoil_the_cache(chat, strong):
    """A strong model is told in each round what its opener has said until then, behind the conversation."""
    front = chat.front("openai-py-chat")
    history = [*front.begin(LONG), {"role": "assistant", "content": "Go on."}, *front.begin("Please roll.")]
    heard = front.ask(f"opened-{strong}", history, stream=True)
    assert heard.text.startswith("You said: Please roll."), heard.text[:200]
    check_rounds([one for name, one in chat.provider.issued.cache.counted if name == strong], 2)
    notes = [json.dumps(seen.body["messages"][-1]) for seen in chat.seen if seen.body["model"].startswith(strong)]
    assert len(notes) == 2 and all("Never mention this note" in note for note in notes), notes


@pytest.mark.parametrize("agent", [None, "dicer"])
def test_marks_of_a_client_reach_the_cache(chat, agent):
    given = {"x_tollgate_agent": agent} if agent else {}
    system = [{"type": "text", "text": LONG, **MARK}]
    body = {"system": system, **ASKED["anthropic"], "messages": [{"role": "user", "content": "Hello."}]}
    check_twice(chat, "anthropic", body, given, CACHED["anthropic"])


@pytest.mark.parametrize("agent", [None, "dicer"])
@pytest.mark.parametrize("place", ["system", "text", "tool", "function"])
def test_marks_in_chat_completions_reach_the_cache(chat, agent, place):
    """Where clients of that API put them for Claude."""
    given = {"x_tollgate_agent": agent} if agent else {}
    long = [{"type": "text", "text": LONG, **(MARK if place in ("system", "text") else {})}]
    function = {"name": "look_up", "description": LONG, "parameters": {"type": "object", "properties": {}}}
    tool = {"type": "function", "function": function}
    hello = {"role": "user", "content": "Hello."}
    body = {
        "system": {"messages": [{"role": "system", "content": long}, hello]},
        "text": {"messages": [{"role": "user", "content": [*long, {"type": "text", "text": "Hello."}]}]},
        "tool": {"messages": [hello], "tools": [{**tool, **MARK}]},
        "function": {"messages": [hello], "tools": [{**tool, "function": {**function, **MARK}}]},
    }[place]
    check_twice(chat, "chat", body, given, CACHED["chat"])


def check_twice(chat, dialect: str, body: dict, given: dict, cached) -> None:
    """The second request reads what the first one wrote."""
    told = []
    for _ in range(2):
        asked = {**body, "model": "anthropic-claude-opus-4-8+echo"}
        status, answer = ask(chat.url, dialect, asked, CLIENT_KEY, **given)
        assert status == 200, answer
        told.append(cached(answer))
    first, second = [one for _, one in chat.provider.issued.cache.counted]
    assert (first.read, second.written) == (0, 0) and first.written == second.read > 5000
    assert told == [0, second.read]
