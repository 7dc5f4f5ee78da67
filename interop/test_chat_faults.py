"""Every fault of a provider at every point of a stream, between all dialects, before and after a tool has run.

The client gets a whole answer or an error, both well-formed in its own dialect, and the tool runs once. Streams are
judged here byte by byte, without the help of a client that forgives.
"""

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx2
import pytest

from harness import models
from harness.models import KINDS
from harness.streams import STREAMS, check_error, events

POINTS = (0, 50, 99)
AT_POINTS = ("cut", "stall", "wrong-type", "wrong-inside", "wrong-id", "twice", "swapped")
FAULTS = [
    *(f"{fault}-at-{point}" for fault in (*AT_POINTS, "long-line") for point in POINTS),
    "rate-limited", "rate-limited-silently", "overloaded-529", "html",
]  # fmt: skip
ROUNDS = ("", ".second-round")
# What a client may be told of a fault that is not its own.
STATUSES = {429, 502, 503, 504}
# How many events a stream with the call has, by API and by whether the model thinks.
EVENTS = {
    "chat": 7, "responses": 8, "anthropic": 9, "gemini": 2,
    "responses-thinking": 10, "anthropic-thinking": 13, "gemini-thinking": 2,
}  # fmt: skip
THINKING = {"responses": "gpt-6.1-sol", "anthropic": "claude-opus-5-5", "gemini": "gemini-3.8-flash"}
# Those by which one call may seem to be two, and those that spoil it, before a tool has run and after.
AT_EVENTS = ("wrong-id", "twice", "swapped", "cut", "wrong-type", "wrong-inside")
# A front of another dialect for each provider: how a stream is read does not depend on it.
OTHER = {"chat": "responses", "responses": "anthropic", "anthropic": "gemini", "gemini": "chat"}
# Before the first token: another place or model answers, and the client sees nothing of them.
EARLY = ("cut-at-0", "rate-limited", "rate-limited-silently", "overloaded-529", "html")
BEHIND = (*EARLY, "cut-at-50", "cut-at-99", "wrong-id-at-50", "twice-at-50")
AT_ONCE = 12
# Only time passes in a stall.
STALLS_AT_ONCE = 48
# A provider that stalls is given up soon, but not before a busy machine has let it speak.
MANNERS = {
    "stalling-": {"timeout_ms": 4000, "idle_timeout_ms": 2000, "retries": 0},
    "pooled-": {"timeout_ms": 15_000, "retries": 1, "endpoints": [{"name": "one"}, {"name": "two"}]},
}


@dataclass(frozen=True)
class Case:
    front: str
    kind: str
    fault: str
    round: str
    stream: bool
    vendor: str = ""
    agent: str = "dicer"

    @property
    def id(self) -> str:
        """The provider's own name of the model."""
        return f"{self.vendor}tool-once.{self.fault}{self.round}"

    @property
    def manner(self) -> str:
        if self.agent != "dicer":
            return "pooled-"
        return "stalling-" if self.stalls else ""

    @property
    def model(self) -> str:
        return f"{self.manner}{self.kind}-{self.id}"

    @property
    def stalls(self) -> bool:
        return self.fault.startswith("stall-")

    @property
    def key(self) -> str:
        name = f"{self.agent}-{self.front}-{self.model}-{self.stream}"
        return name.replace(".", "-").replace("+", "-")


def cases(front: str, kind: str) -> list[Case]:
    """Half of all: each fault meets every front and every provider in both rounds, but not in each pair."""
    # Without a stream only the whole answer can be at fault.
    whole = [fault for fault in FAULTS if "-at-" not in fault]
    found = [
        [Case(front, kind, fault, late, stream) for late in ROUNDS]
        for stream, faults in ((True, FAULTS), (False, whole))
        for fault in faults
    ]
    pair = KIND_NAMES.index(front) + KIND_NAMES.index(kind)
    return [both[(pair + at) % 2] for at, both in enumerate(found)]


def at_every_event(name: str, faults: tuple[str, ...] = AT_EVENTS) -> list[Case]:
    kind, vendor = MODELS[name]
    found = [f"{fault}-at-event-{place}" for place in range(EVENTS[name]) for fault in faults]
    return [Case(OTHER[kind], kind, fault, late, True, vendor) for fault in found for late in ROUNDS]


def in_pools(kind: str) -> list[Case]:
    """Each with an agent of its own, which has another model behind the pool."""
    return [
        Case(OTHER[kind], kind, fault, late, True, agent=f"pooled-{kind}-{fault}{late}".replace(".", "-"))
        for fault in BEHIND
        for late in ROUNDS
    ]


KIND_NAMES = list(KINDS)
PAIRS = [case for front in KINDS for kind in KINDS for case in cases(front, kind)]
# Models of each API, and what stands before their scripts.
MODELS = {kind: (kind, "") for kind in KINDS} | {
    f"{kind}-thinking": (kind, f"{name}+") for kind, name in THINKING.items()
}
EVERYWHERE = {name: at_every_event(name) for name in MODELS}
STALLED = [case for name in MODELS for case in at_every_event(name, ("stall",))]
POOLED = {kind: in_pools(kind) for kind in KINDS}


def secret(case: Case) -> str:
    return f"key-of-{case.key}-0123456789"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    pooled = [case for found in POOLED.values() for case in found]
    every = [*PAIRS, *(case for found in EVERYWHERE.values() for case in found), *STALLED, *pooled]
    found = {case.model: models.model(case.kind, case.id, case.manner) for case in every}
    found |= {f"healthy-{kind}": models.model(kind, "tool-once") for kind in KINDS}
    dice = {"tools": ["roll"], "auto_execute": ["roll"], "max_depth": 4, "models": ["small"]}
    pools = {case.agent: {**dice, "models": [case.model, f"healthy-{OTHER[case.kind]}"]} for case in pooled}
    more = {
        "models": {"small": {"provider": "demo"}, **found},
        "agents": {"dicer": dice, **pools},
        "keys": [{"name": case.key, "key": secret(case), "role": "caller"} for case in every],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "MANNERS", {**models.MANNERS, **MANNERS})
        with models.started(tmp_path_factory.mktemp("faults"), **more) as running:
            yield running


def request(case: Case) -> tuple[str, dict]:
    """Path and body. An agent of the case's own is asked by its name."""
    model = case.model if case.agent == "dicer" else case.agent
    if case.front == "gemini":
        verb = "streamGenerateContent?alt=sse" if case.stream else "generateContent"
        return f"/v1beta/models/{model}:{verb}", {"contents": [{"role": "user", "parts": [{"text": "Roll."}]}]}
    body = {"model": model, "stream": case.stream}
    said = [{"role": "user", "content": "Roll."}]
    if case.front == "responses":
        return "/v1/responses", {**body, "input": said}
    if case.front == "anthropic":
        return "/v1/messages", {**body, "messages": said, "max_tokens": 100}
    return "/v1/chat/completions", {**body, "messages": said}


def rolls(gateway, case: Case) -> int:
    url = f"{gateway.url}/api/calls?principal=key:{case.key}&name=roll&outcome=ok"
    headers = {"authorization": f"Bearer {gateway.gateway.admin_token()}"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return len(json.load(answer)["calls"])


def check(gateway, case: Case) -> None:
    path, body = request(case)
    headers = {"authorization": f"Bearer {secret(case)}", "x-tollgate-agent": case.agent}
    answer = httpx2.post(gateway.url + path, json=body, headers=headers, timeout=30)
    if answer.status_code == 200 and case.stream:
        well = STREAMS[case.front](events(answer.text))
    elif answer.status_code == 200:
        well = True
    else:
        assert answer.status_code in STATUSES, f"{answer.status_code}: {answer.text[:300]}"
        check_error(case.front, answer.json())
        well = False
    assert "<h1>" not in answer.text and "secret-of-" not in answer.text
    ran = rolls(gateway, case)
    # A call that was spoilt on its way is not made; the model is told, and gives an answer without it.
    assert ran in ((1,) if case.round else (0, 1)), f"the tool ran {ran} times"
    assert not well or ran == 0 or "42" in answer.text, "an answer without the tool's result"
    assert case.agent == "dicer" or case.fault not in EARLY or (well and ran == 1), answer.text[-300:]


def failures(gateway, every: list[Case], at_once: int = AT_ONCE) -> str:
    def try_case(case: Case) -> str | None:
        try:
            check(gateway, case)
        except Exception as error:  # noqa: BLE001 (each case tells its own fault)
            return f"{case.key}: {type(error).__name__}: {error}"
        return None

    with ThreadPoolExecutor(at_once) as pool:
        return "\n".join(fault for fault in pool.map(try_case, every) if fault)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("front", KINDS)
def test_every_fault_of_a_provider_ends_in_the_clients_own_dialect(gateway, front, kind):
    failed = failures(gateway, [case for case in cases(front, kind) if not case.stalls])
    assert not failed, failed


def test_a_provider_that_stalls_is_given_up_in_the_clients_own_dialect(gateway):
    failed = failures(gateway, [case for case in PAIRS if case.stalls], STALLS_AT_ONCE)
    assert not failed, failed


def test_a_tool_runs_once_whatever_event_never_comes(gateway):
    failed = failures(gateway, STALLED, STALLS_AT_ONCE)
    assert not failed, failed


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_tool_runs_once_whatever_event_is_wrong(gateway, name):
    """Thinking with its signature is among the events of models that think, and goes back to them in the second round."""
    gateway.provider.forget()
    failed = failures(gateway, EVERYWHERE[name])
    assert not failed, failed
    assert gateway.seen[0].events == EVENTS[name]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_runs_once_however_often_models_are_asked(gateway, kind):
    """Two places, a retry at each and another model behind them."""
    failed = failures(gateway, POOLED[kind])
    assert not failed, failed
