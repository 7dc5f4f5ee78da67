"""Tollgate, started with a config of the test's own."""

import json
import os
import random
import socket
import urllib.request
from contextlib import suppress
from pathlib import Path

import yaml

from harness import rpc
from harness.paths import tollgate
from harness.process import Process, wait_for


def write_config(folder: Path, config: dict, name: str = "tollgate.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump({"data": str(folder / "data"), **config}, sort_keys=False))
    return path


def free_port() -> int:
    """For who needs one again and again: below those that outgoing connections get, and not one of another worker's."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    for _ in range(100):
        port = 20_000 + worker * 1000 + random.randrange(1000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def clean_environment() -> dict[str, str]:
    """Ours without TOLLGATE_* and OTEL_*: the test's config is the only one. What pytest notes there comes and goes."""
    foreign = ("TOLLGATE_", "OTEL_", "PYTEST_")
    return {key: value for key in list(os.environ) if not key.startswith(foreign) and (value := os.environ.get(key)) is not None}


class Gateway:
    def __init__(self, folder: Path, config: dict, *flags: str, env: dict[str, str] | None = None):
        path = write_config(folder, config)
        self.data = folder / "data"
        # For commands to this gateway; they need its address besides.
        self.command = [tollgate(), "--config", str(path), "--data", str(self.data)]
        command = [*self.command, "serve", "--listen", "127.0.0.1:0", *flags]
        self.process = Process(
            command, r"tollgate is ready on (https?://[^\s\"]+)", limit_s=90, cwd=folder, env={**clean_environment(), **(env or {})}
        )
        self.url = self.process.found.group(1).rstrip("/")

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def admin_token(self) -> str:
        """Opens what operates the gateway."""
        return (self.data / "admin.token").read_text().strip()

    def tool_names(self) -> set[str]:
        return {tool["name"] for tool in rpc.result(self.mcp, "tools/list")["tools"]}

    def wait_for_tools(self, wanted: set[str], limit_s: float = 60) -> None:
        """Waits for upstreams that are still connecting. Those that never come fail their own tests, not this."""
        try:
            wait_for("tools", lambda: wanted <= self.tool_names(), limit_s)
        except AssertionError as error:
            print(f"not every upstream is there: {error}")

    def wait_for_server(self, name: str) -> None:
        """Where keys decide who sees its tools."""
        headers = {"Authorization": f"Bearer {self.admin_token()}"}

        def ready() -> bool:
            request = urllib.request.Request(f"{self.url}/api/servers/{name}", headers=headers)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["state"] == "ready"

        wait_for(f"the server {name}", ready, 90)

    def stop(self) -> None:
        self.process.stop()
