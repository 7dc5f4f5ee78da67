"""Every fault of a provider at every point of a stream, in each pair of dialects, before and after a tool has run.

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

POINTS = (0, 50, 99)
AT_POINTS = ("cut", "stall", "wrong-type", "wrong-inside", "wrong-id", "twice", "swapped")
FAULTS = [
    *(f"{fault}-at-{point}" for fault in AT_POINTS for point in POINTS),
    "long-line-at-50", "rate-limited", "rate-limited-silently", "overloaded-529", "html",
]  # fmt: skip
ROUNDS = ("", ".second-round")
# What a client may be told of a fault that is not its own.
STATUSES = {429, 502, 503, 504}
RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")
# At once: stalls take time, and wait beside each other.
AT_ONCE = 12


@dataclass(frozen=True)
class Case:
    front: str
    kind: str
    fault: str
    round: str
    stream: bool

    @property
    def model(self) -> str:
        return f"{self.kind}-tool-once.{self.fault}{self.round}"

    @property
    def key(self) -> str:
        return f"{self.front}-{self.kind}-{self.fault}{self.round}-{self.stream}".replace(".", "-")


def cases(front: str, kind: str) -> list[Case]:
    streamed = [Case(front, kind, fault, late, True) for fault in FAULTS for late in ROUNDS]
    # Without a stream only the whole answer can be at fault.
    whole = [fault for fault in FAULTS if "-at-" not in fault]
    return streamed + [Case(front, kind, fault, late, False) for fault in whole for late in ROUNDS]


def secret(case: Case) -> str:
    return f"key-of-{case.key}-0123456789"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    every = [case for front in KINDS for kind in KINDS for case in cases(front, kind)]
    found = {case.model: models.model(case.kind, case.model.removeprefix(f"{case.kind}-")) for case in every}
    dice = {"tools": ["roll"], "auto_execute": ["roll"], "max_depth": 4, "models": ["small"]}
    more = {
        "models": {"small": {"provider": "demo"}, **found},
        "agents": {"dicer": dice},
        "keys": [{"name": case.key, "key": secret(case), "role": "caller"} for case in every],
    }
    hasty = models.MANNERS[""]
    models.MANNERS[""] = {"timeout_ms": 1000, "idle_timeout_ms": 500, "retries": 0}
    try:
        with models.started(tmp_path_factory.mktemp("faults"), **more) as running:
            yield running
    finally:
        models.MANNERS[""] = hasty


def request(case: Case) -> tuple[str, dict]:
    """Path and body."""
    if case.front == "gemini":
        verb = "streamGenerateContent?alt=sse" if case.stream else "generateContent"
        return f"/v1beta/models/{case.model}:{verb}", {"contents": [{"role": "user", "parts": [{"text": "Roll."}]}]}
    body = {"model": case.model, "stream": case.stream}
    said = [{"role": "user", "content": "Roll."}]
    if case.front == "responses":
        return "/v1/responses", {**body, "input": said}
    if case.front == "anthropic":
        return "/v1/messages", {**body, "messages": said, "max_tokens": 100}
    return "/v1/chat/completions", {**body, "messages": said}


def events(text: str) -> list[tuple[str | None, str]]:
    """Names and data, of whole events only."""
    assert text.endswith("\n\n"), f"an event without its end: {text[-200:]!r}"
    found = []
    for block in text.split("\n\n")[:-1]:
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        assert all(line.startswith(("event: ", "data: ")) for line in lines), block
        name = next((line[7:] for line in lines if line.startswith("event: ")), None)
        data = [line[6:] for line in lines if line.startswith("data: ")]
        if data:
            found.append((name, "\n".join(data)))
    return found


def check_error(front: str, body: dict) -> None:
    error = body["error"]
    assert isinstance(error["message"], str) and error["message"]
    if front == "gemini":
        assert isinstance(error["code"], int) and isinstance(error["status"], str)
    elif front == "anthropic":
        assert body["type"] == "error" and isinstance(error["type"], str)
    else:
        assert isinstance(error["type"], str) and "code" in error


def check_chat(found: list[tuple[str | None, str]]) -> bool:
    """Whether it ended well."""
    done = found[-1][1] == "[DONE]"
    chunks = [json.loads(data) for _, data in found[: -1 if done else None]]
    if failed := [chunk for chunk in chunks if "error" in chunk]:
        assert failed == chunks[-1:], "something comes after the error"
        check_error("chat", failed[0])
        return False
    assert done
    assert len({chunk["id"] for chunk in chunks}) == 1
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]
    assert len(reasons) == 1, reasons
    return True


def check_responses(found: list[tuple[str | None, str]]) -> bool:
    told = [json.loads(data) for _, data in found]
    assert [name for name, _ in found] == [event["type"] for event in told]
    numbers = [event["sequence_number"] for event in told]
    assert numbers == sorted(set(numbers)), numbers
    kinds = [event["type"] for event in told]
    ends = [kind for kind in kinds if kind in RESPONSE_ENDS]
    assert kinds[-1] in RESPONSE_ENDS and ends in ([kinds[-1]], ["error", "response.failed"]), kinds
    opened = [event["output_index"] for event in told if event["type"] == "response.output_item.added"]
    closed = [event["output_index"] for event in told if event["type"] == "response.output_item.done"]
    assert len(opened) == len(set(opened)) and set(closed) <= set(opened)
    well = told[-1]["type"] == "response.completed"
    assert not well or sorted(opened) == sorted(closed)
    return well


def check_anthropic(found: list[tuple[str | None, str]]) -> bool:
    told = [json.loads(data) for _, data in found]
    assert [name for name, _ in found] == [event["type"] for event in told]
    told = [event for event in told if event["type"] != "ping"]
    if told[-1]["type"] == "error":
        check_error("anthropic", told[-1])
    open_block = None
    for event in told:
        if event["type"] == "content_block_start":
            assert open_block is None
            open_block = event["index"]
        elif event["type"].startswith("content_block_"):
            assert event["index"] == open_block
            open_block = None if event["type"] == "content_block_stop" else open_block
    kinds = [event["type"] for event in told]
    assert kinds[0] in ("message_start", "error") and kinds.count("message_start") <= 1
    assert kinds[-1] in ("message_stop", "error") and not {"message_stop", "error"} & set(kinds[:-1])
    well = kinds[-1] == "message_stop"
    assert not well or (open_block is None and kinds[-2] == "message_delta")
    return well


def check_gemini(found: list[tuple[str | None, str]]) -> bool:
    told = [json.loads(data) for _, data in found]
    if "error" in told[-1]:
        check_error("gemini", told[-1])
        return False
    reasons = [one["finishReason"] for event in told for one in event.get("candidates", []) if one.get("finishReason")]
    assert len(reasons) == 1, reasons
    return True


STREAMS = {"chat": check_chat, "responses": check_responses, "anthropic": check_anthropic, "gemini": check_gemini}


def rolls(gateway, case: Case) -> int:
    url = f"{gateway.url}/api/calls?principal=key:{case.key}&name=roll&outcome=ok"
    headers = {"authorization": f"Bearer {gateway.gateway.admin_token()}"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return len(json.load(answer)["calls"])


def check(gateway, case: Case) -> None:
    path, body = request(case)
    headers = {"authorization": f"Bearer {secret(case)}", "x-tollgate-agent": "dicer"}
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("front", KINDS)
def test_every_fault_of_a_provider_ends_in_the_clients_own_dialect(gateway, front, kind):
    def try_case(case: Case) -> str | None:
        try:
            check(gateway, case)
        except Exception as error:  # noqa: BLE001 (each case tells its own fault)
            return f"{case.fault}{case.round}{'' if case.stream else ' whole'}: {type(error).__name__}: {error}"
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = [fault for fault in pool.map(try_case, cases(front, kind)) if fault]
    assert not failed, "\n".join(failed)
