"""A stdio server of the older protocol, by hand: its tools have names that no SDK would let through."""

import json
import sys
import time

TOOLS = ['plain', 'quo"te', "back\\slash", "two words", "würfel", "slow", "broken"]


def tool(name: str) -> dict:
    return {"name": name, "description": "Says what it is called.", "inputSchema": {"type": "object"}}


def answer(method: str, params: dict) -> dict:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            }
        case "tools/list":
            return {"tools": [tool(name) for name in TOOLS]}
        case "tools/call":
            name = params["name"]
            if name == "slow":
                time.sleep(0.6)
            return {"content": [{"type": "text", "text": name}], "isError": name == "broken"}
        case _:
            return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
