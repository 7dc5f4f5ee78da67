"""openai for JavaScript: the same verbs, in a process of its own (`clients/openai.mjs`)."""

import atexit
import json
import subprocess
from functools import cache

from fronts.heard import Heard, Made
from fronts.openai_py import FINISH, OpenAiPyChat, OpenAiPyResponses
from harness.gateway import clean_environment
from harness.paths import INTEROP, program


class JsError(Exception):
    """Named as the client's own class."""

    def __init__(self, said: dict):
        super().__init__(said["message"])
        self.kind, self.status_code, self.said_code = said["class"], said["status"], said["code"]
        self.headers = said["headers"]


@cache
def node() -> subprocess.Popen:
    """One for all requests: it takes its time to start."""
    command = program("clients", "openai")
    started = subprocess.Popen(
        command, cwd=INTEROP, env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(started.kill)
    return started


class OpenAiJs:
    error = JsError
    errors = {
        "bad request": "BadRequestError",
        "unauthenticated": "AuthenticationError",
        "forbidden": "PermissionDeniedError",
        "not found": "NotFoundError",
        "rate limit": "RateLimitError",
        "server": "InternalServerError",
    }

    def __init__(self, url: str, key: str = "none", headers: dict[str, str] | None = None):
        self.options = {"url": f"{url}/v1", "key": key, "headers": headers or {}}

    def begin(self, text: str) -> list:
        return [{"role": "user", "content": text}]

    def ask(self, model: str, history: list, tools: list[dict] = (), stream: bool = False, **more) -> Heard:
        given = self.tools(tools) if tools else []
        asked = {"api": self.dialect, "model": model, "history": history, "tools": given, "stream": stream}
        print(json.dumps({**self.options, **asked, "more": more}), file=node().stdin, flush=True)
        said = json.loads(node().stdout.readline())
        if "error" in said:
            raise JsError(said["error"])
        calls = [Made(call["id"], call["name"], json.loads(call["arguments"])) for call in said["calls"]]
        finish = FINISH.get(said["finish"], said["finish"])
        return Heard(said["text"], calls, finish, tuple(said["usage"]), said["told"], said["headers"], said["native"])


class OpenAiJsChat(OpenAiJs):
    name = "openai-js-chat"
    dialect = "chat"
    tools = OpenAiPyChat.tools
    go_on = OpenAiPyChat.go_on


class OpenAiJsResponses(OpenAiJs):
    name = "openai-js-responses"
    dialect = "responses"
    tools = OpenAiPyResponses.tools
    go_on = OpenAiPyResponses.go_on
