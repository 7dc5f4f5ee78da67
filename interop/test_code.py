"""Code mode, by real clients: what they are shown, programs that they write, and programs by hand."""

import json
import re
import subprocess

import openai
import pytest

from harness.clients import CLIENTS, run_client
from harness.gateway import Gateway, clean_environment
from harness.process import wait_for
from test_inspector import ERAS, inspect

MEANS = {"listToolFiles", "readToolFile", "getToolDocs", "executeToolCode", "searchTools"}

# Adds what the server added, and never shows what came between.
SUMS = """
parts = parallel([(py2.add, {"a": n, "b": n}) for n in range(5)])
print("summed", len(parts))
result = int(sum([part["sum"] for part in parts]))
"""


@pytest.fixture(scope="module")
def coded(http_servers, tmp_path_factory):
    """`py2` and `ts2` are called in code, the dice as ever; `plain` has no code mode at all."""
    folder = tmp_path_factory.mktemp("coded")
    servers = {name: {**http_servers[name], "code_mode": True} for name in ("py2", "ts2")}
    # What others wrote is run for a model only if it is named: a pattern does not do.
    run = ["roll", "py2_add", "py2_slow", "ts2_echo"]
    agents = {
        "coder": {"tools": ["*"], "auto_execute": run, "models": ["offline"]},
        "all": {"tools": ["roll*"], "auto_execute": run, "models": ["offline"], "code_mode": True},
    }
    started = Gateway(folder, {"servers": servers, "agents": agents, "code": {"spare_workers": 1}})
    try:
        started.wait_for_tools(MEANS)
        yield started
    finally:
        started.stop()


def text_of(result: dict) -> str:
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_lists_the_means_and_runs_a_program(coded, tmp_path, era):
    def asked(*method: str) -> dict:
        return inspect(tmp_path, [coded.mcp, "--transport", "http"], era, *method)

    def called(tool: str, **arguments: str) -> dict:
        typed = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
        return asked("--method", "tools/call", "--tool-name", tool, *typed)

    names = {tool["name"] for tool in asked("--method", "tools/list")["tools"]}
    assert names >= MEANS | {"roll"}
    assert not any(name.startswith(("py2_", "ts2_")) for name in names)
    assert "py2.add" in text_of(called("searchTools", query="add two numbers"))
    assert "def add(" in text_of(called("readToolFile", fileName="servers/py2.pyi"))
    done = called("executeToolCode", code=SUMS)
    assert not done.get("isError")
    assert text_of(done) == "summed 5\nresult = 20"


@pytest.mark.parametrize("client", CLIENTS)
def test_every_sdk_writes_programs(coded, client):
    def call(name: str, **arguments) -> dict:
        return {"do": "call", "name": name, "arguments": arguments}

    steps = [
        {"do": "list_tools"},
        call("listToolFiles"),
        call("getToolDocs", server="ts2", tool="echo"),
        call("executeToolCode", code=SUMS),
        call("executeToolCode", code='result = ts2.ecko(text="x")'),
        call("ts2_echo", text="x"),
    ]
    seen = run_client(client, steps, url=coded.mcp)["steps"]
    results = [step.get("result") or step for step in seen]
    assert "py2.pyi" in text_of(results[1])
    assert "text" in text_of(results[2])
    assert text_of(results[3]) == "summed 5\nresult = 20"
    assert results[4]["isError"]
    assert "line 1" in text_of(results[4]) and "echo" in text_of(results[4]), "the name that was meant"
    assert results[5]["isError"]
    assert "executeToolCode" in text_of(results[5]), "how it is called instead"


def script(*calls: tuple[str, dict]) -> str:
    """What the built-in model does: one call after the other."""
    return "\nthen\n".join(f"call {name} {json.dumps(arguments)}" for name, arguments in calls)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_model_in_a_chat_writes_a_program(coded, stream):
    client = openai.OpenAI(base_url=f"{coded.url}/v1", api_key="none", max_retries=0)
    said = script(("searchTools", {"query": "add numbers"}), ("executeToolCode", {"code": SUMS}))
    asked = {"model": "coder", "messages": [{"role": "user", "content": said}]}
    if stream:
        chunks = client.chat.completions.create(**asked, stream=True)
        answer = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    else:
        answer = client.chat.completions.create(**asked).choices[0].message.content
    assert "result = 20" in answer
    assert not re.search(r'"sum": ?\d', answer), "what came between stays in the program"


def test_an_agent_in_code_mode_is_offered_the_means_alone(coded):
    shown = subprocess.run(
        [*coded.command, "--listen", coded.url.removeprefix("http://"), "tools", "--agent", "all", "--json"],
        env=clean_environment(), capture_output=True, text=True, timeout=30, check=True,
    )
    assert {tool["name"] for tool in json.loads(shown.stdout)["tools"]} == MEANS
    client = openai.OpenAI(base_url=f"{coded.url}/v1", api_key="none", max_retries=0)
    code = 'result = dice.roll(expression="1d1+41")["total"]'
    said = script(("executeToolCode", {"code": code}))
    answer = client.chat.completions.create(model="all", messages=[{"role": "user", "content": said}])
    assert "42" in answer.choices[0].message.content


def by_hand(coded, *arguments: str, source: str | None = None) -> subprocess.CompletedProcess:
    command = [*coded.command, "--listen", coded.url.removeprefix("http://"), "code", *arguments]
    return subprocess.run(
        command, input=source, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False
    )


def test_programs_by_hand(coded, tmp_path):
    file = tmp_path / "sums.star"
    file.write_text(SUMS)
    done = by_hand(coded, str(file))
    assert (done.returncode, done.stdout) == (0, "summed 5\n20\n"), done.stderr
    whole = json.loads(by_hand(coded, "-", "--json", source=SUMS).stdout)
    assert (whole["status"], whole["result"], whole["calls"]) == ("ok", 20, 5)
    file.write_text("x = 1\ny = py2.add(a=1)\n")
    failed = by_hand(coded, str(file))
    assert failed.returncode == 1
    assert f"{file}:2:" in failed.stderr and "y = py2.add(a=1)" in failed.stderr
    assert by_hand(coded, str(tmp_path / "missing")).returncode == 2


def test_what_a_model_reads_can_be_read_by_hand(coded):
    assert "py2.pyi" in by_hand(coded, "--list").stdout
    assert "def add(" in by_hand(coded, "--read", "servers/py2.pyi").stdout
    assert "ts2.echo" in by_hand(coded, "--docs", "ts2.echo").stdout
    assert "add" in by_hand(coded, "--search", "sum", "of", "two", "numbers").stdout


def test_a_program_of_another_process_ends_with_it(coded, tmp_path):
    """Ctrl-C, as a terminal sends it."""
    file = tmp_path / "slow.star"
    file.write_text('print("begun")\npy2.slow(ms=60000)\n')
    command = [*coded.command, "--listen", coded.url.removeprefix("http://"), "code", str(file)]
    child = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(5)
    child.send_signal(2)
    assert child.wait(30) == 1
    assert b"stopped by a signal" in child.stderr.read()


def test_programs_leave_no_process_behind(coded):
    for _ in range(20):
        assert by_hand(coded, "-", source="result = 1").stdout == "1\n"

    def few() -> bool:
        listed = ["ps", "--ppid", str(coded.process.pid), "-o", "comm="]
        workers = subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()
        return sum(name.startswith("tollgate-worker") for name in workers) <= 2

    wait_for("the last of them to be gone", few, 20)
