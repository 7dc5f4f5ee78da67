"""The provider on a port: reads a request, asks the script, sends the answer with whatever fault it has."""

import itertools
import json
import re
import select
import socket
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from provider import (
    chat,
    faults,
    gemini,
    messages,
    plans,
    reply_chat,
    reply_gemini,
    reply_messages,
    reply_responses,
    responses,
    side,
    strict_chat,
    strict_gemini,
    strict_messages,
    strict_responses,
    vendors,
)
from provider.issued import Issued, Visit
from provider.words import Refusal, Reply, invalid

ROUTES = [
    (re.compile(r"/chat/completions$"), chat),
    (re.compile(r"/responses$"), responses),
    (re.compile(r"/messages$"), messages),
    (gemini.ADDRESS, gemini),
]
# How the vendors judge a request and write an answer.
VENDORS = {
    "chat": (strict_chat, reply_chat),
    "responses": (strict_responses, reply_responses),
    "anthropic": (strict_messages, reply_messages),
    "gemini": (strict_gemini, reply_gemini),
}
# Models write JSON that is nested deeper than Python likes.
sys.setrecursionlimit(20_000)
# No request of a test waits longer than this, whatever it is for.
PATIENCE_S = 60


class Gone(Exception):
    """The client went away."""


@dataclass
class Seen:
    """One request, and what became of it."""

    dialect: str
    path: str
    headers: dict[str, str]
    body: dict
    status: int = 0
    events: int = 0
    """Of the stream, before anything was wrong with it."""
    begun: float = field(default_factory=time.monotonic)
    gone: threading.Event = field(default_factory=threading.Event)
    """The client went away before the answer was whole."""
    done: threading.Event = field(default_factory=threading.Event)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # Tests ask many things at once; what does not fit would wait for seconds.
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """Clients break off connections; that is what some tests are about."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Provider:
    """Runs in a thread of the test."""

    def __init__(self, port: int = 0):
        self.seen: list[Seen] = []
        self.tried: Counter[str] = Counter()
        self.issued = Issued()
        self.numbers = itertools.count(1)
        self.server = Server(("127.0.0.1", port), type("Bound", (Handler,), {"provider": self}))
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def forget(self) -> None:
        self.seen.clear()
        self.tried.clear()
        self.issued = Issued()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def refuse(self, model: str, plan: plans.Plan) -> None:
        self.tried[model] += 1
        if plan.refusal and self.tried[model] <= plan.times:
            raise replace(plan.refusal)


class Handler(BaseHTTPRequestHandler):
    provider: Provider
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        if beside := side.find(unquote(path)):
            return self.answer_beside(beside, unquote(path), raw)
        dialect = next((dialect for route, dialect in ROUTES if route.search(path)), None)
        if dialect is None:
            return self.send(404, {"content-type": "application/json"}, b'{"error":{"message":"no such route"}}')
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(dialect.NAME, self.path, headers, json.loads(raw))
        self.provider.seen.append(seen)
        try:
            self.answer(dialect, seen)
        except Refusal as refusal:
            seen.status = refusal.status
            extra = {"content-type": "application/json", **dialect.headers(refusal), **refusal.headers}
            self.send(refusal.status, extra, json.dumps(dialect.error(refusal)).encode())
        except (Gone, ConnectionError):
            seen.gone.set()
            self.close_connection = True
        finally:
            seen.done.set()

    def answer_beside(self, dialect, path: str, raw: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen("side", self.path, headers, {"raw": raw})
        self.provider.seen.append(seen)
        try:
            if dialect.key(headers) is None:
                raise Refusal(401, "You didn't provide an API key.", "key")
            media, body = side.answer(path, headers, raw)
            seen.status = 200
            self.send(200, {"content-type": media}, body)
        except Refusal as refusal:
            seen.status = refusal.status
            extra = {"content-type": "application/json", **dialect.headers(refusal), **refusal.headers}
            self.send(refusal.status, extra, json.dumps(dialect.error(refusal)).encode())

    def do_GET(self):
        """A response that was stored, as its owner reads it."""
        owner = chat.key({name.lower(): value for name, value in self.headers.items()})
        id = self.path.split("?")[0].rpartition("/responses/")[2]
        found = self.provider.issued.stored.get(id)
        if found and found.owner == owner:
            return self.send(200, {"content-type": "application/json"}, json.dumps(found.answer).encode())
        refusal = Refusal(404, f"Response with id '{id}' not found.", "invalid")
        return self.send(404, {"content-type": "application/json"}, json.dumps(chat.error(refusal)).encode())

    def answer(self, dialect, seen: Seen) -> None:
        if dialect.key(seen.headers) is None:
            raise Refusal(401, "You didn't provide an API key.", "key")
        if dialect is messages:
            messages.check_version(seen.headers, seen.body)
        path = unquote(self.path.split("?")[0])
        name = gemini.ADDRESS.search(path)["model"] if dialect is gemini else seen.body.get("model")
        vendor, words = vendors.find(name) if isinstance(name, str) else (None, "")
        if vendor:
            return self.answer_as_vendor(dialect, seen, vendor, words)
        try:
            asked = dialect.read(seen.body, path)
        except (AttributeError, KeyError, TypeError) as error:
            raise invalid(f"a field is missing or has the wrong type: {error!r}") from None
        plan = plans.plan(asked.model).in_round(asked.rounds)
        if self.fail(asked.model, plan, seen):
            return None
        answer = plan.script(asked)
        number = next(self.provider.numbers)
        whole = dialect.write(asked, answer, number, seen.body) if not asked.stream else {}
        events = dialect.events(asked, answer, number, seen.body) if asked.stream else []
        return self.deliver(Reply(whole, events), asked.stream, plan, dialect, seen)

    def answer_as_vendor(self, dialect, seen: Seen, vendor, words: str) -> None:
        path = unquote(self.path.split("?")[0])
        plan = plans.plan(vendor.name, words)
        if dialect.NAME not in vendor.dialects:
            raise Refusal(404, f"The model `{vendor.name}` does not exist or you do not have access to it.", "model")
        visit = Visit(vendor, dialect.key(seen.headers), seen.headers, self.provider.issued, plan.ways)
        judge, writer = VENDORS[dialect.NAME]
        plain = judge.check(seen.body, visit)
        # Nothing is left for the script to refuse: everything that comes back was checked.
        asked = replace(dialect.read(plain, path), unsigned=0)
        plan = plan.in_round(asked.rounds)
        if self.fail(f"{vendor.name}+{words}", plan, seen):
            return None
        body = plain if dialect in (responses, gemini) else seen.body
        reply = writer.reply(asked, plan.script(asked), body, visit)
        return self.deliver(reply, asked.stream, plan, dialect, seen)

    def fail(self, model: str, plan: plans.Plan, seen: Seen) -> bool:
        """Whether that was all."""
        self.provider.refuse(model, plan)
        if "silent" in plan.ways:
            self.wait(PATIENCE_S)
        elif plan.raw:
            seen.status = plan.raw.status
            self.send(plan.raw.status, plan.raw.headers, plan.raw.body, plan.raw.length)
        return "silent" in plan.ways or plan.raw is not None

    def deliver(self, reply: Reply, streamed: bool, plan: plans.Plan, dialect, seen: Seen) -> None:
        seen.status = 200
        seen.events = len(reply.events)
        if streamed:
            return self.stream(plan.of_events(reply.events, dialect), plan)
        if plan.chunks is faults.slowly:
            self.wait(2)
        return self.send(200, {"content-type": "application/json"}, json.dumps(reply.whole).encode())

    def stream(self, events: list[faults.Event], plan: plans.Plan) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json" if "mistyped" in plan.ways else "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if "bom" in plan.ways:
            self.chunk(b"\xef\xbb\xbf")
        cut = "cut" in plan.ways
        for event in events[: len(events) // 2] if cut else events:
            if event is faults.CUT:
                self.close_connection = True
                return
            if event is faults.STALL:
                return self.wait(PATIENCE_S)
            for chunk in plan.chunks(plan.text(event)):
                self.chunk(chunk)
            self.wait(0)
        if cut:
            self.close_connection = True
        else:
            self.chunk(b"")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def send(self, status: int, headers: dict[str, str], body: bytes, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("content-length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.close_connection or length is not None

    def wait(self, limit_s: float) -> None:
        """Fails as soon as the client has gone."""
        ready, _, _ = select.select([self.connection], [], [], limit_s)
        if ready and not self.connection.recv(1, socket.MSG_PEEK):
            raise Gone
