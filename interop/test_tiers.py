"""Latency budgets with a real server: tools are seen and called by how fast they are, measured and not promised."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from harness import rpc
from harness.gateway import Gateway, clean_environment
from harness.paths import program, tollgate
from harness.process import wait_for

# Ceilings far apart, so that a busy machine does not blur them; tools may move often, so that tests are short.
BUDGET = {
    "tiers": {"fast_ms": 250, "standard_ms": 1000, "deep_ms": 3000},
    "hold_s": 1,
    "calibrate_interval_s": 2,
}
AGENTS = {
    "quick": {"tools": ["*"], "budget_tier": "fast"},
    "calm": {"tools": ["*"], "budget_tier": "deep"},
    "open": {"tools": ["*"]},
}


class Pace:
    """The upstream's speed, and the gateway before it."""

    def __init__(self, folder, tools: dict | None = None, **server):
        self.folder = folder
        # A server may not write beside the config.
        self.file = folder / "pace" / "pace.json"
        self.file.parent.mkdir()
        self.set(look_up={"ms": 5}, weather={"ms": 5}, write_down={"ms": 5})
        command = [*program("servers", "pace"), "--pace", str(self.file)]
        entry = {"transport": "stdio", "command": command, "trusted": True, "tools": tools or {}, **server}
        config = {"servers": {"pace": entry}, "agents": AGENTS, "default_agent": "open", "budget": BUDGET}
        self.config = config
        self.start()

    def start(self) -> None:
        self.gateway = Gateway(self.folder, self.config)
        self.gateway.wait_for_tools({"pace_look_up"})

    def set(self, **paces) -> None:
        known = json.loads(self.file.read_text()) if self.file.exists() else {}
        beside = self.file.with_suffix(".new")
        beside.write_text(json.dumps({**known, **paces}))
        beside.rename(self.file)

    def calls(self, tool: str, what: str = "calls") -> int:
        file = self.folder / "pace" / f"{tool}.{what}"
        return int(file.read_text()) if file.exists() else 0

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(self.gateway.url + path, timeout=10) as answer:
            return json.load(answer)

    def post(self, path: str, body: dict) -> dict:
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.gateway.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def call(self, tool: str, agent: str = "open", **more) -> dict:
        arguments = {"pace_look_up": {"key": "a"}, "pace_weather": {"city": "b"}, "pace_write_down": {"text": "c"}}
        return self.post("/v1/tools/execute", {"name": tool, "arguments": arguments[tool], "agent": agent, **more})

    def tools(self, agent: str = "open") -> dict[str, dict]:
        return {tool["name"]: tool for tool in self.get(f"/v1/tools?agent={agent}")["tools"]}

    def tier(self, tool: str) -> str:
        return self.tools()[tool]["tier"]

    def cli(self, *words: str) -> subprocess.CompletedProcess[str]:
        listen = self.gateway.url.removeprefix("http://")
        command = [tollgate(), *words, "--config", str(self.folder / "tollgate.yaml"), "--listen", listen]
        command += ["--data", str(self.folder / "data")]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean_environment())


@pytest.fixture
def start(tmp_path):
    started = []

    def pace(**options) -> Pace:
        started.append(Pace(tmp_path, **options))
        return started[-1]

    yield pace
    for one in started:
        one.gateway.stop()


def becomes(pace: Pace, tool: str, tier: str, limit_s: float = 20) -> None:
    wait_for(f"{tool} is {tier}", lambda: pace.tier(tool) == tier, limit_s)


def test_a_fast_turn_shows_and_runs_only_fast_tools(start):
    pace = start(tools={"weather": {"estimated_duration_ms": 2000}}, calibrate=False)
    for _ in range(5):
        pace.call("pace_look_up")
    becomes(pace, "pace_look_up", "fast")
    over_http = set(pace.tools("quick"))
    over_mcp = {tool["name"] for tool in rpc.result(f"{pace.gateway.mcp}/quick", "tools/list")["tools"]}
    by_command = {tool["name"] for tool in json.loads(pace.cli("tools", "--agent", "quick", "--json").stdout)["tools"]}
    for seen in (over_http, over_mcp, by_command):
        assert "pace_look_up" in seen
        assert "pace_weather" not in seen, "declared slow"
        assert "pace_write_down" not in seen, "nothing is known of it"
    wait_for("one in time", lambda: pace.call("pace_look_up", "quick")["status"] == "ok", 20)
    assert pace.call("pace_weather", "calm")["status"] == "ok"
    before = pace.calls("weather")
    refused = rpc.post(f"{pace.gateway.mcp}/quick", "tools/call", {"name": "pace_weather", "arguments": {"city": "x"}})
    assert "error" in refused[1] or refused[1]["result"]["isError"]
    assert pace.cli("call", "pace_weather", "city=x", "--agent", "quick").returncode == 1
    assert pace.calls("weather") == before, "what is not seen is not run"
    # A tier that is asked for holds for that turn only.
    listed = {tool["name"] for tool in pace.get("/v1/tools?agent=quick&tier=deep")["tools"]}
    assert "pace_weather" in listed, "an override may pass the ceiling"
    tier = {"_meta": {"dev.tollgate/tier": "fast"}}
    assert "pace_weather" not in {tool["name"] for tool in rpc.result(pace.gateway.mcp, "tools/list", tier)["tools"]}


def test_the_wall_ends_a_turn_and_the_server_is_told(start):
    pace = start(tools={"look_up": {"estimated_duration_ms": 10}}, calibrate=False)
    pace.set(look_up={"ms": 8000})
    outcome = pace.call("pace_look_up", "quick")
    assert outcome["status"] == "timeout"
    assert outcome["retryable"] is True
    assert 250 <= outcome["duration_ms"] < 7500, "at the ceiling, long before the server's answer"
    wait_for("the server knows", lambda: pace.calls("look_up", "cancelled") == 1, 30)


def test_a_tool_that_becomes_slow_leaves_and_comes_back_when_nobody_sees_it(start):
    pace = start()
    becomes(pace, "pace_look_up", "fast")
    pace.set(look_up={"ms": 500})
    for _ in range(60):
        if pace.call("pace_look_up")["status"] == "ok" and pace.tier("pace_look_up") != "fast":
            break
    becomes(pace, "pace_look_up", "standard")
    assert "pace_look_up" not in pace.tools("quick")
    assert "measured p50" in pace.tools()["pace_look_up"]["reason"]
    # Nobody calls it any more; the gateway finds out by itself.
    pace.set(look_up={"ms": 5})
    becomes(pace, "pace_look_up", "fast", limit_s=40)
    assert "pace_look_up" in pace.tools("quick")
    assert pace.calls("write_down") == 0, "never a side effect"


def test_a_tool_that_fails_moves_up_and_recovers(start):
    pace = start()
    becomes(pace, "pace_look_up", "fast")
    pace.set(look_up={"fail": True})

    def is_up() -> bool:
        assert pace.call("pace_look_up")["status"] == "error"
        return pace.tier("pace_look_up") == "standard"

    wait_for("one tier up", is_up, 30)
    assert "failed" in pace.tools()["pace_look_up"]["reason"]
    pace.set(look_up={"ms": 5})
    becomes(pace, "pace_look_up", "fast", limit_s=40)


def test_measurements_survive_a_kill(start):
    pace = start(calibrate=False)
    for _ in range(12):
        pace.call("pace_write_down")
    becomes(pace, "pace_write_down", "fast")

    def is_kept() -> bool:
        return pace.tools()["pace_write_down"]["measured"]["calls"] >= 12

    wait_for("the samples", is_kept, 30)
    # What was measured is written about once a second.
    time.sleep(5)
    os.kill(pace.gateway.process.pid, signal.SIGKILL)
    pace.gateway.stop()
    pace.start()
    tool = pace.tools()["pace_write_down"]
    assert tool["tier"] == "fast"
    assert tool["measured"]["calls"] == 12


def test_a_fickle_tool_is_flagged(start):
    pace = start(calibrate=False)
    pace.set(look_up={"ms": 5, "other_ms": 600, "every": 4})
    for _ in range(24):
        pace.call("pace_look_up")
    tool = wait_for("the flag", lambda: (it := pace.tools()["pace_look_up"])["bimodal"] and it, 30)
    assert tool["tier"] == "fast"
    assert tool["measured"]["p95_ms"] >= 600 > 250 >= tool["measured"]["p50_ms"]


def test_a_drifting_tool_ends_where_it_belongs(start):
    pace = start(calibrate=False)
    for _ in range(5):
        pace.call("pace_look_up")
    becomes(pace, "pace_look_up", "fast")
    pace.set(look_up={"ms": 5, "step_ms": 8})
    for _ in range(80):
        pace.call("pace_look_up")
        if pace.tier("pace_look_up") == "standard":
            break
    assert pace.tier("pace_look_up") == "standard"


def test_calibration_by_command_measures_what_is_safe_and_says_what_is_not(start):
    pace = start(calibrate=False)
    assert pace.tier("pace_look_up") == "standard", "not measured yet"
    done = pace.cli("calibrate")
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "pace_write_down" in said
    assert "side effect" in said
    assert pace.calls("write_down") == 0
    assert pace.calls("look_up") >= 5
    becomes(pace, "pace_look_up", "fast", limit_s=30)
    table = pace.cli("tools").stdout
    for word in ("TIER", "P50", "P95", "P99", "HEALTH", "BADGE", "WHY", "measured p50"):
        assert word in table, table


def test_what_was_said_chooses_the_tier(start):
    pace = start(tools={"weather": {"estimated_duration_ms": 2500}}, calibrate=False)
    deep = {"text": "Erzähl mir alles über Drachen, im Detail!", "conversation": "c1", "agent": "open"}
    answer = pace.post("/v1/tier", deep)
    assert answer["tier"] == "deep"
    assert "pace_weather" in answer["tools"]
    again = pace.post("/v1/tier", deep)
    assert again["tier"] == "standard", "the last deep turn was a moment ago"
    assert pace.post("/v1/tier", {"text": "That request is in question", "conversation": "c1"})["tier"] == "fast"
    busy = {"text": "do you remember?", "conversation": "c1", "queue_depth": 4}
    assert pace.post("/v1/tier", busy)["tier"] == "fast"
    said = pace.cli("tier", "what happened last time?", "--json")
    assert json.loads(said.stdout)["tier"] == "standard"
    with pytest.raises(urllib.error.HTTPError) as refused:
        pace.post("/v1/tier", {"text": "x", "override": "warp"})
    assert refused.value.code == 400


def test_equal_calls_are_answered_from_the_cache_and_together(start):
    keep = {"idempotent": True, "cacheable_seconds": 60}
    pace = start(tools={"look_up": keep}, calibrate=False)
    first, second = pace.call("pace_look_up"), pace.call("pace_look_up")
    assert (first["cached"], second["cached"]) == (False, True)
    assert first["data"] == second["data"]
    assert pace.calls("look_up") == 1
    # A slow one: the turn is over, the answer comes late and is there for the next turn.
    pace.set(look_up={"ms": 350})
    body = {"name": "pace_look_up", "arguments": {"key": "late"}, "tier": "fast"}
    assert pace.post("/v1/tools/execute", {**body, "tier": "standard"})["status"] == "ok"
    pace.set(look_up={"ms": 1800})
    body["arguments"] = {"key": "later"}
    pending = pace.post("/v1/tools/execute", {**body, "tier": "standard"})
    assert pending["status"] == "pending", pending
    ready = wait_for(
        "the late result",
        lambda: (it := pace.get(f"/v1/results/{pending['handle']}"))["status"] == "ready" and it,
        10,
    )
    assert "later" in json.dumps(ready["data"])
    assert pace.post("/v1/tools/execute", {**body, "tier": "standard"})["cached"] is True
