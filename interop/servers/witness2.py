"""Upstream on Python SDK 2.x whose one tool tells what `_meta` it was called with, and by which `traceparent` header."""

import json

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from shared import parse_options, serve_http

options = parse_options("witness2")
mcp = MCPServer(options.name, version="1.0.0", log_level="WARNING")


@mcp.tool(description="Tells the trace context of this call", structured_output=False)
def witness(ctx: Context, fail: bool = False) -> str:
    if fail:
        raise ValueError("as you wish")
    meta = {key: value for key, value in (ctx.request_context.meta or {}).items() if isinstance(value, str)}
    return json.dumps({"meta": meta, "traceparent": (ctx.headers or {}).get("traceparent")})


if options.stdio:
    mcp.run()
else:
    serve_http(mcp.streamable_http_app(), options)
