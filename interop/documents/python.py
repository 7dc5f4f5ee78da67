"""Python blocks, each in a process of its own that has the large libraries loaded already: they take seconds to load."""

import multiprocessing
import os
import runpy
import traceback
from pathlib import Path

LIMIT_S = 30
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["agents.mcp", "anthropic", "google.genai", "mcp", "openai", "requests"])


def run(program: Path, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The exit code, and what was printed."""
    printed = folder / ".printed"
    child = _context.Process(target=_become, args=(program, folder, environment, printed))
    child.start()
    child.join(LIMIT_S)
    if child.is_alive():
        child.kill()
        return 1, f"did not end within {LIMIT_S} s"
    return child.exitcode, printed.read_text(errors="replace")


def _become(program: Path, folder: Path, environment: dict[str, str], printed: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    file = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    try:
        runpy.run_path(str(program), run_name="__main__")
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
