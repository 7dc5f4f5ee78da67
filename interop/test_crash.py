"""A stdio upstream that dies under load: only its own calls fail, and it comes back by itself."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import rpc
from harness.gateway import Gateway
from harness.process import wait_for
from harness.upstreams import stdio_entry

VICTIM = "ts1_pipe"
OTHERS = ["ts2", "ts2_pipe"]
CALLS = 8


@pytest.fixture
def gateway(http_servers, tmp_path):
    restart = {"enabled": True, "max_restarts": 5, "backoff_ms": 100}
    servers = {
        "ts2": http_servers["ts2"],
        "ts2_pipe": stdio_entry("ts2_pipe"),
        VICTIM: {**stdio_entry(VICTIM), "restart": restart},
    }
    started = Gateway(tmp_path, {"servers": servers})
    try:
        started.wait_for_tools({f"{name}_echo" for name in servers})
        yield started
    finally:
        started.stop()


def slow(gateway, server: str) -> tuple[bool, float]:
    """Whether the call went well, and how long it took."""
    began = time.monotonic()
    _, message = rpc.post(gateway.mcp, "tools/call", {"name": f"{server}_slow", "arguments": {"ms": 6000}})
    well = "result" in message and not message["result"].get("isError")
    return well, time.monotonic() - began


def test_only_calls_of_the_dead_server_fail(gateway):
    pid = int(rpc.text(rpc.call(gateway.mcp, f"{VICTIM}_pid")))
    with ThreadPoolExecutor(CALLS * (1 + len(OTHERS))) as pool:
        lost = [pool.submit(slow, gateway, VICTIM) for _ in range(CALLS)]
        kept = [pool.submit(slow, gateway, name) for name in OTHERS for _ in range(CALLS)]
        time.sleep(2.5)  # All calls are under way by now, and none is done.
        os.kill(pid, signal.SIGKILL)
        assert [well for well, _ in (call.result() for call in kept)] == [True] * len(kept)
        for well, took in (call.result() for call in lost):
            assert not well
            assert took < 5.5, "a call to a dead process has to fail at once, not when it would have been done"

    def is_back() -> int | None:
        answer = rpc.call(gateway.mcp, f"{VICTIM}_pid")
        return None if answer.get("isError") else int(rpc.text(answer))

    assert wait_for("the server is back", is_back, 60) != pid
    # It serves as before, and so does everything else.
    for name in [VICTIM, *OTHERS]:
        assert rpc.text(rpc.call(gateway.mcp, f"{name}_echo", {"text": "here"})) == "here"
