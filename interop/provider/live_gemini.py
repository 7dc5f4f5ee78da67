"""Gemini Live (`BidiGenerateContent`) on a port, as Google's servers speak it: JSON in binary frames, and a close where
they close. The name of a model says what it does: `gemini-3.8-live--mixed` is of the family 3.8 and plays `mixed`
(see live_gemini_plays.py). What it hears as audio is the text that the bytes or the sound spell
(harness/sound.py); in sound, a sentence ends the caller's turn."""

import base64
import itertools
import json
import re
import threading
import time
from socket import SHUT_RDWR

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from harness import sound
from provider import live_gemini_plays as plays

PATH = re.compile(r"^/ws/google\.ai\.generativelanguage\.v1(alpha|beta)?\.GenerativeService\.BidiGenerateContent$")
NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$")
SETUP = {
    "model", "generationConfig", "systemInstruction", "tools", "sessionResumption", "contextWindowCompression",
    "inputAudioTranscription", "outputAudioTranscription", "realtimeInputConfig", "proactivity", "labels",
    "historyConfig",
}  # fmt: skip
DECLARATION = {"name", "description", "parameters", "response", "behavior"}
SCHEMA = {
    "type", "format", "description", "nullable", "enum", "items", "properties", "required", "propertyOrdering", "anyOf",
    "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern", "title", "default", "example",
    "minProperties", "maxProperties",
}  # fmt: skip
# Nobody has published where it breaks; results of this size have closed sessions.
LARGEST, DEEPEST = 16_000, 12
INVALID, POLICY, INTERNAL = 1007, 1008, 1011
# How long the Developer API keeps a handle.
HANDLES_LAST_S = 2 * 3600
# A session may be resumed when its old connection has ended, which may be a moment away.
ENDS_WITHIN_S = 1
# As the real one: the details lack some tokens of the count, and the total lacks the thoughts.
USAGE = {
    "promptTokenCount": 10, "responseTokenCount": 8, "thoughtsTokenCount": 3, "totalTokenCount": 18,
    "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 7}, {"modality": "TEXT", "tokenCount": 2}],
    "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 8}],
}  # fmt: skip


class Closed(Exception):
    """The session ends: code and reason."""


def invalid(message: str) -> Closed:
    return Closed(INVALID, message)


class Calls:
    """Functions that were called, and what was answered."""

    def __init__(self):
        self.names: dict[str, str] = {}
        self.answers: dict[str, list[dict]] = {}
        self.withdrawn: set[str] = set()

    def take(self, response: dict) -> None:
        id = response.get("id")
        if id not in self.names:
            raise Closed(POLICY, f"no function was called by the id {id!r}")
        if id in self.withdrawn:
            raise Closed(POLICY, f"the call {id} was cancelled")
        before = self.answers.setdefault(id, [])
        if before and not before[-1].get("willContinue"):
            raise Closed(POLICY, f"the call {id} is answered already")
        if response.get("name") != self.names[id]:
            raise Closed(POLICY, f"the call {id} is of another function")
        before.append(response)


class Session:
    """One connection."""

    def __init__(self, provider: "GeminiLive", socket: ServerConnection):
        self.provider, self.socket = provider, socket
        self.setup: dict = {}
        self.used = 0.0
        """When the setup came."""
        self.tools: list[dict] = []
        self.instruction: dict = {}
        self.updates: list[dict] = []
        self.received: list[dict] = []
        self.calls = Calls()
        self.turns = 0
        self.heard: list[str] = []
        self.told: list[dict] = []
        """Turns that it was told in writing."""
        self.utterances: list[tuple[float, str]] = []
        """When the caller said what to this connection."""
        self.audio, self.rate = b"", 16_000
        self.is_active = False
        """The client says that the caller speaks."""
        self.barged = False
        """The caller spoke while the model did."""
        self.floor = threading.Lock()
        self.closed: tuple[int, str] | None = None
        self.silent = False
        """As it may be after a `goAway`."""
        self.changed = threading.Condition()
        self.sending = threading.Lock()

    # What plays are written with.

    def send(self, **message) -> None:
        with self.sending:
            if not self.silent:
                self.socket.send(json.dumps(message).encode())

    def content(self, **content) -> None:
        self.send(serverContent=content)

    def say(self, text: str, seconds: float = 0) -> bool:
        """`seconds`: for each word. `False`: the caller spoke into it."""
        self.turns += 1
        for word in re.findall(r"\S+\s*", text):
            data = base64.b64encode(word.encode()).decode()
            part = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}}
            self.content(modelTurn={"parts": [part]})
            if "outputAudioTranscription" in self.setup:
                self.content(outputTranscription={"text": word})
            if seconds and self.is_barged(seconds):
                return False
        return True

    def is_barged(self, limit_s: float) -> bool:
        """Whether the caller speaks within this time."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or self.barged, limit_s)
        return self.barged

    def end(self) -> None:
        self.content(generationComplete=True)
        self.send(serverContent={"turnComplete": True}, usageMetadata=USAGE)
        self.offer_handle()

    def expire(self, seconds: float) -> None:
        """Announces its end, says nothing more, and ends."""
        self.send(goAway={"timeLeft": f"{seconds}s"})
        self.silent = True
        threading.Timer(seconds, self.close, (INTERNAL, "Deadline expired")).start()

    def leave(self, seconds: float) -> None:
        """Announces its end, and goes on until then."""
        if self.closed:
            return
        self.send(goAway={"timeLeft": f"{seconds}s"})
        end = threading.Timer(seconds, self.close, (INTERNAL, "Deadline expired"))
        end.daemon = True
        end.start()

    def break_off(self) -> None:
        """Ends without a word."""
        self.socket.socket.shutdown(SHUT_RDWR)

    def offer_handle(self) -> None:
        if "sessionResumption" in self.setup:
            handle = self.provider.keep(self)
            self.send(sessionResumptionUpdate={"newHandle": handle, "resumable": True})

    def call(self, *calls: tuple[str, dict]) -> list[str]:
        ids = [f"function-call-{next(self.provider.numbers)}" for _ in calls]
        made = [{"id": id, "name": name, "args": args} for id, (name, args) in zip(ids, calls, strict=True)]
        self.calls.names.update({call["id"]: call["name"] for call in made})
        if "sessionResumption" in self.setup:
            self.send(sessionResumptionUpdate={"resumable": False})
        self.send(toolCall={"functionCalls": made})
        return ids

    def withdraw(self, *ids: str) -> None:
        self.calls.withdrawn.update(ids)
        self.send(toolCallCancellation={"ids": list(ids)})

    def answers(self, ids: list[str], limit_s: float = 15) -> list[dict]:
        """The whole answers to all of these calls."""

        def whole(id):
            found = self.calls.answers.get(id, [])
            return found[-1]["response"] if found and not found[-1].get("willContinue") else None

        self.wait(lambda: all(whole(id) is not None for id in ids), limit_s)
        return [whole(id) for id in ids]

    def wait(self, test, limit_s: float = 15) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: self.closed or test(), limit_s):
                raise Closed(INTERNAL, "Deadline expired")
        if self.closed:
            raise Closed(*self.closed)

    def declared(self) -> dict[str, dict]:
        return {it["name"]: it for tool in self.tools for it in tool.get("functionDeclarations", [])}

    # What it does with what it is sent.

    def run(self) -> None:
        try:
            self.begin(self.read())
            self.send(setupComplete={})
            if self.provider.lifetime_s:
                before_end = threading.Timer(self.provider.lifetime_s, self.leave, (self.provider.leaves_s,))
                before_end.daemon = True
                before_end.start()
            if "handle" in self.setup.get("sessionResumption", {}):
                self.offer_handle()
            while True:
                self.take(self.read())
        except Closed as closed:
            self.close(*closed.args)
        except ConnectionClosed as gone:
            code = gone.rcvd.code if gone.rcvd else 1006
            self.ended(code, "the client has gone")

    def read(self) -> dict:
        try:
            message = json.loads(self.socket.recv())
        except ValueError:
            raise invalid("Request contains an invalid argument.") from None
        return camel(message)

    def close(self, code: int, reason: str) -> None:
        self.ended(code, reason)
        self.socket.close(code, reason[:120])

    def ended(self, code: int, reason: str) -> None:
        with self.changed:
            self.closed = self.closed or (code, reason)
            self.changed.notify_all()

    def begin(self, message: dict) -> None:
        if set(message) != {"setup"}:
            raise invalid("setup must be the first message and only the first")
        self.setup, self.used = message["setup"], time.monotonic()
        unknown = sorted(set(self.setup) - SETUP)
        if unknown:
            raise invalid(f"Invalid JSON payload received. Unknown name {unknown} at 'setup': Cannot find field.")
        name = self.setup.get("model", "")
        if not name.startswith("models/gemini-"):
            raise Closed(POLICY, f"{name} is not found for API version v1beta, or is not supported")
        self.family = tuple(int(it) for it in re.search(r"(\d)\.(\d)", name).groups())
        self.play = plays.NAMED[name.partition("--")[2]]
        self.tools = self.checked(self.setup.get("tools", []))
        self.instruction = self.setup.get("systemInstruction", {})
        if "transparent" in self.setup.get("sessionResumption", {}):
            raise invalid("Unknown name 'transparent' at 'setup.session_resumption': Cannot find field.")
        if handle := self.setup.get("sessionResumption", {}).get("handle"):
            self.provider.resume(self, handle)

    def checked(self, tools: list[dict]) -> list[dict]:
        for tool in tools:
            for declaration in tool.get("functionDeclarations", []):
                unknown = sorted(set(declaration) - DECLARATION)
                if unknown:
                    raise invalid(f"Unknown name {unknown} at 'function_declarations': Cannot find field.")
                if not NAME.match(declaration.get("name", "")):
                    raise invalid("Invalid function name. Must start with a letter or an underscore.")
                behavior = declaration.get("behavior")
                if behavior and (3, 0) <= self.family < (3, 8):
                    raise invalid("Request contains an invalid argument: behavior")
                if "parameters" in declaration:
                    check_schema(declaration["parameters"])
        names = [it["name"] for tool in tools for it in tool.get("functionDeclarations", [])]
        if len(names) != len(set(names)):
            raise invalid("Duplicate function declaration found")
        return tools

    def take(self, message: dict) -> None:
        self.received.append(message)
        if len(message) != 1:
            raise invalid("oneof field 'message_type' is already set")
        [(kind, value)] = message.items()
        reader = {
            "clientContent": self.take_content,
            "realtimeInput": self.take_input,
            "toolResponse": self.take_response,
            "contextUpdate": self.take_update,
        }.get(kind)
        if reader is None:
            raise invalid(f"Invalid JSON payload received. Unknown name {kind!r}: Cannot find field.")
        reader(value)
        with self.changed:
            self.changed.notify_all()

    def take_content(self, content: dict) -> None:
        if (3, 0) <= self.family < (3, 8) and self.turns:
            raise invalid("Request contains an invalid argument.")
        texts = [part.get("text", "") for turn in content.get("turns", []) for part in turn.get("parts", [])]
        self.heard.append("".join(texts))
        self.told += content.get("turns", [])
        if content.get("turnComplete"):
            self.answer()

    def take_input(self, given: dict) -> None:
        if not given:
            raise Closed(POLICY, "realtime_input is empty")
        if "text" in given:
            self.heard.append(given["text"])
            self.answer()
        if "audio" in given:
            # Clients write it in the alphabet for URLs, and without the padding.
            data = re.sub("[+/]", lambda it: "-_"["+/".index(it[0])], given["audio"]["data"])
            self.take_audio(base64.urlsafe_b64decode(data.rstrip("=") + "=="), given["audio"].get("mimeType", ""))
        if "activityStart" in given or "activityEnd" in given:
            if not self.is_manual():
                raise invalid("Explicit activity control is not supported when automatic activity detection is enabled.")
            if self.is_active == ("activityStart" in given):
                raise invalid("activity_start and activity_end have to alternate")
            self.is_active = "activityStart" in given
            if not self.is_active:
                self.utter()
        if given.get("audioStreamEnd"):
            self.utter()

    def is_manual(self) -> bool:
        detection = self.setup.get("realtimeInputConfig", {}).get("automaticActivityDetection", {})
        return bool(detection.get("disabled"))

    def take_audio(self, audio: bytes, mime: str) -> None:
        if len(audio) % 2 and b"\0" in audio:
            raise invalid("audio has to consist of samples of 16 bits")
        if self.is_manual() and not self.is_active:
            return
        rate = re.search(r"rate=(\d+)", mime)
        self.rate = int(rate[1]) if rate else 16_000
        if not self.audio and sound.is_silent(audio):
            return
        self.audio += audio
        self.barged |= bool(audio) and not sound.is_silent(audio)
        if not sound.is_text(self.audio) and not self.is_manual() and sound.is_sentence(self.audio, self.rate):
            self.utter()

    def utter(self) -> None:
        """The caller has finished."""
        text, self.audio = sound.heard(self.audio, self.rate), b""
        if not text:
            return
        self.heard.append(text)
        self.utterances.append((time.monotonic(), text))
        if "inputAudioTranscription" in self.setup:
            for word in re.findall(r"\S+\s*", text):
                self.content(inputTranscription={"text": word})
        self.answer()

    def take_response(self, response: dict) -> None:
        for answer in response.get("functionResponses") or []:
            content = answer.get("response")
            if not isinstance(content, dict):
                raise invalid("function response has to be an object")
            if len(json.dumps(content)) > LARGEST or depth(content) > DEEPEST:
                raise Closed(INTERNAL, "Internal error encountered.")
            self.calls.take(answer)

    def take_update(self, update: dict) -> None:
        if self.family < (3, 8):
            raise invalid("Request contains an invalid argument.")
        self.updates.append(update)
        if "tools" in update:
            self.tools = self.checked(update["tools"].get("tools", []))
        self.instruction = update.get("systemInstruction", self.instruction)

    def answer(self) -> None:
        """Plays in a thread of its own: what is sent meanwhile is read."""
        threading.Thread(target=self.perform, args=(self.heard[-1],), daemon=True).start()

    def perform(self, heard: str) -> None:
        try:
            self.play(self, heard)
        except Closed as closed:
            self.close(*closed.args)
        except ConnectionClosed:
            self.ended(1006, "gone")


class GeminiLive:
    """Runs in threads of the test."""

    def __init__(self):
        self.sessions: list[Session] = []
        self.kept: dict[str, tuple[list[str], Session, float]] = {}
        self.passed = 0.0
        """Seconds that its clock is ahead."""
        self.numbers = itertools.count(1)
        self.keys: list[str | None] = []
        self.is_full = False
        """Whether it lets nobody in."""
        self.speed = 1.0
        """Of those who talk at the pace of speech."""
        self.lifetime_s: float | None = None
        """How long a connection lasts before it leaves, `leaves_s` after it has said so."""
        self.leaves_s = 5.0
        self.server = serve(self.hold, "127.0.0.1", 0, max_size=1 << 24, process_request=self.admit)
        self.url = f"http://127.0.0.1:{self.server.socket.getsockname()[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def admit(self, socket: ServerConnection, _request):
        return socket.respond(503, "The service is currently unavailable.") if self.is_full else None

    def hold(self, socket: ServerConnection) -> None:
        path, _, query = socket.request.path.partition("?")
        self.keys.append(socket.request.headers.get("x-goog-api-key") or query.removeprefix("key="))
        session = Session(self, socket)
        self.sessions.append(session)
        # The JavaScript client doubles the first slash.
        if not PATH.match(re.sub("/+", "/", path)):
            return session.close(POLICY, f"no such service: {path}")
        return session.run()

    def now(self) -> float:
        return time.monotonic() + self.passed

    def keep(self, session: Session) -> str:
        handle = f"handle-{next(self.numbers)}"
        self.kept[handle] = list(session.heard), session, self.now()
        return handle

    def resume(self, session: Session, handle: str) -> None:
        if handle not in self.kept:
            raise Closed(POLICY, "BidiGenerateContent session not found")
        heard, before, since = self.kept[handle]
        if self.now() - since > HANDLES_LAST_S:
            raise Closed(POLICY, "BidiGenerateContent session expired")
        with before.changed:
            if not before.changed.wait_for(lambda: before.closed, ENDS_WITHIN_S):
                raise Closed(INTERNAL, "The session is connected already.")
        session.heard, session.turns = list(heard), 1

    def session(self, number: int = -1, limit_s: float = 10) -> Session:
        end = time.monotonic() + limit_s
        while len(self.sessions) <= max(number, 0) and time.monotonic() < end:
            time.sleep(0.02)
        return self.sessions[number]

    def stop(self) -> None:
        self.server.shutdown()


def camel(value):
    """Both spellings of a field are the same; what stands in arguments and results is not ours to spell."""
    if isinstance(value, list):
        return [camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = {"response", "args", "properties", "labels"}
    spelt = {re.sub(r"_([a-z])", lambda it: it[1].upper(), key): it for key, it in value.items()}
    return {key: it if key in own else camel(it) for key, it in spelt.items()}


def depth(value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def check_schema(schema: dict) -> None:
    unknown = sorted(set(schema) - SCHEMA)
    if unknown:
        raise invalid(f"Unknown name {unknown} at 'parameters': Cannot find field.")
    if schema.get("required") == []:
        raise Closed(POLICY, "required fields must not be empty")
    if schema.get("type") == "OBJECT" and schema.get("properties") == {}:
        raise invalid("parameters.properties: should be non-empty for OBJECT type")
    for inner in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
        check_schema(inner)
    if "items" in schema:
        check_schema(schema["items"])
