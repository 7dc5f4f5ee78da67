"""A gateway before fake providers of live sessions, with tools of a real MCP server whose pace is in the test's hands. And the
steps and checks that tests of such sessions share."""

import json
import os
import ssl
import urllib.request
from contextlib import contextmanager

from harness.gateway import Gateway
from harness.paths import program
from harness.process import wait_for


class LiveLine:
    key = "key-of-the-client-0123456789"
    ca = None

    def __init__(self, folder):
        self.folder = folder
        # A server may not write beside the config.
        self.pace = folder / "pace" / "pace.json"
        self.pace.parent.mkdir()
        self.set()

    def pace_server(self, **more) -> dict:
        """An entry of the config."""
        command = [*program("servers", "pace"), "--pace", str(self.pace)]
        return {"transport": "stdio", "command": command, "trusted": True, "calibrate": False, **more}

    def start(self, config: dict, tool: str, *flags: str) -> None:
        """Ready when it has this tool."""
        self.gateway = Gateway(self.folder, config, *flags)
        self.ca = self.gateway.data / "tls" / "ca.pem" if "--tls" in flags else None
        wait_for("tools", lambda: f'"{tool}"' in self.get("/v1/tools"), 90)

    def get(self, path: str, key: str | None = None) -> str:
        request = urllib.request.Request(f"{self.gateway.url}{path}", headers={"authorization": f"Bearer {key or self.key}"})
        with urllib.request.urlopen(request, timeout=10, context=self.trust()) as answer:
            return answer.read().decode()

    def trust(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.ca) if self.ca else None

    def set(self, **paces) -> None:
        beside = self.pace.with_suffix(".new")
        beside.write_text(json.dumps(paces))
        beside.rename(self.pace)

    def count(self, tool: str, what: str = "calls") -> int:
        file = self.pace.with_name(f"{tool}.{what}")
        return int(file.read_text()) if file.exists() else 0

    def stop(self) -> None:
        self.gateway.stop()


@contextmanager
def trusted(line: LiveLine):
    """Clients in Python and in Node trust its certificate; it is stopped in the end."""
    names = ("SSL_CERT_FILE", "TOLLGATE_TEST_CA")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, str(line.ca)))
    try:
        yield line
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value
        line.stop()


# Steps of a talk (harness/realtime.py).


def say(text: str, until: str) -> dict:
    return {"say": text, "until": until}


def speak(text: str, until: str) -> dict:
    return {"audio": text, "until": until}


def speak_aloud(text: str, until: str) -> dict:
    return {"sound": text, "until": until}


def wait(until: str) -> dict:
    return {"until": until}


def check_hidden(heard, *more: str) -> None:
    """Nothing of the gateway's is in what the client saw, nor what else is named; and nothing went wrong."""
    for ours in ("pace_", "tollgate", "You speak with", *more):
        assert ours not in heard.raw, heard.raw[max(0, heard.raw.index(ours) - 300) :][:600]
    assert heard.errors == []


def check_answered(session, *refused: str) -> None:
    """Every call that was ours has one answer, and the provider had nothing to complain of."""
    assert {len(answers) for answers in session.answers.values()} <= {1}, session.answers
    assert session.refused == list(refused)
