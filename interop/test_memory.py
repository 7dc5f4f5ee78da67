"""`tollgate memory` and `/api/memory` against the binary, on SQLite and on PostgreSQL: the same story on both."""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from harness.gateway import Gateway, clean_environment
from harness.postgres import Postgres

TRANSCRIPT = """# Session 1 (2026-01-05)

Mira: The silver key is under the third step.
Tam: Aye, by the lighthouse.

The wind rises over the harbour.
"""
CAPTIONS = "WEBVTT\n\n00:01.000 --> 00:02.500\n<v Old Ben>Nobody rows to Gull Rock at night.\n"
AGENTS = {
    "sage": {"tools": ["search_facts", "search_sessions", "remember"], "memory": {"namespace": "coast"}},
    "spy": {"tools": ["search_sessions"], "memory": {"namespace": "elsewhere"}},
}


@pytest.fixture(scope="module")
def postgres():
    running = Postgres()
    yield running
    running.stop()


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request, tmp_path):
    database = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres").url
    running = Memory(tmp_path, database)
    yield running
    running.gateway.stop()


class Memory:
    """A gateway, asked by command and by HTTP."""

    def __init__(self, folder, database: str):
        self.folder = folder
        self.gateway = Gateway(folder, {"database": database, "agents": AGENTS})

    def run(self, *words: str) -> subprocess.CompletedProcess:
        listen = self.gateway.url.removeprefix("http://")
        command = [*self.gateway.command, "--listen", listen, "memory", *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, env=clean_environment(), cwd=self.folder
        )

    def cli(self, *words: str) -> str:
        run = self.run(*words)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def json(self, *words: str) -> dict:
        return json.loads(self.cli(*words, "--json"))

    def ask(self, method: str, path: str, body=None, key: str | None = "admin", headers=None):
        """The status, the body and the headers of an answer."""
        headers = {"content-type": "application/json", **(headers or {})}
        if key:
            headers["authorization"] = f"Bearer {self.gateway.admin_token() if key == 'admin' else key}"
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.gateway.url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    def call(self, agent: str, name: str, **arguments) -> dict:
        body = {"name": name, "arguments": arguments, "agent": agent}
        return json.loads(self.ask("POST", "/v1/tools/execute", body, key=None)[1])


def test_a_campaign_is_imported_asked_exported_and_forgotten(memory):
    coast = ("--namespace", "coast")
    (memory.folder / "harbour.txt").write_text(TRANSCRIPT)
    (memory.folder / "2026-01-12-rock.vtt").write_text(CAPTIONS)
    taken = memory.json("import", "harbour.txt", "2026-01-12-rock.vtt", *coast)
    assert [(file["session"], file["kept"]["entries"]) for file in taken["files"]] == [
        ("harbour", 3),
        ("2026-01-12-rock", 1),
    ]
    assert taken["files"][0]["began"] == "2026-01-05T00:00:00Z"
    again = memory.json("import", "harbour.txt", *coast)
    assert again["files"][0]["kept"]["entries"] == 0
    memory.cli("add-entity", "npc", "Mira Voss", "trade=smuggler", *coast)
    memory.cli("add-entity", "location", "Lighthouse", *coast)
    memory.cli("relate", "npc-mira-voss", "keeps", "location-lighthouse", *coast)
    memory.cli("add", "Mira Voss is afraid of herons", "--about", "npc-mira-voss", *coast)
    assert "Mira Voss keeps Lighthouse" in memory.cli("show", "npc-mira-voss", *coast)
    assert "Old Ben: Nobody rows" in memory.cli("show", "2026-01-12-rock", *coast)

    said = memory.call("sage", "search_sessions", query="silver key")
    assert said["data"]["results"][0]["speaker"] == "Mira"
    assert "herons" in json.dumps(memory.call("sage", "search_facts", query="afraid of herons"))
    assert "silver" not in json.dumps(memory.call("spy", "search_sessions", query="silver key")["data"])

    memory.cli("export", "-o", "all.jsonl", *coast)
    lines = (memory.folder / "all.jsonl").read_text()
    assert len(lines.splitlines()) == 4 + 1 + 2 + 1
    memory.cli("import", "all.jsonl", "--namespace", "copy")
    counts = {it.pop("namespace"): it for it in memory.json("namespaces")["namespaces"]}
    assert counts["copy"] == counts["coast"]
    memory.cli("forget", "--everything", "--namespace", "copy", "--yes")
    assert "2 sessions" not in memory.cli("forget", "--session", "harbour", *coast)
    assert not memory.call("sage", "search_sessions", query="silver key")["data"]["results"]
    memory.cli("import", "all.jsonl")
    assert memory.call("sage", "search_sessions", query="silver key")["data"]["results"]


def test_what_the_api_keeps_the_api_gives_back(memory):
    base, query = "/api/memory", "?namespace=api"
    entries = [{"speaker": "Mira", "text": f"line {n} 🐉 <b>&\u202e", "at": "2026-01-05T19:00:00.125Z"} for n in range(3)]
    status, _, _ = memory.ask("POST", f"{base}/sessions{query}", {"session": "s/1 ä", "entries": entries})
    assert status == 201
    status, body, _ = memory.ask("GET", f"{base}/sessions/s%2F1%20%C3%A4{query}&limit=2")
    page = json.loads(body)
    assert (status, [it["text"] for it in page["entries"]]) == (200, [it["text"] for it in entries[:2]])
    assert page["entries"][0]["at"] == "2026-01-05T19:00:00.125Z"
    _, body, _ = memory.ask("GET", f"{base}/sessions/s%2F1%20%C3%A4{query}&after={page['next']}")
    assert [it["text"] for it in json.loads(body)["entries"]] == [entries[2]["text"]]
    status, body, headers = memory.ask("POST", f"{base}/entities{query}", {"type": "npc", "name": "Mira"})
    assert status == 201
    changed = {"type": "npc", "name": "Mira", "attributes": {"deep": {"er": [1, None, "\u0001"]}}}
    tag = {"if-match": headers["etag"]}
    assert memory.ask("PUT", f"{base}/entities/npc-mira{query}", changed, headers=tag)[0] == 200
    assert memory.ask("PUT", f"{base}/entities/npc-mira{query}", changed, headers=tag)[0] == 412
    _, body, _ = memory.ask("GET", f"{base}/entities/npc-mira{query}")
    assert json.loads(body)["entity"]["attributes"] == changed["attributes"]
    for key, expected in [(None, 401), ("wrong", 401)]:
        assert memory.ask("GET", f"{base}{query}", key=key)[0] == expected


def test_b_me_1_to_4_bad_input_is_refused_and_nothing_breaks(memory):
    for query in ['"', "*", "NEAR(", "a OR", "%", "_", "'; DROP TABLE x;--", "🐉", "\\", "\u0000x"]:
        escaped = urllib.parse.quote(query)
        for path in ("sessions", "facts"):
            status, body, _ = memory.ask("GET", f"/api/memory/{path}?q={escaped}")
            assert status in (200, 400), (query, body)
    for body in ["", "[]", "{", '{"text": "\\ud800"}', '{"text": 7}', '{"text": "x", "more": 1}']:
        assert memory.ask("POST", "/api/memory/facts", body)[0] == 400, body
    lines = '{"kind":"fact","text":"one"}\n{"kind":"fact"}\n'
    ndjson = {"content-type": "application/x-ndjson"}
    status, body, _ = memory.ask("POST", "/api/memory/import?namespace=bad", lines, headers=ndjson)
    problem = json.loads(body)
    assert (status, problem["line"], problem["kept"]["facts"]) == (400, 2, 1)
    (memory.folder / "bad.jsonl").write_text(lines)
    run = memory.run("import", "bad.jsonl", "--namespace", "bad")
    assert run.returncode == 1 and "bad.jsonl:2: `text` is missing" in run.stderr
    assert "nothing found" in memory.run("search", "nowhere", "--namespace", "none").stderr


def test_a_backup_is_taken_while_it_runs(memory):
    memory.cli("add", "A fact to be kept")
    run = memory.run("backup", "copy.db")
    if "postgres" in (memory.folder / "tollgate.yaml").read_text():
        assert run.returncode == 1 and "pg_dump" in run.stderr
        return
    assert run.returncode == 0, run.stderr
    assert (memory.folder / "copy.db").stat().st_size > 0
