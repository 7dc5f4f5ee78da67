"""Requests to the fake provider as bytes, for what no official client would send."""

import http.client
import json
from urllib.parse import quote

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}


def ask(url: str, dialect: str, body: dict, key: str = "a-key", **headers: str) -> tuple[int, dict]:
    """Status and JSON. Gemini's model stands in the body here, and in the address there."""
    given = {"content-type": "application/json", "authorization": f"Bearer {key}", "x-goog-api-key": key}
    given |= {"anthropic-version": "2023-06-01"} | {name.replace("_", "-"): value for name, value in headers.items()}
    path = PATHS.get(dialect)
    if dialect == "gemini":
        path = f"/v1beta/models/{quote(body['model'])}:generateContent"
        body = {name: value for name, value in body.items() if name != "model"}
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    try:
        connection.request("POST", path, json.dumps(body), given)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
