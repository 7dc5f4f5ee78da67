"""Runs the official conformance suite and says in few lines what failed."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import yaml

from harness.gateway import clean_environment
from harness.paths import CONFORMANCE, INTEROP, NODE

# The suite names a folder of results after the scenario and the time.
SCENARIO = re.compile(r"(server-)?(?P<name>.+)-\d{4}-\d\d-\d\dT[\d-]+Z$")


def run_server(url: str, revision: str, baseline: str) -> None:
    _run("server", ["--url", url], revision, baseline)


def run_client(command: str, revision: str, baseline: str) -> None:
    _run("client", ["--command", command], revision, baseline)


def _run(role: str, arguments: list[str], revision: str, baseline: str) -> None:
    """With a baseline the suite counts warnings as well, and a listed failure that passes fails the run."""
    with tempfile.TemporaryDirectory() as results:
        command = [str(NODE), str(CONFORMANCE), role, *arguments, "--requirements", revision, "-o", results]
        command += ["--expected-failures", str(INTEROP / "conformance" / baseline)]
        done = subprocess.run(
            command, cwd=results, env=clean_environment(), capture_output=True, text=True, timeout=150, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"{_failures(Path(results), role, revision)}\n\n{_verdict(done)}")


def _verdict(done: subprocess.CompletedProcess[str]) -> str:
    """The end of the output, where the suite compares with the baseline."""
    return "\n".join((done.stdout.rstrip() or done.stderr.rstrip()).splitlines()[-12:])


def _failures(results: Path, role: str, revision: str) -> str:
    """One line per failed check; scenarios that are not scored are only counted."""
    requirements = CONFORMANCE.parent.parent / "requirements" / f"{revision}.yaml"
    required = set(yaml.safe_load(requirements.read_text())[role])
    lines, unscored = [], 0
    for file in sorted(results.glob("**/checks.json")):
        scenario = SCENARIO.match(file.parent.relative_to(results).as_posix())["name"]
        for check in json.loads(file.read_text()):
            if check["status"] not in ("FAILURE", "WARNING"):
                continue
            if scenario not in required:
                unscored += 1
                continue
            message = (check.get("errorMessage") or check["description"]).replace("\n", " ")
            lines.append(f"{check['status']} {scenario}:{check['id']}: {message[:400]}")
    return "\n".join([*lines, f"({unscored} failed checks in scenarios that are not scored)"])
