"""A child process that says when it is ready, and is gone when the test is."""

import re
import subprocess
import threading
import time
from collections import deque
from pathlib import Path


class Process:
    """Starts a program and waits for a line that matches `ready`; `found` is that match."""

    def __init__(self, command: list[str], ready: str, limit_s: float = 90, cwd: Path | None = None, env=None):
        self.command = command
        self.lines: deque[str] = deque(maxlen=200)
        self.found: re.Match[str] | None = None
        self._ready = threading.Event()
        self._child = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        threading.Thread(target=self._read, args=(re.compile(ready),), daemon=True).start()
        if not self._ready.wait(limit_s) or self.found is None:
            self.stop()
            raise AssertionError(f"{command[0]} did not get ready:\n{self.tail()}")

    def _read(self, ready: re.Pattern[str]) -> None:
        for line in self._child.stdout:
            self.lines.append(line.rstrip("\n"))
            if self.found is None and (match := ready.search(line)):
                self.found = match
                self._ready.set()
        self._ready.set()  # It has ended: nothing more to wait for.

    @property
    def pid(self) -> int:
        return self._child.pid

    def alive(self) -> bool:
        return self._child.poll() is None

    def tail(self, count: int = 40) -> str:
        return "\n".join(list(self.lines)[-count:])

    def stop(self) -> None:
        if self.alive():
            self._child.terminate()
            try:
                self._child.wait(30)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._child.wait()


def wait_for(what: str, test, limit_s: float, every_s: float = 0.1):
    """Asks again and again until the answer is not None, False or an empty list; errors count as no answer."""
    end = time.monotonic() + limit_s
    last: object = None
    while time.monotonic() < end:
        try:
            last = test()
            if last is not None and last is not False and last != []:
                return last
        except (OSError, AssertionError, KeyError, ValueError) as error:
            last = error
        time.sleep(every_s)
    raise AssertionError(f"{what}: not within {limit_s} s; last seen: {last!r}")
