"""OpenAI Realtime (GA) on a port, as strict as OpenAI's servers: one response in the conversation at a time, answers only
to calls that are in it, events in the order of recordings of the live service. The name of a model says what it plays: `gpt-realtime-2.1--mixed` (see live_openai_plays.py).
What it hears as audio is the text that the bytes or the sound spell (harness/sound.py); a sentence ends the caller's turn. Every event in either
direction is held against the types of the official client. One byte of its audio lasts a tenth of a second: as µ-law,
silence fills the rest, and silence is not heard."""

import base64
import binascii
import itertools
import json
import re
import threading
import time
from socket import SHUT_RDWR
from urllib.parse import parse_qs, urlsplit

from openai.types.realtime.realtime_client_event_param import RealtimeClientEventParam
from openai.types.realtime.realtime_server_event import RealtimeServerEvent
from pydantic import TypeAdapter
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from fronts import params
from harness import sound
from provider import live_openai_plays as plays
from provider.live_openai_response import Response, Stopped
from provider.live_openai_rules import (
    ACCEPTED,
    CLOSES,
    LARGEST_AUDIO,
    PCMU,
    Refused,
    check_item,
    check_tools,
    check_truncation,
    check_update,
    problem_of_connection,
    read,
    unspoken,
    usage,
    without_nulls,
)

ACTIVE = "conversation_already_has_active_response"
SERVER = TypeAdapter(RealtimeServerEvent)
TRANSCRIPTION = "conversation.item.input_audio_transcription"
LIMIT_S = 20
VAD = {
    "type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500, "idle_timeout_ms": None,
    "create_response": True, "interrupt_response": True,
}  # fmt: skip
SEMANTIC = {"type": "semantic_vad", "eagerness": "auto", "create_response": True, "interrupt_response": True}
# Transcripts are made beside the model: this long after the caller's last word.
AFTER_S, LATE_S = 0.12, 2.5
RATE = 24_000


class Session:
    """One connection."""

    def __init__(self, provider: "OpenAiLive", socket: ServerConnection, model: str):
        self.provider, self.socket, self.model = provider, socket, model
        self.call: str | None = None
        """The call that this is a second connection to."""
        play = model.partition("--")[2] or "echo"
        self.play = plays.NAMED[play]
        self.config = {
            "type": "realtime", "object": "realtime.session", "id": self.fresh("sess"), "model": model,
            "expires_at": int(time.time() + provider.lifetime_s), "instructions": "Be helpful.", "tools": [], "tool_choice": "auto", "output_modalities": ["audio"],
            "audio": {"input": {"format": {"type": "audio/pcm", "rate": 24000}, "transcription": None,
                "turn_detection": dict(VAD)},
                "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "marin", "speed": 1.0}},
        }  # fmt: skip
        self.items: list[dict] = []
        self.received: list[dict] = []
        self.used = 0.0
        """When the first of it came."""
        self.refused: list[str] = []
        """Codes of the errors that were sent."""
        self.calls: dict[str, str] = {}
        """Call ids in the conversation -> whose response is over, `open` or `over`."""
        self.answers: dict[str, list[str]] = {}
        self.active: Response | None = None
        self.asides: list[Response] = []
        self.audio = b""
        self.sounded: dict[str, int] = {}
        """Milliseconds of audio that were sent, by item."""
        self.timeline: list[tuple[float, str, str]] = []
        """When who said what: the caller, the agent, a tool; or what was `written` as the caller's."""
        self.speaking: str | None = None
        self.transcripts = provider.transcripts_of.get(play, provider.transcripts)
        self.heard = 0
        """Words of the present utterance whose transcript was sent already."""
        self.closed = False
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)

    def fresh(self, prefix: str) -> str:
        return f"{prefix}_{next(self.provider.numbers):06}"

    def send(self, kind: str, **fields) -> None:
        event = {"type": kind, "event_id": self.fresh("event"), **fields}
        SERVER.validate_python(event)
        with self.lock:
            try:
                self.socket.send(json.dumps(event))
            except ConnectionClosed:
                self.closed = True
            self.changed.notify_all()

    def note(self, who: str, text: str) -> None:
        self.timeline.append((time.monotonic(), who, text))

    def wait(self, test, seconds: float = LIMIT_S) -> bool:
        with self.changed:
            return bool(self.changed.wait_for(lambda: self.closed or test(), seconds))

    # The conversation.

    def before(self, id: str) -> str | None:
        at = next(at for at, item in enumerate(self.items) if item["id"] == id)
        return self.items[at - 1]["id"] if at else None

    def add(self, item: dict, after: str | None = None) -> None:
        self.put(item, after)
        self.send("conversation.item.added", item=item, previous_item_id=self.before(item["id"]))

    def put(self, item: dict, after: str | None = None) -> None:
        with self.lock:
            at = next((at + 1 for at, known in enumerate(self.items) if known["id"] == after), len(self.items))
            self.items.insert(0 if after == "root" else at, item)
            if item["type"] == "function_call":
                self.calls.setdefault(item["call_id"], "open" if item["status"] == "in_progress" else "over")

    def outputs(self) -> list[str]:
        """What tools said since the caller spoke last."""
        found = []
        for item in self.items:
            if item["type"] == "message" and item["role"] == "user":
                found = []
            if item["type"] == "function_call_output":
                found.append(item["output"])
        return found

    def said(self) -> str:
        users = [item for item in self.items if item["type"] == "message" and item["role"] == "user"]
        parts = users[-1]["content"] if users else []
        return "".join(part.get("text") or part.get("transcript") or "" for part in parts)

    # Responses.

    def respond(self, asked: dict, why: str) -> Response:
        with self.lock:
            response = Response(self, asked, why)
            if response.aside:
                self.asides.append(response)
            elif self.active:
                raise Refused(ACTIVE, f"Conversation already has an active response in progress: {self.active.id}.")
            else:
                self.active = response
            self.send("response.created", response=response.object("in_progress"))
        threading.Thread(target=self.run, args=(response,), daemon=True).start()
        return response

    def run(self, response: Response) -> None:
        status = "completed"
        try:
            play = plays.announce if response.aside else self.play
            status = play(self, response) or status
        except Stopped:
            status = "cancelled"
        except ConnectionClosed:
            return
        with self.lock:
            for item in response.output:
                if item["type"] == "function_call":
                    self.calls[item["call_id"]] = "over"
            if self.active is response:
                self.active = None
            elif response in self.asides:
                self.asides.remove(response)
            status = "cancelled" if response.stopped else status
            response.usage = usage(self, response) if status == "completed" else None
            self.send("response.done", response=response.object(status))
        limit = {"name": "tokens", "limit": 40_000, "remaining": 39_000, "reset_seconds": 1.5}
        self.send("rate_limits.updated", rate_limits=[limit])

    def stop(self, reason: str, id: str | None = None) -> bool:
        with self.changed:
            asides = [response for response in self.asides if response.id == id]
            found = asides[0] if asides else self.active
            if found is None or found.stopped or (id and found.id != id):
                return False
            found.stopped = reason
            self.changed.notify_all()
        return True

    # What the client says.

    def hear(self, event: dict) -> None:
        if event.get("type") not in ACCEPTED:
            raise Refused("invalid_value", f"Invalid value: {event.get('type')!r}. Supported values are: {ACCEPTED}", "type")
        if event["type"] == "session.update" and isinstance(event.get("session"), dict):
            check_update(event["session"], self)
        problem = params.problem(RealtimeClientEventParam, without_nulls(event), "realtime")
        if problem:
            raise Refused("invalid_value", problem)
        getattr(self, "on_" + event["type"].replace(".", "_"))(event)

    def on_session_update(self, event: dict) -> None:
        """All of it, or nothing."""
        given = event["session"]
        check_tools(given.get("tools", []))
        audio = given.get("audio", {})
        kept = {**self.config["audio"]["input"], **audio.get("input", {})}
        if "turn_detection" in audio.get("input", {}) and kept["turn_detection"]:
            # What is not said is as it is by default, not as it was.
            usual = SEMANTIC if kept["turn_detection"].get("type") == "semantic_vad" else VAD
            kept["turn_detection"] = {**usual, **kept["turn_detection"]}
        output = {**self.config["audio"]["output"], **(audio.get("output") or {})}
        self.config.update({**given, "audio": {"input": kept, "output": output}})
        self.send("session.updated", session=self.config)

    def on_conversation_item_create(self, event: dict) -> None:
        item = {"id": self.fresh("item"), "object": "realtime.item", "status": "completed", **event["item"]}
        check_item(item, self.items)
        ours = item["type"] in ("function_call", "function_call_output")
        if item["type"] == "function_call_output":
            if self.calls.get(item["call_id"]) != "over":
                raise Refused("invalid_tool_call_id", f"Tool call ID '{item['call_id']}' not found in conversation.")
            self.answers.setdefault(item["call_id"], []).append(item["output"])
            self.note("tool", item["output"])
            plays.before_answer(self)
        elif item["type"] == "message" and item["role"] == "user":
            self.note("written", "".join(part.get("text") or "" for part in item["content"]))
        self.put(item, event.get("previous_item_id"))
        if not ours or self.provider.acks == "once":
            return self.acknowledge(item)
        if self.provider.acks == "twice":
            self.acknowledge(item)
            self.acknowledge(item)
        if self.provider.acks == "late":
            threading.Timer(0.5, self.acknowledge, [item]).start()
        return None

    def acknowledge(self, item: dict) -> None:
        for kind in ("added", "done"):
            self.send(f"conversation.item.{kind}", item=item, previous_item_id=self.before(item["id"]))

    def on_conversation_item_retrieve(self, event: dict) -> None:
        self.send("conversation.item.retrieved", item=self.find(event["item_id"], "retrieve"))

    def on_conversation_item_truncate(self, event: dict) -> None:
        item = self.find(event["item_id"], "truncate")
        check_truncation(event, item, self.sounded)
        for part in item["content"]:
            part.pop("transcript", None)
        fields = {name: event[name] for name in ("item_id", "content_index", "audio_end_ms")}
        self.send("conversation.item.truncated", **fields)

    def on_conversation_item_delete(self, event: dict) -> None:
        self.items.remove(self.find(event["item_id"], "delete"))
        self.send("conversation.item.deleted", item_id=event["item_id"])

    def find(self, id: str, verb: str) -> dict:
        for item in self.items:
            if item["id"] == id:
                return item
        raise Refused(f"item_{verb}_invalid_item_id", f"Item with item_id not found: {id}")

    def on_response_create(self, event: dict) -> None:
        self.respond(event.get("response", {}), event.get("event_id") or "")

    def on_response_cancel(self, event: dict) -> None:
        if not self.stop("client_cancelled", event.get("response_id")):
            raise Refused("response_cancel_not_active", "Cancellation failed: no active response found.")

    def on_input_audio_buffer_append(self, event: dict) -> None:
        vad = self.config["audio"]["input"]["turn_detection"]
        if len(event["audio"]) > LARGEST_AUDIO:
            raise Refused("invalid_value", "Audio is larger than 15 MiB.", "audio")
        try:
            heard = base64.b64decode(event["audio"], validate=True)
        except binascii.Error:
            raise Refused("invalid_value", "Invalid 'audio': expected base64.", "audio") from None
        if self.config["audio"]["input"]["format"]["type"] == PCMU and not (heard := unspoken(heard)):
            return
        if vad and not self.speaking and not sound.is_silent(heard):
            self.speaking = self.fresh("item")
            with self.lock:
                self.send("input_audio_buffer.speech_started", item_id=self.speaking, audio_start_ms=0)
                is_stopped = vad.get("interrupt_response", True) and self.stop("turn_detected")
            if is_stopped:
                self.wait(lambda: self.active is None)
        self.audio += heard
        words = sound.heard(self.audio, RATE)
        if self.speaking and self.transcripts == "streaming" and self.config["audio"]["input"]["transcription"]:
            # Of a word that is not over, nothing can be said.
            whole = re.findall(r"\S+\s+|\S+[.?!]$", words)
            self.transcribe_words(self.speaking, whole[self.heard :])
            self.heard = len(whole)
        if self.speaking and vad and words.rstrip().endswith((".", "?", "!")):
            self.send("input_audio_buffer.speech_stopped", item_id=self.speaking, audio_end_ms=1000)
            self.commit()
            if vad.get("create_response", True) and not self.active:
                self.respond({}, "turn detection")

    def on_input_audio_buffer_commit(self, _) -> None:
        if not self.audio:
            message = "Error committing input audio buffer: buffer too small. Expected at least 100ms of audio."
            raise Refused("input_audio_buffer_commit_empty", message)
        self.commit()

    def on_input_audio_buffer_clear(self, _) -> None:
        self.audio, self.speaking = b"", None
        self.send("input_audio_buffer.cleared")

    def commit(self) -> None:
        id, text = self.speaking or self.fresh("item"), sound.heard(self.audio, RATE).strip()
        self.audio, self.speaking = b"", None
        last = self.items[-1]["id"] if self.items else None
        self.send("input_audio_buffer.committed", item_id=id, previous_item_id=last)
        content = [{"type": "input_audio", "transcript": None}]
        item = {"id": id, "object": "realtime.item", "type": "message", "role": "user", "status": "completed"}
        self.add({**item, "content": content})
        self.send("conversation.item.done", item=self.items[-1], previous_item_id=last)
        content[0]["transcript"] = text
        self.note("caller", text)
        heard, self.heard = self.heard, 0
        if not self.config["audio"]["input"]["transcription"]:
            return
        words = re.findall(r"\S+\s*", text)[heard:]
        steps = {
            "before": [(0, words, True)],
            "streaming": [(0, words, True)],
            "after": [(AFTER_S, words, True)],
            "partial": [(AFTER_S, words, False), (LATE_S, [], True)],
            "late": [(LATE_S, words, True)],
            "twice": [(0, words, True), (LATE_S, [], True)],
            "never": [],
            "failed": [(AFTER_S, [], False)],
        }[self.transcripts]
        for seconds, some, is_final in steps:
            if seconds:
                threading.Timer(seconds, self.transcribe, [id, some, text if is_final else None]).start()
            else:
                self.transcribe(id, some, text)

    def transcribe(self, id: str, words: list[str], text: str | None) -> None:
        """`text`: the whole, if this is the end."""
        self.transcribe_words(id, words)
        if text is not None:
            seconds = {"type": "duration", "seconds": 1}
            self.send(f"{TRANSCRIPTION}.completed", item_id=id, content_index=0, transcript=text, usage=seconds)
        elif not words:
            error = {"type": "server_error", "code": "audio_unintelligible", "message": "The audio could not be transcribed."}
            self.send(f"{TRANSCRIPTION}.failed", item_id=id, content_index=0, error=error)

    def transcribe_words(self, id: str, words: list[str]) -> None:
        for word in words:
            self.send(f"{TRANSCRIPTION}.delta", item_id=id, content_index=0, delta=word)

    def break_off(self) -> None:
        """Ends without a word."""
        self.socket.socket.shutdown(SHUT_RDWR)

    def expire(self) -> None:
        if not self.closed:
            self.refuse("session_expired", "Your session hit the maximum duration.")
            self.socket.close(1001, "session_expired")

    def listen(self) -> None:
        end = threading.Timer(self.provider.lifetime_s, self.expire)
        end.daemon = True
        end.start()
        self.send("session.created", session=self.config)
        for text in self.socket:
            event = {}
            try:
                event = read(text)
                self.used = self.used or time.monotonic()
                self.received.append(event)
                self.hear(event)
            except Refused as refused:
                self.refuse(*refused.args, event_id=event.get("event_id"))

    def refuse(self, code: str | None, message: str, param: str | None = None, event_id: str | None = None) -> None:
        self.refused.append(code)
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": param}
        self.send("error", error={**error, "event_id": event_id})


class OpenAiLive:
    """Runs in a thread of the test."""

    def __init__(self, key: str | None = None, port: int = 0):
        self.key = key
        """The only one that it lets in; `None`: any."""
        self.lifetime_s = 3600.0
        self.acks = "once"
        """How often it says that it has a call or an output that it was sent: `once`, `twice`, `late`, `never`."""
        self.transcripts = "before"
        """When it tells what the caller said: `before` the response, `streaming` while they speak, `after` the response
        has begun, `partial` (its words then, the whole 2.5 s later), `late` (all of it 2.5 s later), `twice`, `never` or
        `failed`."""
        self.transcripts_of: dict[str, str] = {}
        """The same by play, for sessions at once."""
        self.speed = 1.0
        """Of those who talk at the pace of speech, and of their tools."""
        self.reported: set[str] = set()
        """Outputs and items that were answered by those who answer each once."""
        self.numbers = itertools.count(1)
        self.sessions: list[Session] = []
        self.keys: list[str] = []
        self.queries: list[dict] = []
        self.server = serve(self.talk, "127.0.0.1", port, max_size=None, process_request=self.judge)
        self.url = f"http://127.0.0.1:{self.server.socket.getsockname()[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def forget(self) -> None:
        self.acks, self.transcripts, self.transcripts_of = "once", "before", {}
        for seen in (self.sessions, self.keys, self.queries):
            seen.clear()

    def judge(self, _socket: ServerConnection, _request) -> None:
        """Accepts every upgrade, as OpenAI does."""

    def prepare(self, session: Session) -> None:
        """The session of a call, as who created it left it."""
        session.config["tools"] = [{"type": "function", "name": "lights", "parameters": {"type": "object"}}]

    def talk(self, socket: ServerConnection) -> None:
        asked = urlsplit(socket.request.path)
        query = parse_qs(asked.query)
        self.queries.append(query)
        self.keys.append(socket.request.headers.get("authorization", "").removeprefix("Bearer "))
        if asked.path != "/v1/realtime":
            return socket.close(1008, "no such route")
        session = Session(self, socket, query.get("model", ["gpt-realtime-2.1--call"])[0])
        session.call = query.get("call_id", [None])[0]
        if session.call:
            self.prepare(session)
        self.sessions.append(session)
        try:
            wrong = problem_of_connection(socket.request.headers, query, self.key)
            if wrong:
                session.refuse(*wrong)
                reason = ".".join(filter(None, ["invalid_request_error", wrong[0]]))
                return socket.close(CLOSES[wrong[0]], reason)
            session.listen()
        except ConnectionClosed:
            pass
        finally:
            session.closed = True
            with session.changed:
                session.changed.notify_all()
        return None

    def stop(self) -> None:
        self.server.shutdown()
