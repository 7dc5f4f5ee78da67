"""Every front before a real model of 135 million parameters. What it says is seldom sensible: only the shape counts."""

import pytest

from fronts import DIALECTS, FRONTS
from harness.gateway import Gateway
from harness.paths import INTEROP
from harness.process import Process

EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
ONE_EACH = pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])
# With few words to choose from it comes to an end.
PLACES = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}
WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city",
    "schema": {**PLACES, "additionalProperties": False},
}
# How each dialect says: not too much of it.
LENGTH = {
    "chat": "max_tokens",
    "responses": "max_output_tokens",
    "anthropic": "max_tokens",
    "gemini": "max_output_tokens",
}
MUST = {
    "chat": {"tool_choice": "required"},
    "responses": {"tool_choice": "required"},
    "anthropic": {"tool_choice": {"type": "any"}},
    "gemini": {"tool_config": {"function_calling_config": {"mode": "ANY"}}},
}


def short(front, tokens: int = 24) -> dict:
    return {LENGTH[front.dialect]: tokens}


def front_of(gateway, name: str):
    front = FRONTS[name](gateway.url)
    # llama.cpp says this beside what the API has.
    front.more = getattr(front, "more", frozenset()) | {"timings"}
    return front


@pytest.fixture(scope="module")
def tiny():
    command = [str(INTEROP / ".venv-llm" / "bin" / "python"), str(INTEROP.parent / "tools" / "tinyllm.py")]
    process = Process(command, r"tinyllm is ready on (http://\S+)", limit_s=60)
    yield process.found.group(1)
    process.stop()


@pytest.fixture(scope="module")
def gateway(tiny, tmp_path_factory):
    model = {"context_window": 4096, "max_output": 96, "id": "tiny"}
    patient = {"timeout_ms": 120_000, "retries": 0}
    agent = {"tools": ["roll"], "auto_execute": ["roll"], "max_depth": 2, "prompt": "You roll dice."}
    config = {
        # One server with three APIs; it asks for no key.
        "providers": {
            "llama": {"kind": "openai", "base_url": f"{tiny}/v1", **patient},
            "llama_messages": {"kind": "anthropic", "base_url": tiny, **patient},
        },
        "models": {
            "tiny": {"provider": "llama", "tool_mode": "schema", **model},
            "tiny-responses": {"provider": "llama", "api": "responses", **model},
            "tiny-messages": {"provider": "llama_messages", **model},
        },
        "agents": {"dicer": {**agent, "models": ["tiny"]}},
        "default_agent": "dicer",
    }
    started = Gateway(tmp_path_factory.mktemp("tiny"), config)
    yield started
    started.stop()


# Where both speak Responses nothing is touched, and what llama.cpp says there lacks fields that its clients need.
TALKS = [
    (name, model)
    for name in FRONTS
    for model in ("tiny", "tiny-responses", "tiny-messages")
    if not (name.endswith("responses") and model == "tiny-responses")
]


@pytest.mark.parametrize("name, model", TALKS)
@EITHER
def test_it_talks(gateway, name, stream, model):
    front = front_of(gateway, name)
    heard = front.ask(model, front.begin("Name three fruits."), stream=stream, **short(front))
    assert heard.text.strip()
    assert heard.calls == []
    assert heard.finish in ("stop", "length")
    assert heard.usage[0] > 0 and 0 < heard.usage[1] <= 24


@ONE_EACH
@EITHER
def test_it_calls_the_clients_tool_if_it_must(gateway, name, stream):
    front = front_of(gateway, name)
    history = front.begin("How is the weather in Paris?")
    heard = front.ask("tiny", history, [WEATHER], stream, **MUST[front.dialect], **short(front, 96))
    [call, *_] = heard.calls
    assert (call.name, heard.finish) == ("get_weather", "calls")
    assert call.arguments["city"] in PLACES["properties"]["city"]["enum"] and len(call.arguments) == 1
    results = {call.id: "It rains." for call in heard.calls}
    heard = front.ask("tiny", front.go_on(history, heard, results), stream=stream, **short(front))
    assert heard.text.strip()
    assert heard.calls == []


@ONE_EACH
@EITHER
def test_it_is_an_agent(gateway, name, stream):
    front = front_of(gateway, name)
    heard = front.ask("dicer", front.begin("Please roll 2d6."), stream=stream, **short(front, 96))
    assert heard.calls == []
    assert heard.finish in ("stop", "length")
    assert heard.told["ended"] in ("answered", "max_depth")
    assert all(call["name"] == "roll" for call in heard.told["calls"])
    assert heard.told["rounds"] >= 1 + bool(heard.told["calls"])


def test_its_calls_reach_the_tool(gateway):
    """Whether it wants the dice is its own business, but in some of so many tries it does."""
    front = front_of(gateway, "openai-py-chat")
    wishes = ["Please roll 2d6.", "Roll 1d20 for me.", "I attack. Roll 1d8+2.", "Use the tool roll with 3d6."]
    calls = [
        call for wish in wishes for call in front.ask("dicer", front.begin(wish), **short(front, 96)).told["calls"]
    ]
    assert calls, "not a single call in all tries"
