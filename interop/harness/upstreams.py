"""The servers behind the gateway."""

from harness.paths import INTEROP, NODE, program, reference_server
from harness.process import Process

# Generation of the SDK -> the newest revision that its server speaks.
OVER_HTTP = {"py1": "2025-11-25", "py2": "2026-07-28", "ts1": "2025-11-25", "ts2": "2026-07-28", "sse": "2025-11-25"}
# Started by the gateway itself.
OVER_STDIO = {"ts1_pipe": "ts1", "ts2_pipe": "ts2"}


def start_http(name: str) -> Process:
    return Process([*program("servers", name), "--port", "0", "--name", name], r"is ready on (http://\S+)")


def start_fixture(era: str, *more: str) -> Process:
    command = [str(NODE), str(INTEROP / "fixture" / "server.mjs"), "--port", "0", "--era", era, *more]
    return Process(command, r"is ready on (http://\S+)")


def url_of(process: Process) -> str:
    return process.found.group(1)


def stdio_command(name: str) -> list[str]:
    return [*program("servers", OVER_STDIO[name]), "--stdio", "--name", name]


def http_entry(name: str, url: str) -> dict:
    return {"transport": "sse" if name == "sse" else "streamable-http", "url": url}


def stdio_entry(name: str) -> dict:
    return {"transport": "stdio", "command": stdio_command(name)}


def reference_entries(folder) -> dict:
    """The reference servers of the registry; stdio only, since the first of them would listen on every address."""
    return {
        "everything": {"transport": "stdio", "command": [str(NODE), str(reference_server("everything")), "stdio"]},
        "filesystem": {"transport": "stdio", "command": [str(NODE), str(reference_server("filesystem")), str(folder)]},
        "memory": {
            "transport": "stdio",
            "command": [str(NODE), str(reference_server("memory"))],
            "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        },
    }
