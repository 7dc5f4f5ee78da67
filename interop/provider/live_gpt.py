"""GPT-Live on a port. What it hears as audio is the text that the bytes spell; the first word says what happens:

- `roll` and `lamp` have the backend model call the tool of that name, `both` calls the two in one response.
- `ask` leaves the answer to whoever holds the socket, if the session delegates so.
- anything else the voice answers itself.

As the real one, it refuses to go on before every call has its result, and remembers in `complaints` what it refused.
"""

import base64
import itertools
import json
import threading

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

PATH = "/v1/live/sessions"
MOST_TOKENS = 500
AUDIO = base64.b64encode(b"\x01\x02" * 240).decode()


class Session:
    """One connection."""

    def __init__(self, provider: "GptLive", socket: ServerConnection):
        self.provider, self.socket = provider, socket
        self.config: dict = {}
        self.tool_lists: list[list[str]] = []
        self.open: dict[str, str] = {}
        """Calls without a result: id -> name."""
        self.results: dict[str, str] = {}
        self.delegation: str | None = None
        self.commentary: list[str] = []
        self.ids = itertools.count(1)
        self.now = 0

    def id(self, kind: str) -> str:
        return f"{kind}_{next(self.ids)}"

    def send(self, type: str, cause: dict | None = None, **fields) -> None:
        known = (cause or {}).get("event_id")
        related = {"client_event_id": known} if known else {}
        self.socket.send(json.dumps({"type": type, "event_id": self.id("event"), **related, **fields}))

    def refuse(self, code: str, message: str, cause: dict) -> None:
        self.provider.complaints.append(f"{code}: {message}")
        error = {"type": "invalid_request_error", "code": code, "message": message}
        self.send("error", error={**error, "client_event_id": cause.get("event_id")})

    @property
    def backend(self) -> dict:
        return (self.config.get("delegation") or {}).get("responses") or {}

    def resource(self) -> dict:
        return {"id": "live_1", "expires_at": 2_000_000_000, "status": "active", **self.config}

    def run(self) -> None:
        for message in self.socket:
            self.heard(json.loads(message))

    def heard(self, message: dict) -> None:
        match message.get("type"):
            case "session.start" if not self.config:
                self.config = message["session"]
                self.tool_lists.append(self.tools())
                self.send("session.started", message, session=self.resource())
            case "session.update":
                self.backend.update(message["session"]["delegation"]["responses"])
                self.tool_lists.append(self.tools())
                self.send("session.updated", message, session=self.resource())
            case "session.input_audio.append":
                # Who streams a microphone sends silence, too.
                said = base64.b64decode(message["audio"]).strip(b"\0").decode(errors="replace")
                if said.isprintable() and said:
                    self.turn(said)
            case "response.item.create":
                self.result(message)
            case "response.create":
                self.go_on(message)
            case "session.commentary.append":
                self.comment(message)
            case "session.thinking.append":
                self.send("session.thinking.appended", message, **self.span())
            case "session.close":
                usage = {"seconds": 1.0}
                self.send("session.closed", message, reason="close_requested", session=self.resource(), usage=usage)
                self.socket.close()
            case other:
                self.refuse("unknown_event", f"{other} at this time", message)

    def tools(self) -> list[str]:
        return [tool.get("name", tool["type"]) for tool in self.backend.get("tools") or []]

    def span(self) -> dict:
        self.now += 100
        return {"start_ms": self.now - 100, "end_ms": self.now}

    def event(self, type: str, **fields) -> None:
        self.send("response.event", delegation_id=self.delegation, event={"type": type, **fields})

    def complete(self) -> None:
        """The output list is empty, as it is there."""
        usage = {
            "input_tokens": 200, "output_tokens": 20, "total_tokens": 220,
            "input_tokens_details": {"cached_tokens": 128}, "output_tokens_details": {"reasoning_tokens": 8},
        }  # fmt: skip
        model = self.backend.get("model", "gpt-5.4")
        response = {"id": "resp", "status": "completed", "model": model, "output": [], "usage": usage}
        self.event("response.completed", response=response)

    def speak(self, text: str) -> None:
        self.send("session.output_transcript.delta", delta=text, **self.span())
        self.send("session.output_audio.delta", delta=AUDIO, **self.span())
        # As recorded: the seconds are wrong.
        self.send("session.usage.updated", usage={"seconds": 7.0})

    def turn(self, said: str) -> None:
        self.send("session.input_transcript.delta", delta=said, **self.span())
        target = (self.config.get("delegation") or {"type": "client"})["type"]
        word = said.split()[0]
        if word == "ask" or word in ("roll", "lamp", "both"):
            self.delegation = self.id("delegation")
            delegation = {"type": "delegation", "id": self.delegation, "target": target}
            self.send("session.delegation.created", delegation=delegation, offset_ms=self.now)
        if target != "responses":
            return None if word == "ask" else self.speak(f"You said: {said}")
        names = ["roll", "lamp"] if word == "both" else [word]
        names = [name for name in names if name in self.tools()]
        if not names:
            return self.speak(f"You said: {said}")
        self.event("response.created", response={"id": self.id("resp")})
        for index, name in enumerate(names):
            self.call(index, name)
        self.complete()

    def call(self, index: int, name: str) -> None:
        item_id, call_id = self.id("fc"), self.id("call")
        self.open[call_id] = name
        arguments = json.dumps({"expression": "1d1+41"} if name == "roll" else {})
        item = {"type": "function_call", "id": item_id, "call_id": call_id, "name": name}
        where = {"output_index": index, "item_id": item_id}
        begun = {**item, "status": "in_progress", "arguments": ""}
        done = {**item, "status": "completed", "arguments": arguments}
        self.event("response.output_item.added", output_index=index, item=begun)
        self.event("response.function_call_arguments.delta", delta=arguments, **where)
        self.event("response.function_call_arguments.done", arguments=arguments, **where)
        self.event("response.output_item.done", output_index=index, item=done)

    def result(self, message: dict) -> None:
        item = message["item"]
        if item["type"] != "function_call_output":
            return
        if self.open.pop(item["call_id"], None) is None:
            self.refuse("unknown_call", f"no call {item['call_id']} waits for a result", message)
        else:
            self.results[item["call_id"]] = item["output"]

    def go_on(self, message: dict) -> None:
        if self.open:
            return self.refuse("partial_batch", f"results are missing: {sorted(self.open)}", message)
        self.event("response.created", response={"id": self.id("resp")})
        self.complete()
        self.speak(" and ".join(self.results.values()))

    def comment(self, message: dict) -> None:
        if "delegation_id" not in message or len(message["content"]) > 4 * MOST_TOKENS:
            return self.refuse("invalid_append", "no delegation, or too long", message)
        self.commentary.append(message["content"])
        self.send("session.commentary.appended", message, **self.span())
        self.speak(message["content"])


class GptLive:
    """Runs in a thread of the test."""

    def __init__(self):
        self.sessions: list[Session] = []
        self.complaints: list[str] = []
        self.server = serve(self.talk, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.socket.getsockname()[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def talk(self, socket: ServerConnection) -> None:
        if socket.request.path != PATH:
            self.complaints.append(f"a session at {socket.request.path}")
        session = Session(self, socket)
        self.sessions.append(session)
        try:
            session.run()
        except ConnectionClosed:
            pass

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
