"""Models of vendors in the fake provider: every official client talks to them, and streams have every event."""

import json

import pytest

from fronts import DIALECTS, FRONTS

EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
ROLL = {"name": "roll", "description": "Rolls dice", "schema": {**SCHEMA, "additionalProperties": False}}
MODELS = {
    "chat": ["gpt-4.1", "gpt-5.5", "gpt-6-sol"],
    "responses": ["gpt-4.1", "gpt-5.5", "gpt-6.1-sol"],
    "anthropic": ["claude-haiku-4-5", "claude-opus-4-8", "claude-opus-5-5", "claude-fable-5-2"],
    "gemini": ["gemini-2.5-flash", "gemini-3.8-flash", "gemini-4-argon"],
}
EVERY = pytest.mark.parametrize(
    "name, model", [(name, model) for name, front in FRONTS.items() for model in MODELS[front.dialect]]
)


def front(provider, name: str):
    found = FRONTS[name](provider.url, "a-key")
    # Clients read it, and their types do not have it.
    found.more = getattr(found, "more", frozenset()) | {"obfuscation"}
    return found


@EVERY
@EITHER
@pytest.mark.parametrize("script, rounds", [("rounds-2", 2), ("parallel", 1), ("text-and-tool", 1)])
def test_a_client_runs_tools_and_gives_the_results_back(provider, name, model, stream, script, rounds):
    client = front(provider, name)
    history = client.begin("Please roll.")
    for _ in range(rounds):
        heard = client.ask(f"{model}+{script}", history, [ROLL], stream)
        assert heard.finish == "calls"
        history = client.go_on(history, heard, {call.id: "It is 42." for call in heard.calls})
    heard = client.ask(f"{model}+{script}", history, [ROLL], stream)
    assert (heard.finish, heard.text.count("It is 42.")) == ("stop", 3 if script == "parallel" else rounds)
    assert heard.usage[0] > 0 and heard.usage[1] > 0
    assert [seen.status for seen in provider.seen] == [200] * (rounds + 1)


@pytest.mark.parametrize("name", ["openai-py-responses", "anthropic-py", "gemini-py", "openai-js-responses"])
@EITHER
@pytest.mark.parametrize("script, finish", [("refusal", "refusal"), ("length", "length")])
def test_a_client_hears_why_it_ended(provider, name, stream, script, finish):
    client = front(provider, name)
    model = MODELS[client.dialect][-1]
    assert client.ask(f"{model}+{script}", client.begin("Go on."), stream=stream).finish == finish


@pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])
@EITHER
def test_a_client_raises_what_was_refused(provider, name, stream):
    client = front(provider, name)
    model = {"chat": "gpt-6.1-sol", "gemini": "gemini-4-argon"}.get(client.dialect, MODELS[client.dialect][-1])
    wrong = {
        "chat": {},
        "responses": {"temperature": 0.5},
        "anthropic": {"thinking": {"type": "disabled"}},
        "gemini": {"thinking_config": {"thinking_budget": 512}},
    }[client.dialect]
    with pytest.raises(client.errors["bad request"]) as raised:
        client.ask(model, client.begin("Hello."), [ROLL], stream, **wrong)
    assert client.status(raised.value) == 400


# === Every event, in its order ===


def events(provider, name: str, model: str, **more) -> list[dict]:
    client = front(provider, name)
    client.ask(model, client.begin("Please roll."), [ROLL], True, **more)
    return client.tape.events()


def test_responses_sends_every_event(provider):
    raw = events(provider, "openai-py-responses", "gpt-6.1-sol+text-and-tool", reasoning={"summary": "auto"})
    kinds = [event["type"].removeprefix("response.") for event in raw]
    assert [kind for at, kind in enumerate(kinds) if kinds[at - 1 : at] != [kind]] == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done",
        "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
        "completed",
    ]  # fmt: skip
    assert [event["sequence_number"] for event in raw] == list(range(len(raw)))
    assert all(("obfuscation" in event) == event["type"].endswith(".delta") for event in raw)
    assert all("usage" not in event or event is raw[-1] for event in raw)
    added, done = (
        next(one["item"] for one in raw if one["type"].endswith(f"output_item.{w}")) for w in ("added", "done")
    )
    assert len(added["encrypted_content"]) < len(done["encrypted_content"])


def test_responses_can_send_arguments_at_once(provider):
    raw = events(provider, "openai-py-responses", "gpt-6.1-sol+tool-once.done-only")
    kinds = [event["type"] for event in raw]
    assert "response.function_call_arguments.delta" not in kinds
    [done] = [event for event in raw if event["type"] == "response.function_call_arguments.done"]
    assert json.loads(done["arguments"]) == {"expression": "1d1+41"}


def test_obfuscation_can_be_switched_off(provider):
    client = front(provider, "openai-py-responses")
    client.ask("gpt-6.1-sol", client.begin("Hi."), stream=True, stream_options={"include_obfuscation": False})
    assert not any("obfuscation" in event for event in client.tape.events())


def test_chat_sends_usage_last(provider):
    raw = events(provider, "openai-py-chat", "gpt-5.5+tool-once")
    assert raw[-1]["choices"] == [] and raw[-1]["usage"]["prompt_tokens"] > 0
    assert all(event["usage"] is None for event in raw[:-1]) and all("obfuscation" in event for event in raw)


def test_messages_sends_every_event(provider):
    raw = events(
        provider,
        "anthropic-py",
        "claude-opus-5-5+text-and-tool",
        thinking={"type": "adaptive", "display": "summarized"},
    )
    deltas = [event["delta"]["type"] for event in raw if event["type"] == "content_block_delta"]
    assert list(dict.fromkeys(deltas)) == ["thinking_delta", "signature_delta", "text_delta", "input_json_delta"]
    order = [event["type"] for event in raw if event["type"] not in ("ping", "content_block_delta")]
    assert order == [
        "message_start",
        *["content_block_start", "content_block_stop"] * 3,
        "message_delta",
        "message_stop",
    ]
    assert "ping" in [event["type"] for event in raw]
    assert raw[-2]["usage"]["output_tokens"] > raw[0]["message"]["usage"]["output_tokens"]
    hidden = events(provider, "anthropic-py", "claude-opus-5-5+tool-once")
    deltas = [event["delta"]["type"] for event in hidden if event["type"] == "content_block_delta"]
    assert list(dict.fromkeys(deltas)) == ["signature_delta", "input_json_delta"]


def test_gemini_signs_a_text_late(provider):
    raw = events(provider, "gemini-py", "gemini-3.8-flash+echo")
    *others, last = [event["candidates"][0] for event in raw]
    assert last["content"]["parts"][0]["text"] == "" and last["content"]["parts"][0]["thoughtSignature"]
    assert last["finishReason"] == "STOP" and not any("finishReason" in one for one in others)


def test_a_stored_response_can_be_read_again(provider):
    client = front(provider, "openai-py-responses")
    client.ask("gpt-6.1-sol", client.begin("Hi."), store=True)
    [id] = provider.issued.stored
    assert client.client.responses.retrieve(id).output_text == "You said: Hi."
    with pytest.raises(client.errors["not found"]):
        client.client.responses.retrieve("resp_none")
