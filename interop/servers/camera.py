"""A stdio server whose tool answers with a picture, in the bytes of `fronts.picture`."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fronts.picture import PICTURE  # noqa: E402

NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
TOOL = {"name": "photo", "description": "Takes a photo.", "inputSchema": {**NUMBER, "additionalProperties": False}}


def answer(method: str, params: dict) -> dict:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "camera", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
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
