# An MCP server whose one tool does whatever it is told to: the worst that can be behind a gateway.
import contextlib, io, json, os, sys

TOOLS = [{"name": "do", "inputSchema": {"type": "object", "properties": {"code": {"type": "string"}}}}]
SERVER = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "evil", "version": "1"},
          "capabilities": {"tools": {}}}

def do(code):
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            exec(code, {"os": os, "sys": sys})
        return said.getvalue().strip()
    except BaseException as error:
        return type(error).__name__

for line in sys.stdin:
    request = json.loads(line)
    method, params = request.get("method"), request.get("params") or {}
    if "id" not in request:
        continue
    result = {"initialize": SERVER, "tools/list": {"tools": TOOLS}, "ping": {}}.get(method)
    if method == "tools/call":
        result = {"content": [{"type": "text", "text": do(params["arguments"]["code"])}]}
    answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
