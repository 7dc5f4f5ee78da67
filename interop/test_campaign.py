"""The campaign of `examples/campaign`, taken in by the command line and asked through an agent with the built-in model."""

import json
import subprocess
import time
import urllib.request

import pytest
import yaml

from harness.gateway import Gateway, clean_environment
from harness.paths import INTEROP
from harness.postgres import Postgres

CAMPAIGN = INTEROP.parent / "examples" / "campaign"
QUESTIONS = json.loads((CAMPAIGN / "questions.json").read_text())
# What is asked for stands among the first things said.
FIRST = 4


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def asked(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign")
    config = yaml.safe_load((CAMPAIGN / "tollgate.yaml").read_text())
    config.pop("listen")
    config.pop("data")
    # A debug build on a busy machine; how fast it is is measured elsewhere.
    config["budget"] = {"tiers": {"fast_ms": 10_000, "standard_ms": 15_000, "deep_ms": 20_000}}
    database = Postgres() if request.param == "postgres" else None
    if database:
        config["database"] = database.url
    started = Gateway(folder, config)
    try:
        take_in(started)
        yield started
    finally:
        started.stop()
        if database:
            database.stop()


def take_in(gateway: Gateway) -> None:
    files = [*sorted((CAMPAIGN / "sessions").glob("*.txt")), CAMPAIGN / "world.jsonl"]
    assert len(files) == 11
    listen = gateway.url.removeprefix("http://")
    command = [*gateway.command, "--listen", listen, "memory", "import", "--namespace", "saltmere", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), timeout=60)
    assert done.returncode == 0, done.stderr


def post(gateway: Gateway, path: str, body: dict, headers: dict[str, str]) -> dict:
    headers = {"content-type": "application/json", **headers}
    request = urllib.request.Request(gateway.url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


def answer(gateway: Gateway, text: str, conversation: str) -> dict:
    body = {"model": "chronicler", "messages": [{"role": "user", "content": text}]}
    headers = {"x-tollgate-conversation": conversation, "x-tollgate-var-caller_name": "Tiv"}
    return post(gateway, "/v1/chat/completions", body, headers)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["ask"])
def test_a_question_gets_the_right_facts(asked, question):
    told = answer(asked, question["ask"], "questions")
    assert told["tollgate"]["calls"], "the memory was asked"
    said = told["choices"][0]["message"]["content"]
    first = "\n".join(said.splitlines()[:FIRST])
    for expected in question["expect"]:
        assert expected in first, said


def test_what_was_asked_is_remembered_by_that_agent_alone(asked):
    answer(asked, "Who is Brannock?", "the-evening-after")

    def found(agent: str, tool: str, arguments: dict) -> str:
        body = {"name": tool, "arguments": arguments, "agent": agent}
        return json.dumps(post(asked, "/v1/tools/execute", body, {}))

    wanted = {"query": "Brannock", "session_id": "the-evening-after"}
    until = time.monotonic() + 10
    while "the-evening-after" not in found("chronicler", "search_sessions", wanted):
        assert time.monotonic() < until, "it was not kept"
        time.sleep(0.05)
    assert "the-evening-after" not in found("scribe", "search_facts", {"query": "who is Brannock?"})
