"""OpenAI Realtime with calls over WebRTC and SIP: HTTP requests on the same port as the WebSockets, as strict as OpenAI's.
A call is created by the standard key only, from a form with exactly `sdp` and `session`; its sideband is not there at once."""

import json
import re
import select
import socket
import threading
from collections import Counter
from contextlib import suppress
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from openai.types.realtime.call_accept_params import CallAcceptParams
from openai.types.realtime.call_create_params import CallCreateParams
from openai.types.realtime.call_refer_params import CallReferParams
from openai.types.realtime.call_reject_params import CallRejectParams
from websockets.sync.server import Request, Response, ServerConnection

from fronts import params
from provider.live_openai import OpenAiLive

CALL = re.compile(r"^/v1/realtime/calls/(?P<id>rtc_\w+)/(?P<verb>accept|reject|refer|hangup)$")
ANSWER = "v=0\r\no=- 2 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
# A session that was just created is not found so many times.
UNFOUND = 2


class Refusal(Exception):
    """Status, code and message of an answer."""


class OpenAiCalls(OpenAiLive):
    """Runs in a thread of the test."""

    def __init__(self, key: str):
        super().__init__(key)
        self.calls: dict[str, dict | None] = {}
        """Calls and their sessions; an incoming one has none yet."""
        self.asked: list[tuple[str, dict]] = []
        self.sought: Counter[str] = Counter()
        handler = type("Bound", (Handler,), {"provider": self})
        self.front = Front(("127.0.0.1", 0), handler)
        self.front.inner = self.server.socket.getsockname()
        self.url = f"http://127.0.0.1:{self.front.server_port}/v1"
        threading.Thread(target=self.front.serve_forever, args=(0.05,), daemon=True).start()

    def ring(self, id: str) -> None:
        self.calls[id] = None

    def stop(self) -> None:
        self.front.shutdown()
        self.front.server_close()
        super().stop()

    def forget(self) -> None:
        super().forget()
        self.asked.clear()

    def judge(self, socket: ServerConnection, request: Request) -> Response | None:
        id = re.search(r"call_id=(\w+)", request.path)
        if not id:
            return None
        self.sought[id[1]] += 1
        if self.calls.get(id[1]) and self.sought[id[1]] > UNFOUND:
            return None
        return socket.respond(404, json.dumps(error_of("call_id_not_found", "No session found for the provided call_id")))

    def prepare(self, session) -> None:
        given = self.calls[session.call] or {}
        session.config.update({name: value for name, value in given.items() if name != "audio"})

    # Requests.

    def create(self, headers: dict, raw: bytes) -> str:
        form = read_form(headers.get("content-type", ""), raw)
        if set(form) != {("sdp", "application/sdp"), ("session", "application/json")}:
            raise Refusal(400, "invalid_form", f"Expected the parts sdp and session, got {sorted(form)}.")
        sdp, session = form["sdp", "application/sdp"], json.loads(form["session", "application/json"])
        check(CallCreateParams, {"sdp": sdp, "session": session})
        if not sdp.startswith("v=0"):
            raise Refusal(400, "invalid_offer", "Failed to parse the SDP offer.")
        id = f"rtc_u1_{len(self.calls):06}"
        self.calls[id] = session
        self.asked.append(("create", session))
        return id

    def control(self, id: str, verb: str, raw: bytes) -> None:
        if id not in self.calls:
            raise Refusal(404, "call_id_not_found", "No session found for the provided call_id")
        body = json.loads(raw) if raw else {}
        kinds = {"accept": CallAcceptParams, "refer": CallReferParams, "reject": CallRejectParams}
        check(kinds.get(verb, dict), body)
        ringing = self.calls[id] is None
        if ringing != (verb in ("accept", "reject")) and verb != "hangup":
            raise Refusal(400, "invalid_call_state", f"The call cannot be asked to {verb} now.")
        self.asked.append((verb, body))
        if verb == "accept":
            self.calls[id] = body
        elif verb in ("hangup", "reject"):
            del self.calls[id]
            for session in self.sessions:
                if session.call == id:
                    session.socket.close(1000, "call ended")


def error_of(code: str, message: str) -> dict:
    return {"error": {"type": "invalid_request_error", "code": code, "message": message, "param": None}}


def check(kind, body: dict) -> None:
    problem = None if kind is dict else params.problem(kind, body, "realtime")
    if problem:
        raise Refusal(400, "unknown_parameter", problem)


def read_form(kind: str, raw: bytes) -> dict[tuple[str, str], str]:
    if not kind.startswith("multipart/form-data"):
        raise Refusal(400, "invalid_content_type", f"Unsupported content type {kind!r}.")
    whole = BytesParser(policy=HTTP).parsebytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + raw)
    parts = {}
    for part in whole.iter_parts():
        name = part.get_param("name", header="content-disposition")
        parts[name, part.get_content_type()] = part.get_payload(decode=True).decode()
    return parts


class Front(ThreadingHTTPServer):
    """Takes the requests of both kinds; those for a WebSocket go on to the server of those."""

    daemon_threads = True
    inner: tuple

    def finish_request(self, request: socket.socket, address) -> None:
        if request.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL) != b"GET ":
            return super().finish_request(request, address)
        with socket.create_connection(self.inner) as beyond:
            beyond.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return pump(request, beyond)

    def handle_error(self, *_):
        """Connections break off; that is what some tests are about."""


def pump(one: socket.socket, other: socket.socket) -> None:
    ends = {one: other, other: one}
    with suppress(OSError):
        while True:
            for end in select.select([*ends], [], [], 60)[0]:
                data = end.recv(65536)
                if not data:
                    return
                ends[end].sendall(data)


class Handler(BaseHTTPRequestHandler):
    provider: OpenAiCalls
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            if headers.get("authorization") != f"Bearer {self.provider.key}":
                raise Refusal(401, "invalid_api_key", "Incorrect API key provided.")
            if self.path == "/v1/realtime/calls":
                id = self.provider.create(headers, raw)
                location = {"content-type": "application/sdp", "location": f"/v1/realtime/calls/{id}"}
                return self.send(201, ANSWER.encode(), location)
            found = CALL.match(self.path)
            if not found:
                raise Refusal(404, "not_found", "Invalid URL")
            self.provider.control(found["id"], found["verb"], raw)
            return self.send(200, b"", {})
        except Refusal as refusal:
            status, code, message = refusal.args
            return self.send(status, json.dumps(error_of(code, message)).encode(), {"content-type": "application/json"})

    def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
