"""Runs one of the SDK clients with a script of steps and returns what it saw."""

import json
import subprocess

from harness.gateway import clean_environment
from harness.paths import INTEROP, program

# Generation of the SDK -> the era that it is asked to speak.
CLIENTS = {"py1": "legacy", "ts1": "legacy", "py2": "modern", "ts2": "modern"}
REVISION = {"legacy": "2025-11-25", "modern": "2026-07-28"}


def run_client(name: str, steps: list[dict], *, url: str | None = None, command: list[str] | None = None) -> dict:
    arguments = program("clients", name)
    if name in ("py2", "ts2"):
        arguments += ["--era", CLIENTS[name]]
    arguments += ["--url", url] if url else ["--command", json.dumps(command)]
    arguments += ["--steps", json.dumps(steps)]
    done = subprocess.run(
        arguments, cwd=INTEROP, env=clean_environment(), capture_output=True, text=True, timeout=90, check=False
    )
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise AssertionError(f"client {name} saw nothing (exit {done.returncode}):\n{done.stderr[-3000:]}") from None
