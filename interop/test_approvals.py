"""Calls that need approval, with real clients: the caller is asked, or another person decides."""

import json
import threading
import urllib.error
import urllib.request

import pytest

from harness.clients import CLIENTS, run_client
from harness.gateway import Gateway
from harness.paths import program
from harness.process import wait_for

YES = {"action": "accept", "content": {"approve": True}}
NO = {"action": "accept", "content": {"approve": False}}
DECLINED = {"action": "decline"}

class Guarded:
    """A gateway before a server whose tool `write_down` needs approval for every call."""

    def __init__(self, folder, **keys):
        self.folder = folder
        # A server may not write beside the config.
        pace = folder / "pace" / "pace.json"
        pace.parent.mkdir()
        pace.write_text("{}")
        server = {
            "transport": "stdio",
            "command": [*program("servers", "pace"), "--pace", str(pace)],
            "tools": {"write_down": {"approval": "always"}},
            **keys,
        }
        listed = "executeToolCode" if keys.get("code_mode") else "pace_write_down"
        self.gateway = Gateway(folder, {"servers": {"pace": server}, "approvals": {"timeout_s": 60}})
        self.gateway.wait_for_tools({listed})
        self.token = (folder / "data" / "admin.token").read_text().strip()

    def calls(self) -> int:
        file = self.folder / "pace" / "write_down.calls"
        return int(file.read_text()) if file.exists() else 0

    def api(self, path: str, body: dict | None = None) -> dict:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.gateway.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def waiting(self) -> list[dict]:
        return self.api("/api/approvals")["approvals"]

@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    started = Guarded(tmp_path_factory.mktemp("guarded"))
    try:
        yield started
    finally:
        started.gateway.stop()

def step(answer: dict | None) -> dict:
    return {"do": "call", "name": "pace_write_down", "arguments": {"text": "hello"}, "answer": answer}

@pytest.mark.parametrize("client", CLIENTS)
def test_whoever_calls_is_asked_and_only_a_yes_lets_the_call_through(guarded, client):
    before = guarded.calls()
    seen = run_client(client, [step(YES), step(NO), step(DECLINED)], url=guarded.gateway.mcp)
    yes, no, declined = (one["result"] for one in seen["steps"])
    assert not yes.get("isError"), yes
    for denied in (no, declined):
        assert denied["isError"]
        assert "was denied" in denied["content"][0]["text"]
    question = seen["steps"][0]["questions"][0]
    assert "pace_write_down" in question and '"hello"' in question
    assert guarded.calls() == before + 1
    assert guarded.waiting() == []

def test_somebody_else_decides_once(guarded):
    before = guarded.calls()
    outcome = {}

    def call() -> None:
        body = {"name": "pace_write_down", "arguments": {"text": "hello"}}
        outcome.update(guarded.api("/v1/tools/execute", body))

    for decision, status in (("approve", "ok"), ("deny", "denied")):
        outcome.clear()
        calling = threading.Thread(target=call)
        calling.start()
        wait_for("a call that waits", lambda: guarded.waiting() or None, 30)
        (request,) = guarded.waiting()
        assert request["arguments"] == {"text": "hello"}
        path = f"/api/approvals/{request['id']}"
        guarded.api(path, {"decision": decision, "note": "so be it"})
        calling.join(timeout=30)
        assert outcome["status"] == status, outcome
        with pytest.raises(urllib.error.HTTPError) as second:
            guarded.api(path, {"decision": "approve"})
        assert second.value.code == 409
    assert "so be it" in outcome["message"]
    assert guarded.calls() == before + 1

PROGRAM = """
written = try_call(pace.write_down, text="from a program")
print("written" if written.ok else written.status)
result = 6 * 7
"""

@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    started = Guarded(tmp_path_factory.mktemp("coded"), code_mode=True)
    try:
        yield started
    finally:
        started.gateway.stop()

@pytest.mark.parametrize("client", CLIENTS)
def test_a_program_stands_still_until_its_caller_agrees_and_goes_on(coded, client):
    before = coded.calls()
    program = {"do": "call", "name": "executeToolCode", "arguments": {"code": PROGRAM}}
    seen = run_client(client, [{**program, "answer": YES}, {**program, "answer": NO}], url=coded.gateway.mcp)
    yes, no = (one["result"] for one in seen["steps"])
    assert yes["content"][0]["text"] == "written\nresult = 42", yes
    assert no["content"][0]["text"] == "denied\nresult = 42", no
    assert "from a program" in seen["steps"][0]["questions"][0]
    assert coded.calls() == before + 1
    assert coded.waiting() == []

def test_somebody_else_lets_a_call_of_a_program_through(coded):
    before = coded.calls()
    outcome = {}
    running = threading.Thread(target=lambda: outcome.update(coded.api("/v1/code", {"code": PROGRAM})))
    running.start()
    wait_for("a call that waits", lambda: coded.waiting() or None, 30)
    (request,) = coded.waiting()
    coded.api(f"/api/approvals/{request['id']}", {"decision": "approve"})
    running.join(timeout=30)
    assert (outcome["status"], outcome["prints"], outcome["result"]) == ("ok", "written\n", 42), outcome
    assert coded.calls() == before + 1
