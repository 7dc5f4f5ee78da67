"""Voice frameworks pointed at the gateway: the realtime services of LiveKit's agents and of Pipecat, without a media server.
Their own tools are theirs, the gateway's are answered without their knowing."""

import json
import os
import subprocess

import pytest

from harness.paths import INTEROP
from test_realtime_gemini import KEY
from test_realtime_gemini import Line as Gemini
from test_realtime_openai import Line as OpenAi

PYTHON = INTEROP / ".venv-frameworks" / "bin" / "python"
LOOKED_UP = "moon: nothing special"
SWITCHED = "they are on"


@pytest.fixture(scope="module", params=["openai", "google"])
def line(request, tmp_path_factory):
    started = {"openai": OpenAi, "google": Gemini}[request.param](tmp_path_factory.mktemp(request.param))
    started.service = request.param
    yield started
    started.stop()


@pytest.fixture(params=["livekit", "pipecat"])
def talk(line, request):
    """One turn of the framework with a model that plays something."""

    def turn(play: str) -> dict:
        model = play if line.service == "openai" else f"2.5-{play}"
        name = f"{request.param}-{line.service}"
        command = [PYTHON, INTEROP / "clients" / "frameworks.py", name, line.gateway.url, KEY, model]
        trusted = {"SSL_CERT_FILE": str(line.folder / "data" / "tls" / "ca.pem")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **trusted})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return turn


def test_a_framework_speaks_what_our_tool_said_and_sees_no_call(talk):
    seen = talk("tool")
    assert LOOKED_UP in seen["words"][-1]
    assert seen["calls"] == [] and seen["errors"] == []


def test_a_framework_runs_its_own_tool_beside_ours(talk):
    seen = talk("mixed")
    assert LOOKED_UP in seen["words"][-1] and SWITCHED in seen["words"][-1]
    assert seen["calls"] == ["lights"] and seen["errors"] == []
