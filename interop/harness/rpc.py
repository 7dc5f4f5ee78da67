"""A bare client of the stateless revision: one POST, one answer. For tests that need no SDK between."""

import itertools
import json
import urllib.error
import urllib.request

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_numbers = itertools.count(1)


def post(url: str, method: str, params: dict | None = None, limit_s: float = 10) -> tuple[int, dict]:
    """Returns the HTTP status and the JSON-RPC answer."""
    number = next(_numbers)
    params = dict(params or {})
    params["_meta"] = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {}, **params.get("_meta", {})}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
    }
    if method in NAMED:
        headers["Mcp-Name"] = params[NAMED[method]]
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=limit_s) as answer:
            return answer.status, _read(answer, number)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def _read(answer, number: int) -> dict:
    if not answer.headers.get("Content-Type", "").startswith("text/event-stream"):
        return json.loads(answer.read())
    for line in answer:
        if line.startswith(b"data:"):
            message = json.loads(line[5:])
            if message.get("id") == number:
                return message
    raise AssertionError("the stream ended without an answer")


def result(url: str, method: str, params: dict | None = None, limit_s: float = 10) -> dict:
    status, message = post(url, method, params, limit_s)
    assert "result" in message, f"HTTP {status}: {message}"
    return message["result"]


def call(url: str, name: str, arguments: dict | None = None, limit_s: float = 10) -> dict:
    return result(url, "tools/call", {"name": name, "arguments": arguments or {}}, limit_s)


def text(tool_result: dict) -> str:
    return tool_result["content"][0]["text"]
