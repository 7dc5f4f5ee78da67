"""Libraries of others, each a program of its own (`sdks/`), before models that judge like their vendors.

Each lists models if it can, runs its own tool streamed and not and keeps it in the history of a second turn, uses an
agent whose tools the gateway runs, has both kinds of tools in a turn, wants an answer in a form, and asks for a model
that does not exist.
"""

import json
import subprocess

import pytest

from harness import models
from harness.gateway import clean_environment
from harness.models import CLIENT_KEY
from harness.paths import INTEROP
from harness.sdks import SDKS, Sdk
from provider.strict_gemini import DUMMIES

VENDORS = {
    "chat": "gpt-5.5",
    "responses": "gpt-6.1-sol",
    "anthropic": "claude-opus-5-5",
    "gemini": "gemini-3.8-flash",
}
RAIN = "The tool said: It rains."
# On a machine that does much else.
PATIENCE_S = 600
# Reasoning that came back, as each API has it.
REPLAYED = {
    "chat": lambda body: [],
    "responses": lambda body: [item for item in body["input"] if item.get("type") == "reasoning"],
    "anthropic": lambda body: [
        block
        for message in body["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "thinking"
    ],
    "gemini": lambda body: [
        part
        for content in body["contents"]
        for part in content["parts"]
        if "functionCall" in part and part.get("thoughtSignature") not in (None, *DUMMIES)
    ],
}


def config() -> dict:
    """For each kind of provider: a model that calls the client's tool (passed through where both speak alike), and agents."""
    found, agents = {"small": {"provider": "demo"}}, {}
    dice = {"tools": ["roll"], "auto_execute": ["roll"], "max_depth": 4}
    for kind, name in VENDORS.items():
        found[f"weather-{kind}"] = models.model(kind, f"{name}+weather")
        agents[f"fitted-weather-{kind}"] = {"tools": [], "models": [f"weather-{kind}"]}
        for script, tools in {"counts": {"tools": []}, "rolls": dice, "both": dice}.items():
            found[f"model-{script}-{kind}"] = models.model(kind, f"{name}+{script}")
            agents[f"{script}-{kind}"] = {**tools, "models": [f"model-{script}-{kind}"]}
    return {"models": found, "default_agent": "rolls-chat", "agents": agents}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with models.started(tmp_path_factory.mktemp("sdks"), **config()) as running:
        yield running


def expected(sdk: Sdk) -> dict[str, dict]:
    """What came of each step, and what the client's own tool was asked."""
    # Whoever writes results as text of the user finds them there in the second turn.
    asked = ["Paris"] if sdk.history_is_text else ["Paris", "Paris"]
    tools = {
        "own tool, whole": {"came": [RAIN, RAIN], "asked": asked},
        "own tool, stream": {"came": [RAIN, RAIN], "asked": asked},
        "agent, stream": {"came": ["The tool said: makes 42"], "asked": []},
        "both, stream": {"came": [RAIN], "asked": ["Paris"]},
    }
    tools = tools if sdk.tools else dict.fromkeys(tools, {"missing": True})
    steps = {**tools, "structured": {"came": {"total": 42}, "asked": []}}
    return {f"{name} {kind}": step for kind in VENDORS for name, step in steps.items()}


def wrong_with(sdk: Sdk, api: str, came: dict[str, dict]) -> list[str]:
    wanted = expected(sdk)
    wrong = [f"{api}, {name}: {came.get(name)}" for name, one in wanted.items() if came.get(name) != one]
    unknown = came["unknown model"]
    if sdk.errors[api] not in unknown.get("error", []):
        wrong.append(f"{api}, unknown model: {unknown}")
    listed = came["models"].get("came", [])
    if sdk.lists and api == "chat" and not {"weather-chat", "rolls-gemini"} <= set(listed):
        wrong.append(f"{api}, models: {came['models']}")
    return wrong


@pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name.replace(" ", "-"))
def test_a_library_of_others_does_all_that_it_can(gateway, sdk):
    gateway.provider.forget()
    asked = json.dumps({"url": gateway.url, "key": CLIENT_KEY, "kinds": list(VENDORS)})
    done = subprocess.run(
        [*sdk.command, asked], cwd=INTEROP, env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert set(found) == set(sdk.apis)
    wrong = [fault for api, came in found.items() for fault in wrong_with(sdk, api, came)]
    refused = [f"{seen.path}: {json.dumps(seen.body)[:2000]}" for seen in gateway.seen if seen.status != 200]
    assert not wrong and not refused, "\n".join([*wrong, "refused by the provider:", *refused])
    # Rounds of an agent have reasoning of the gateway's own.
    theirs = [seen for seen in gateway.seen if "weather" in seen.path + seen.body.get("model", "")]
    kept = {seen.dialect for seen in theirs if REPLAYED[seen.dialect](seen.body)}
    assert kept == ({"responses", "anthropic", "gemini"} if sdk.keeps_reasoning else set())
