"""Every fault of a provider whose answer passes through unchanged: at every event of a stream, and in a whole answer.

The client speaks the provider's dialect, and no agent is involved. It gets the bytes of the provider, whatever is in
them, but only whole events and an end of its dialect.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import httpx2
import pytest

from harness import models
from harness.models import KINDS
from harness.streams import STREAMS, check_error, events

# Whether the bytes end there, or only something is wrong with them.
ENDING = ("cut", "stall")
WRONG = ("wrong-type", "wrong-inside", "wrong-id", "twice", "swapped")
THINKING = {"responses": "gpt-6.1-sol", "anthropic": "claude-opus-5-5", "gemini": "gemini-3.8-flash"}
REFUSALS = {"rate-limited": 429, "rate-limited-silently": 429, "overloaded-529": 529}
# Answers that are none: the last ones are JSON, or say that they are.
RAW = ("html", "html-502", "nothing-204", "redirect", "empty", "array", "number", "half", "broken-off", "gzip-lie", "deep")
STALLING = {"stalling-": {"timeout_ms": 15_000, "idle_timeout_ms": 2000, "retries": 0}}
AT_ONCE = 12
# Only time passes in a stall.
STALLS_AT_ONCE = 64
ROLL = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
TOOLS = {
    "chat": [{"type": "function", "function": {"name": "roll", "description": "Rolls dice.", "parameters": ROLL}}],
    "responses": [{"type": "function", "name": "roll", "description": "Rolls dice.", "parameters": ROLL, "strict": False}],
    "anthropic": [{"name": "roll", "description": "Rolls dice.", "input_schema": ROLL}],
    "gemini": [{"functionDeclarations": [{"name": "roll", "description": "Rolls dice.", "parameters": ROLL}]}],
}


@dataclass(frozen=True)
class Case:
    kind: str
    fault: str
    stream: bool = True
    vendor: str = ""

    @property
    def id(self) -> str:
        """The provider's own name of the model. Text and a call: events of every kind."""
        return f"{self.vendor}text-and-tool" + (f".{self.fault}" if self.fault else "")

    @property
    def manner(self) -> str:
        return "stalling-" if self.fault.startswith("stall") else ""

    @property
    def model(self) -> str:
        return f"{self.manner}{self.kind}-{self.id}"

    @property
    def name(self) -> str:
        return f"{self.model}-{self.stream}"


# Each stream that there is without a fault, whose events are counted.
HEALTHY = [Case(kind, "") for kind in KINDS] + [Case(kind, "", True, f"{name}+") for kind, name in THINKING.items()]


def at_events(healthy: Case, length: int, faults: tuple[str, ...]) -> list[Case]:
    return [replace(healthy, fault=f"{fault}-at-event-{place}") for place in range(length) for fault in faults]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "MANNERS", {**models.MANNERS, **STALLING})
        longest = 40
        every = [case for healthy in HEALTHY for case in at_events(healthy, longest, (*ENDING, *WRONG))]
        every += HEALTHY
        every += [Case(kind, "long-line-at-50") for kind in KINDS]
        every += [Case(kind, fault) for kind in KINDS for fault in (*REFUSALS, *RAW, "failing-1", "mistyped")]
        found = {case.model: models.model(case.kind, case.id, case.manner) for case in every}
        more = {"models": {"small": {"provider": "demo"}, **found}, "agents": {"dicer": {"models": ["small"]}}}
        with models.started(tmp_path_factory.mktemp("passing"), **more) as running:
            yield running


def request(case: Case, model: str) -> tuple[str, dict]:
    said, tools = [{"role": "user", "content": "Roll."}], TOOLS[case.kind]
    if case.kind == "gemini":
        verb = "streamGenerateContent?alt=sse" if case.stream else "generateContent"
        return f"/v1beta/models/{model}:{verb}", {"contents": [{"role": "user", "parts": [{"text": "Roll."}]}], "tools": tools}
    body = {"model": model, "stream": case.stream, "tools": tools}
    if case.kind == "responses":
        return "/v1/responses", {**body, "input": said}
    if case.kind == "anthropic":
        return "/v1/messages", {**body, "messages": said, "max_tokens": 4096}
    return "/v1/chat/completions", {**body, "messages": said}


def ask(gateway, case: Case) -> httpx2.Response:
    path, body = request(case, case.model)
    headers = {"authorization": f"Bearer {models.CLIENT_KEY}", "anthropic-version": "2023-06-01"}
    return httpx2.post(gateway.url + path, json=body, headers=headers, timeout=30)


def ask_directly(gateway, case: Case) -> str:
    """What the provider sends."""
    path, body = request(case, case.id)
    headers = {"x-api-key": "k", "authorization": "Bearer k", "x-goog-api-key": "k", "anthropic-version": "2023-06-01"}
    return httpx2.post(gateway.provider.url + path, json=body, headers=headers, timeout=30).text


def shape(value):
    """Without what is new in every answer: ids, times, signatures, the name of the model."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__


def shapes(text: str) -> list:
    return [(name, data if data == "[DONE]" else shape(json.loads(data))) for name, data in events(text)]


def check_end(case: Case, rest: list[tuple[str | None, str]]) -> None:
    """At most one event is the gateway's own: an end of the dialect."""
    if not rest:
        return
    [(name, data)] = rest
    if data == "[DONE]":
        assert case.kind == "chat"
    else:
        assert name == ("error" if case.kind in ("responses", "anthropic") else None)
        assert '"error"' in data


def check_ending(gateway, case: Case, healthy: str) -> None:
    """The events before the fault, and then an error, unless nothing was missing."""
    place = int(case.fault.rpartition("-")[2])
    before = shapes(healthy)[:place]
    answer = ask(gateway, case)
    if place == 0:
        assert answer.status_code in (502, 504), answer.text
        return check_error(case.kind, answer.json())
    assert answer.status_code == 200, answer.text
    well = STREAMS[case.kind](events(answer.text))
    assert shapes(answer.text)[:place] == before, answer.text
    check_end(case, events(answer.text)[place:])
    # What is missing at the very end says nothing.
    assert not well or place > len(shapes(healthy)) - 3, f"the client is not told: {answer.text[-300:]}"


def check_wrong(gateway, case: Case) -> None:
    """The client gets the bytes as they are, and the end if the provider spoilt it."""
    sent = ask_directly(gateway, case)
    answer = ask(gateway, case)
    assert answer.status_code == 200, answer.text
    expected = shapes(sent)
    assert shapes(answer.text)[: len(expected)] == expected, f"{sent}\n=== {answer.text}"
    check_end(case, events(answer.text)[len(expected) :])


def failures(every: list, check, at_once: int = AT_ONCE) -> str:
    def try_case(case: Case) -> str | None:
        try:
            check(case)
        except Exception as error:  # noqa: BLE001 (each case tells its own fault)
            return f"{case.name}: {type(error).__name__}: {error}"
        return None

    with ThreadPoolExecutor(at_once) as pool:
        return "\n".join(fault for fault in pool.map(try_case, every) if fault)


@pytest.mark.parametrize("healthy", HEALTHY[: len(KINDS)], ids=KINDS)
def test_a_stream_that_is_wrong_at_any_event_passes_as_it_is(gateway, healthy):
    whole = ask(gateway, healthy).text
    assert shapes(whole) == shapes(ask_directly(gateway, healthy))
    assert STREAMS[healthy.kind](events(whole))
    cases = at_events(healthy, len(events(whole)), WRONG)
    failed = failures(cases, lambda case: check_wrong(gateway, case))
    assert not failed, failed


def test_a_stream_that_ends_at_any_event_ends_in_its_dialect(gateway):
    found = {healthy: ask(gateway, healthy).text for healthy in HEALTHY}
    ends = [(case, found[one]) for one in HEALTHY for case in at_events(one, len(events(found[one])), ENDING)]
    of_case = dict(ends)
    cuts = [case for case in of_case if not case.manner]
    failed = failures(cuts, lambda case: check_ending(gateway, case, of_case[case]))
    assert not failed, failed
    stalls = [case for case in of_case if case.manner]
    failed = failures(stalls, lambda case: check_ending(gateway, case, of_case[case]), STALLS_AT_ONCE)
    assert not failed, failed


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_of_ten_mebibytes_passes(gateway, kind):
    check_wrong(gateway, Case(kind, "long-line-at-50"))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", KINDS)
def test_refusals_pass_with_their_status_and_their_words(gateway, kind, stream):
    for fault, status in REFUSALS.items():
        gateway.provider.forget()
        answer = ask(gateway, Case(kind, fault, stream))
        assert answer.status_code == status, answer.text
        check_error(kind, answer.json())
        # Said again by whom it concerns.
        assert answer.headers.get("retry-after") == ("1" if fault == "rate-limited" and kind != "gemini" else None)
        assert len(gateway.seen) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_none_is_an_error(gateway, kind, stream):
    for fault in [*RAW, *(["mistyped"] if stream else [])]:
        gateway.provider.forget()
        answer = ask(gateway, Case(kind, fault, stream))
        assert answer.status_code == 502, f"{fault}: {answer.status_code} {answer.text[:300]}"
        check_error(kind, answer.json())
        assert "<h1>" not in answer.text
        assert len(gateway.seen) == 1, fault
