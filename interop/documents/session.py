"""Where one document is run: a folder of its own, a gateway that starts when it is needed, and programs that stand in for
those that would fetch something. Addresses of the usual port are those of this gateway."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import yaml

from documents import python
from documents.blocks import ROOT
from harness.feed import Feed
from harness.gateway import clean_environment, free_port
from harness.paths import INTEROP, NODE, PYTHON_V2, NotBuilt, program_built, tollgate
from harness.process import Process, wait_for
from provider.live_openai import OpenAiLive
from provider.server import Provider

READY = r"tollgate is ready on (https?://\S+)"
LIMIT_S = 30
# They need no gateway.
ALONE = re.compile(r"^(tollgate (check|completions|convert|man|serve)\b|make |cargo |cat |cd )")
# They never end by themselves.
ENDLESS = re.compile(r"^tollgate (approvals watch|audit .*(-f|--follow)|servers logs .*-f|mcp)\b")
# Programs that are not here and cannot be; their commands are only read by a shell.
ABSENT = {
    "docker": "needs its daemon",
    "helm": "needs a cluster; the chart itself is rendered by test_packaging.py",
    "kubectl": "needs a cluster",
    "systemctl": "needs systemd as the first process; the unit is read by test_packaging.py",
    "sudo": "changes the machine",
    "claude": "Claude Code, asks for an account",
    "codex": "asks for an account",
}
SECRETS = [
    "ANTHROPIC_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_SECRET",
    "AZURE_OPENAI_API_KEY", "BRAVE_KEY", "DEEPGRAM_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "OPS_KEY", "PHONE_KEY",
    "RETELL_API_KEY",
    "SECRET", "TOLLGATE_ADMIN_KEY", "TWILIO_AUTH_TOKEN", "VAPI_SECRET", "WORLD_SEARCH_TOKEN",
]  # fmt: skip
SERVICE_ACCOUNT = {
    "type": "service_account",
    "project_id": "acme-1",
    "private_key_id": "1",
    "private_key": "-----BEGIN {0}-----\nMII\n-----END {0}-----\n".format("PRIVATE KEY"),
    "client_email": "gateway@acme-1.iam.gserviceaccount.com",
}


class Session:
    def __init__(self, folder: Path):
        self.folder = folder
        self.port = free_port()
        self.gateway: Process | None = None
        self.stand_ins: list = []
        self.bin = folder / ".bin"
        self.bin.mkdir()
        (self.bin / "tollgate").symlink_to(tollgate())
        for name in ("npx", "uvx", "cargo"):
            (self.bin / name).symlink_to(INTEROP / "documents" / "stand_in.py")
        # The program of an example, as if it were installed. Who needs it says what is missing.
        with suppress(NotBuilt):
            (self.bin / "tides").symlink_to(program_built("tides", "make examples"))
        (folder / "node_modules").symlink_to(INTEROP / "node_modules")
        self.environment = {
            **clean_environment(),
            **{name: f"a-secret-for-{name.lower()}" for name in SECRETS},
            "GOOGLE_SERVICE_ACCOUNT": json.dumps(SERVICE_ACCOUNT),
            "OPENAI_WEBHOOK_SECRET": "whsec_" + "c2VjcmV0" * 4,
            "HOME": str(folder),
            "PATH": os.pathsep.join([str(self.bin), str(NODE.parent), str(PYTHON_V2.parent), os.environ["PATH"]]),
            "TOLLGATE_LISTEN": f"127.0.0.1:{self.port}",
            "TOLLGATE_KEY": "none",
            "NO_COLOR": "1",
            "SHELL": "/bin/bash",
        }

    def here(self, text: str) -> str:
        return re.sub(r"(127\.0\.0\.1|localhost):8655", f"127.0.0.1:{self.port}", text)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "tollgate.yaml":
            self.stop_gateway()
            text = self.at_home(text)
        path.write_text(self.here(text))
        return path

    def at_home(self, text: str) -> str:
        """A config whose providers are ours, as far as it names no other place."""
        config = yaml.safe_load(text)
        providers = [p for p in (config.get("providers") or {}).values() if p.get("kind") != "offline"]
        if not any("base_url" not in provider for provider in providers):
            return text
        fake, live = self.stand_in(Provider()), self.stand_in(OpenAiLive())
        realtime = {m["provider"] for m in (config.get("models") or {}).values() if m.get("api") == "realtime"}
        for name, provider in config["providers"].items():
            if name in realtime:
                provider.setdefault("base_url", live.url)
            elif provider["kind"] != "offline":
                provider.setdefault("base_url", fake.url + ("/v1" if provider["kind"] == "openai" else ""))
        return yaml.safe_dump(config, sort_keys=False)

    def stand_in(self, one):
        self.stand_ins.append(one)
        return one

    def example(self, name: str) -> None:
        """A copy of an example, whose weather comes from us."""
        shutil.copytree(ROOT / "examples" / name, self.folder / "examples" / name)
        if name == "atis":
            file = self.folder / "examples" / name / "aerodromes.ini"
            feed = self.stand_in(Feed())
            file.write_text(re.sub(r"(?m)^url = .*$", f"url = {feed.url}", file.read_text()))

    def start_gateway(self, *flags: str) -> Process:
        self.stop_gateway()
        command = [str(self.bin / "tollgate"), "serve", *flags]
        self.gateway = Process(command, READY, LIMIT_S, cwd=self.folder, env=self.environment)
        return self.gateway

    def stop_gateway(self) -> None:
        if self.gateway is not None:
            self.gateway.stop()
            self.gateway = None

    def served(self, command: str, lines: int) -> str:
        """`tollgate serve`, until it has said as much as the document says that it does."""
        process = self.start_gateway(*command.removesuffix("&").split()[2:])
        wait_for("the gateway's lines", lambda: len(process.lines) >= lines, 30, 0.02)
        return "\n".join(process.lines)

    def run(self, command: str, typed: list[str], lines: int = 0) -> tuple[int, str]:
        """The exit code, and what was printed on either output."""
        command = self.here(command)
        if re.match(r"(tollgate serve|make run)\b", command):
            return 0, self.served(command, lines)
        if command.split()[0] in ABSENT:
            return self.shell(f"bash -n <<'READ'\n{command}\nREAD")
        if "--config" in command:
            self.stop_gateway()
        elif self.gateway is None and not ALONE.match(command):
            self.start_gateway()
        if move := re.match(r"cd (\S+)$", command):
            return self.moved(move[1])
        if ENDLESS.match(command):
            return self.stay(command)
        return self.talk(command, typed) if typed else self.shell(command)

    def moved(self, folder: str) -> tuple[int, str]:
        """From here on everything happens there."""
        self.stop_gateway()
        self.folder = self.folder / folder
        return (0, "") if self.folder.is_dir() else (1, f"there is no {folder}")

    def shell(self, command: str) -> tuple[int, str]:
        done = subprocess.Popen(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            came, _ = done.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)
            return 1, f"did not end within {LIMIT_S} s"
        return done.returncode, came

    def stay(self, command: str) -> tuple[int, str]:
        """Something that goes on until it is told to end."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            command.split("#")[0].split(), cwd=self.folder, env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        try:
            return child.wait(1), os.read(ours, 65536).decode(errors="replace")
        except subprocess.TimeoutExpired:
            child.terminate()
            child.wait()
            return 0, ""
        finally:
            os.close(ours)

    def talk(self, command: str, typed: list[str]) -> tuple[int, str]:
        """On a terminal: a line is typed whenever `> ` asks for one, and in the end there is no more."""
        ours, theirs = pty.openpty()
        done = subprocess.Popen(
            ["bash", "-c", command], cwd=self.folder, env={**self.environment, "TERM": "dumb"},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        came, waiting, end = b"", [*(f"{line}\n" for line in typed), "\x04"], time.monotonic() + LIMIT_S
        while time.monotonic() < end and select.select([ours], [], [], LIMIT_S)[0]:
            try:
                came += os.read(ours, 65536)
            except OSError:
                break
            if waiting and came.endswith(b"> "):
                os.write(ours, waiting.pop(0).encode())
        os.close(ours)
        if done.poll() is None and time.monotonic() >= end:
            os.killpg(done.pid, signal.SIGKILL)
        return done.wait(), came.decode(errors="replace").rstrip().removesuffix(">")

    def program(self, language: str, text: str) -> tuple[int, str]:
        endings = {"python": "py", "js": "mjs", "ts": "mts", "starlark": "star", "sh": "sh"}
        runners = {"js": str(NODE), "ts": str(NODE), "starlark": "tollgate code", "sh": "bash -eu"}
        path = self.write(f".block.{endings[language]}", text)
        if language == "python":
            if self.gateway is None:
                self.start_gateway()
            return python.run(path, self.folder, self.environment)
        return self.run(f"{runners[language]} {path.name}", [])

    def close(self) -> None:
        self.stop_gateway()
        for one in self.stand_ins:
            one.stop()
