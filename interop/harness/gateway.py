"""Tollgate, started with a config of the test's own."""

import os
import socket
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
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def clean_environment() -> dict[str, str]:
    """Ours without TOLLGATE_* and OTEL_*: the test's config is the only one."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("TOLLGATE_", "OTEL_"))}


class Gateway:
    def __init__(self, folder: Path, config: dict, *flags: str, env: dict[str, str] | None = None):
        path = write_config(folder, config)
        self.data = folder / "data"
        # For commands to this gateway; they need its address besides.
        self.command = [tollgate(), "--config", str(path), "--data", str(self.data)]
        command = [*self.command, "serve", "--listen", f"127.0.0.1:{free_port()}", *flags]
        self.process = Process(
            command, r"tollgate is ready on (https?://\S+)", limit_s=30, cwd=folder, env={**clean_environment(), **(env or {})}
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

    def wait_for_tools(self, wanted: set[str], limit_s: float = 15) -> None:
        """Waits for upstreams that are still connecting. Those that never come fail their own tests, not this."""
        try:
            wait_for("tools", lambda: wanted <= self.tool_names(), limit_s)
        except AssertionError as error:
            print(f"not every upstream is there: {error}")

    def stop(self) -> None:
        self.process.stop()
