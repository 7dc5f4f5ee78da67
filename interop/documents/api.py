"""The reference of the HTTP API, from the document that a gateway serves: `python -m documents.api` prints docs/api.md."""

import json
import sys
import tempfile
import urllib.request
from pathlib import Path

from harness.gateway import Gateway

HEAD = """# The HTTP API, route by route

Generated from `GET /api/openapi.json` (`python -m documents.api` in `interop`), which a test checks against the router and every
response. [http.md](http.md) explains how to use it; [errors.md](errors.md) lists the error codes. The chat APIs, live sessions and
MCP have documents of their own: [chat.md](chat.md), [realtime.md](realtime.md), [the specification](https://modelcontextprotocol.io).

`?` marks optional fields, `|` alternatives. Capitalized names are [shapes](#shapes).
"""


def served() -> dict:
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder), {})
        try:
            headers = {"authorization": f"Bearer {gateway.admin_token()}"}
            request = urllib.request.Request(f"{gateway.url}/api/openapi.json", headers=headers)
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        finally:
            gateway.stop()


def written(document: dict) -> str:
    parts = [HEAD]
    for tag in document["tags"]:
        parts.append(f"\n## {tag['name']}\n\n{tag['description']}\n")
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation.get("tags", []):
                    parts.append(section(f"{method.upper()} {path}", operation))
    parts.append("\n## Shapes\n\n| shape | is |\n|---|---|\n")
    for name, schema in sorted(document["components"]["schemas"].items()):
        # A line break would end the row.
        about = " ".join(schema.get("description", "").split()).removesuffix(".")
        parts.append(f"| `{name}` | {about + '. ' if about else ''}{cell(shape(schema))} |\n")
    return "".join(parts)


def section(title: str, operation: dict) -> str:
    lines = [f"\n### `{title}`\n\n{operation['summary']}."]
    if about := operation.get("description"):
        lines[0] += f" {about}"
    rows = [row(parameter) for parameter in operation.get("parameters", [])]
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        rows.append(f"| body, {media} | {cell(shape(content['schema']))} | |")
    for status, answer in operation["responses"].items():
        if status in ("4XX", "5XX"):
            continue
        for media, content in answer.get("content", {"": {}}).items():
            if media != "application/problem+json":
                rows.append(f"| {status}{', ' + media if media else ''} | {told(content)} | {answer['description']} |")
            else:
                rows.append(f"| {status} | | {answer['description']} |")
    return "\n".join([*lines, "\n| | | |\n|---|---|---|", *rows]) + "\n"


def row(parameter: dict) -> str:
    optional = "" if parameter.get("required") else "?"
    return f"| {parameter['in']} `{parameter['name']}{optional}` | {cell(shape(parameter['schema']))} | {parameter.get('description', '')} |"


def told(content: dict) -> str:
    schema = content.get("schema", {})
    if events := schema.get("x-events"):
        return "; ".join(f"`{name}` {cell(shape(data))}" for name, data in events.items())
    return cell(shape(schema)) if schema else ""


def cell(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def shape(schema: dict | bool, depth: int = 0) -> str:
    """A schema in one line, as people write it down."""
    if not isinstance(schema, dict) or not schema:
        return "anything"
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[-1]
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return " | ".join(dict.fromkeys(shape(one, depth) for one in schema[word]))
    if "allOf" in schema:
        return " & ".join(shape(one, depth) for one in schema["allOf"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join("null" if one is None else str(one) for one in schema["enum"])
    kinds = schema.get("type", "object" if "properties" in schema else "anything")
    if isinstance(kinds, list):
        return " | ".join(shape({**schema, "type": kind}, depth) for kind in kinds)
    if kinds == "array":
        inner = shape(schema.get("items", {}), depth)
        return f"[{inner}]"
    if kinds == "object":
        return fields(schema, depth)
    return {"string": schema.get("format", "text"), "integer": "whole number", "boolean": "true | false"}.get(kinds, kinds)


def fields(schema: dict, depth: int) -> str:
    known, needed = schema.get("properties", {}), schema.get("required", [])
    if not known:
        rest = schema.get("additionalProperties")
        return f"{{name: {shape(rest, depth)}}}" if isinstance(rest, dict) and rest else "{…}"
    if depth > 2:
        return "{…}"
    named = (f"{name}{'' if name in needed else '?'}: {shape(inner, depth + 1)}" for name, inner in known.items())
    return "{" + ", ".join(named) + "}"


if __name__ == "__main__":
    sys.stdout.write(written(served()))
