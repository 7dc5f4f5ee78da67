"""The command line of the MCP Inspector as a client of Tollgate, over HTTP and over stdio."""

import json
import subprocess

import pytest

from harness.gateway import clean_environment, write_config
from harness.paths import INSPECTOR, NODE, tollgate

ERAS = ["legacy", "modern"]


def inspect(home, target: list[str], era: str, *method: str) -> dict:
    command = [str(NODE), str(INSPECTOR), "--cli", *target, "--protocol-era", era, *method]
    # It keeps files in the home folder; those of the user are not its business here.
    env = {**clean_environment(), "HOME": str(home)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:] or done.stdout[-2000:]
    return json.loads(done.stdout)


def lists_and_calls(home, target: list[str], era: str) -> None:
    tools = inspect(home, target, era, "--method", "tools/list")["tools"]
    assert "ts2_add" in [tool["name"] for tool in tools]
    arguments = ["--tool-arg", "a=1", "--tool-arg", "b=2"]
    answer = inspect(home, target, era, "--method", "tools/call", "--tool-name", "ts2_add", *arguments)
    assert answer["structuredContent"] == {"sum": 3}


@pytest.mark.parametrize("era", ERAS)
def test_inspector_over_http(gateway, tmp_path, era):
    lists_and_calls(tmp_path, [gateway.mcp, "--transport", "http"], era)


@pytest.mark.parametrize("era", ERAS)
def test_inspector_over_stdio(http_servers, tmp_path, era):
    config = write_config(tmp_path, {"servers": {"ts2": http_servers["ts2"]}})
    # The Inspector has a --config of its own, so Tollgate's goes by the environment.
    lists_and_calls(tmp_path, ["-e", f"TOLLGATE_CONFIG={config}", tollgate(), "mcp"], era)
