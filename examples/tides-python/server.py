"""A tool server with the official SDK that says of its tools how long they take and whether an answer can be kept.
Walked through in `docs/writing-a-server.md`."""

import anyio
from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("tides", version="1.0.0", log_level="WARNING")
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True)


class Tide(BaseModel):
    harbour: str
    centimetres: int
    spoken: str


@server.tool(
    description="The water level of a harbour now",
    annotations=READS,
    meta={
        # What a client cannot know: how long the tool takes, and for how long its answer holds for anybody.
        "dev.tollgate/latency": {"estimatedDurationMs": 30, "maxDurationMs": 400},
        "dev.tollgate/cache": {"cacheableSeconds": 60, "scope": "public"},
    },
)
async def level(harbour: str) -> Tide:
    await anyio.sleep(0.02)
    centimetres = len(harbour) * 7 - 30
    spoken = f"The water at {harbour} is {centimetres} centimetres above the chart."
    return Tide(harbour=harbour, centimetres=centimetres, spoken=spoken)


@server.tool(
    description="Computes the tides of a harbour for a week",
    annotations=READS,
    structured_output=False,
    meta={"dev.tollgate/latency": {"estimatedDurationMs": 2500, "maxDurationMs": 4000}},
)
async def forecast(harbour: str) -> str:
    await anyio.sleep(2)
    if not harbour:
        raise ValueError("which harbour?")
    return f"{harbour}: high at six, all week."


if __name__ == "__main__":
    server.run()
