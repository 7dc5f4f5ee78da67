"""Upstream on Python SDK 1.x whose one tool tells what `_meta` it was called with, and by which `traceparent` header."""

import json

from mcp.server.fastmcp import Context, FastMCP

from shared import parse_options, serve_http

options = parse_options("witness1")
mcp = FastMCP(options.name, log_level="WARNING")


@mcp.tool(description="Tells the trace context of this call", structured_output=False)
def witness(ctx: Context, fail: bool = False) -> str:
    if fail:
        raise ValueError("as you wish")
    request = ctx.request_context
    meta = request.meta.model_dump(mode="json", exclude_none=True) if request.meta else {}
    headers = request.request.headers if request.request else {}
    return json.dumps({"meta": meta, "traceparent": headers.get("traceparent")})


if options.stdio:
    mcp.run()
else:
    serve_http(mcp.streamable_http_app(), options)
