"""An MCP server on a pipe with one tool that takes its time: `search_archives(about)`. No dependencies.

    archives.py SECONDS "WHAT IT FINDS"
"""

import json
import sys
import threading
import time

TOOL = {
    "name": "search_archives",
    "description": "Searches the old archives of the town",
    "inputSchema": {"type": "object", "properties": {"about": {"type": "string"}}, "required": ["about"]},
    "annotations": {"readOnlyHint": True},
}
TAKES_S, FOUND = float(sys.argv[1]), sys.argv[2]
writing = threading.Lock()


def reply(id, result: dict) -> None:
    with writing:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)


def search(id) -> None:
    time.sleep(TAKES_S)
    reply(id, {"content": [{"type": "text", "text": FOUND}]})


def unknown(id) -> None:
    with writing:
        error = {"code": -32601, "message": "method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            version = message["params"]["protocolVersion"]
            about = {"name": "archives", "version": "1.0.0"}
            reply(message["id"], {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
        case "tools/list":
            reply(message["id"], {"tools": [TOOL]})
        case "tools/call":
            threading.Thread(target=search, args=(message["id"],), daemon=True).start()
        case "ping":
            reply(message["id"], {})
        case _ if "id" in message:
            unknown(message["id"])
