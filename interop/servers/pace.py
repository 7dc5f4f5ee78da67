"""Upstream on Python SDK 2.x whose tools are as fast, slow, fickle or broken as a file says at that moment.

The file (`--pace`) holds JSON, by tool: `{"look_up": {"ms": 20}}`, `{"ms": 20, "other_ms": 900, "every": 2}` (bimodal: every
second call takes the other time), `{"ms": 20, "step_ms": 5}` (drifting: each call takes longer), `{"fail": true}`,
`{"held": true}` (a look-up ends when the test writes the file `<key>.free` beside it).
Calls are counted in the same folder (`<tool>.calls`), and those that were cancelled (`<tool>.cancelled`), so that a
test can see what nobody told it.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import anyio
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

parser = argparse.ArgumentParser()
parser.add_argument("--pace", type=Path, required=True)
options = parser.parse_args()
mcp = MCPServer("pace", version="1.0.0", log_level="ERROR")
calls: Counter[str] = Counter()
cancelled: Counter[str] = Counter()

READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)


def count(counter: Counter[str], tool: str, what: str) -> None:
    counter[tool] += 1
    options.pace.with_name(f"{tool}.{what}").write_text(str(counter[tool]))


async def take_time(tool: str) -> None:
    count(calls, tool, "calls")
    pace = json.loads(options.pace.read_text()).get(tool, {})
    if pace.get("fail"):
        raise ValueError("it is broken")
    other = pace.get("every") and calls[tool] % pace["every"] == 0
    ms = pace["other_ms"] if other else pace.get("ms", 0) + pace.get("step_ms", 0) * calls[tool]
    try:
        await anyio.sleep(ms / 1000)
    except anyio.get_cancelled_exc_class():
        count(cancelled, tool, "cancelled")
        raise


@mcp.tool(description="Looks something up", annotations=READS, structured_output=False)
async def look_up(key: str, limit: int = 3) -> str:
    await take_time("look_up")
    held = json.loads(options.pace.read_text()).get("look_up", {}).get("held")
    while held and not options.pace.with_name(f"{key}.free").exists():
        await anyio.sleep(0.02)
    return f"{key}: nothing special, up to {limit}"


@mcp.tool(description="Reads the weather", annotations=READS, structured_output=False)
async def weather(city: str) -> str:
    await take_time("weather")
    return f"{city}: rain"


@mcp.tool(description="Writes something down", annotations=WRITES, structured_output=False)
async def write_down(text: str) -> str:
    await take_time("write_down")
    return "written"


mcp.run("stdio")
