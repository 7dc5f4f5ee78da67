"""A stdio server with a tool that answers with the picture of `fronts/picture.py`, and one with a long text."""

import json
import runpy
import sys
from pathlib import Path

# By its file: the package around it loads all clients.
PICTURE = runpy.run_path(str(Path(__file__).resolve().parent.parent / "fronts" / "picture.py"))["PICTURE"]
NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
SCHEMA = {**NUMBER, "additionalProperties": False}
TOOLS = [
    {"name": "photo", "description": "Takes a photo.", "inputSchema": SCHEMA},
    {"name": "page", "description": "Reads a page.", "inputSchema": SCHEMA},
]


def answer(method: str, params: dict) -> dict:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "camera", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call" if params["name"] == "page":
            return {"content": [{"type": "text", "text": f"Page {params['arguments']['number']}. " + "word " * 2000}]}
        case "tools/call":
            text = f"Photo {params['arguments']['number']}."
            picture = {"type": "image", "mimeType": "image/png", "data": PICTURE}
            return {"content": [{"type": "text", "text": text}, picture]}
        case _:
            return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
