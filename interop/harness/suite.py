"""Runs the official conformance suite and says in few lines what failed."""

import json
import subprocess
import tempfile
from pathlib import Path

from harness.gateway import clean_environment
from harness.paths import CONFORMANCE, INTEROP, NODE

LEGACY = "2025-11-25"
MODERN = "2026-07-28"


def run_server(url: str, revision: str, baseline: str) -> None:
    _run(["server", "--url", url, "--requirements", revision], baseline)


def run_client(command: str, revision: str, baseline: str) -> None:
    _run(["client", "--command", command, "--requirements", revision], baseline)


def _run(arguments: list[str], baseline: str) -> None:
    """With a baseline the suite counts warnings as well, and a listed failure that passes fails the run."""
    with tempfile.TemporaryDirectory() as results:
        command = [str(NODE), str(CONFORMANCE), *arguments, "-o", results]
        command += ["--expected-failures", str(INTEROP / "conformance" / baseline)]
        done = subprocess.run(
            command, cwd=results, env=clean_environment(), capture_output=True, text=True, timeout=150, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"{_verdict(done.stdout)}\n\n{_failures(Path(results))}\n\n{done.stderr[-1500:]}")


def _verdict(output: str) -> str:
    """The end of the output, where the suite compares with the baseline."""
    return "\n".join(output.rstrip().splitlines()[-25:])


def _failures(results: Path) -> str:
    lines = []
    for file in sorted(results.glob("**/checks.json")):
        # The folder is named server-SCENARIO-TIME or SCENARIO-TIME.
        scenario = file.parent.relative_to(results).as_posix()
        for check in json.loads(file.read_text()):
            if check["status"] in ("FAILURE", "WARNING"):
                message = (check.get("errorMessage") or check["description"]).replace("\n", " ")
                lines.append(f"{check['status']} {scenario} {check['id']}: {message[:400]}")
    return "\n".join(lines)
