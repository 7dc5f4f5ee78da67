"""A realtime provider with real ears and a real voice: OpenAI Realtime as far as one conversation needs it.

It finds turns by loudness, sends transcripts, calls tools that its session declares, and speaks. Whatever the other
side does that the real one would refuse is refused, and remembered in `complaints`.
"""

import asyncio
import base64
import itertools
import json
import time
from dataclasses import dataclass, field

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from voice import mind
from voice.ears import Ears
from voice.speech import RATE, Speech

CHUNK = RATE // 10
"""Samples in one audio delta."""
CHUNK_TAKES_S = 0.04
"""Speech is made faster than it is played."""


@dataclass
class ToolCall:
    """One of ours, as seen by the provider."""

    call: mind.Call
    asked: float
    answered: list[tuple[float, str]] = field(default_factory=list)

    def round_trip_ms(self) -> float:
        return (self.answered[0][0] - self.asked) * 1000


class Provider:
    def __init__(self, speech: Speech):
        self.speech = speech
        self.calls: dict[str, ToolCall] = {}
        self.tool_lists: list[list[str]] = []
        self.complaints: list[str] = []
        self._server = None

    async def __aenter__(self) -> str:
        self._server = await serve(self._talk, "127.0.0.1", 0, max_size=16 << 20)
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    async def __aexit__(self, *_) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _talk(self, socket: ServerConnection) -> None:
        session = Session(self, socket)
        try:
            await session.run()
        except ConnectionClosed:
            pass
        except Exception as error:  # noqa: BLE001 - the demo has to tell, not this task
            self.complaints.append(f"{type(error).__name__}: {error}")
            raise


class Session:
    def __init__(self, provider: Provider, socket: ServerConnection):
        self.provider = provider
        self.socket = socket
        self.tasks: set[asyncio.Task] = set()
        self.ids = itertools.count(1)
        self.ears = Ears()
        self.config = {"type": "realtime", "object": "realtime.session", "id": "sess_1", "tools": [], "instructions": ""}
        self.items: list[dict] = []
        self.reported: set[str] = set()
        self.heard = ""
        self.response: asyncio.Task | None = None

    async def run(self) -> None:
        await self.send("session.created", session=self.config)
        try:
            async for message in self.socket:
                await self.take(json.loads(message))
        finally:
            for task in self.tasks:
                task.cancel()

    async def take(self, event: dict) -> None:
        match event.get("type"):
            case "session.update":
                self.config |= event["session"]
                self.provider.tool_lists.append([tool["name"] for tool in self.config["tools"]])
                await self.send("session.updated", session=self.config)
            case "input_audio_buffer.append":
                await self.listen(np.frombuffer(base64.b64decode(event["audio"]), np.int16))
            case "conversation.item.create":
                await self.take_item(event["item"])
            case "conversation.item.truncate":
                facts = {key: event[key] for key in ("item_id", "content_index", "audio_end_ms")}
                await self.send("conversation.item.truncated", **facts)
            case "response.create":
                await self.respond_now()
            case "response.cancel":
                await self.cancel("client_cancelled")
            case other:
                await self.refuse("invalid_value", f"unknown event {other!r}")

    async def listen(self, samples: np.ndarray) -> None:
        for heard in self.ears.hear(samples):
            if heard.utterance is None:
                await self.send("input_audio_buffer.speech_started", audio_start_ms=heard.at_ms, item_id=heard.item)
                await self.cancel("turn_detected")
            else:
                await self.send("input_audio_buffer.speech_stopped", audio_end_ms=heard.at_ms, item_id=heard.item)
                self.spawn(self.take_turn(heard.item, heard.utterance))

    async def take_turn(self, item_id: str, utterance: np.ndarray) -> None:
        before = self.items[-1]["id"] if self.items else None
        await self.send("input_audio_buffer.committed", item_id=item_id, previous_item_id=before)
        content = [{"type": "input_audio", "transcript": None}]
        await self.add({"id": item_id, "type": "message", "role": "user", "status": "completed", "content": content})
        self.heard = await asyncio.to_thread(self.provider.speech.hear, utterance)
        place = {"item_id": item_id, "content_index": 0}
        await self.send("conversation.item.input_audio_transcription.delta", **place, delta=self.heard)
        usage = {"type": "duration", "seconds": len(utterance) / RATE}
        name = "conversation.item.input_audio_transcription.completed"
        await self.send(name, **place, transcript=self.heard, usage=usage)
        # A model thinks for a moment; tools that the words call for may come meanwhile.
        await asyncio.sleep(0.3)
        if self.response is None:
            self.respond(lambda: mind.answer(self.heard, {tool["name"] for tool in self.config["tools"]}))

    async def take_item(self, item: dict) -> None:
        item = {"id": f"item_{next(self.ids)}", "status": "completed", **item}
        if item["type"] == "function_call_output":
            call = self.provider.calls.get(item["call_id"])
            if call is None:
                return await self.refuse("invalid_tool_call_id", f"no call {item['call_id']!r}")
            if call.answered:
                return await self.refuse("invalid_value", f"call {item['call_id']!r} was answered before")
            call.answered.append((time.monotonic(), item["output"]))
        elif item["type"] == "function_call":
            # Somebody adds a call that this model never made, to tell a result that came late.
            self.provider.calls[item["call_id"]] = ToolCall(mind.Call(item["name"], {}), time.monotonic())
        await self.add(item)

    async def respond_now(self) -> None:
        if self.response is not None:
            return await self.refuse("conversation_already_has_active_response", "one response at a time")
        self.respond(self.report)

    def report(self) -> str:
        """Of the newest item with a result that was not spoken of yet."""
        for item in reversed(self.items):
            told = mind.object_in(text_of(item)) if item["id"] not in self.reported else None
            if told is not None:
                self.reported.add(item["id"])
                return mind.report(told)
        return "I have nothing to say to that."

    def respond(self, think) -> None:
        self.response = self.spawn(Response(self).run(think))

    async def cancel(self, reason: str) -> None:
        running, self.response = self.response, None
        if running is not None:
            running.cancel(reason)
            await asyncio.wait([running])

    async def add(self, item: dict) -> None:
        before = self.items[-1]["id"] if self.items else None
        self.items.append(item)
        await self.send("conversation.item.added", item=item, previous_item_id=before)
        await self.send("conversation.item.done", item=item, previous_item_id=before)

    async def refuse(self, code: str, message: str) -> None:
        self.provider.complaints.append(f"{code}: {message}")
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": None, "event_id": None}
        await self.send("error", error=error)

    async def send(self, kind: str, **fields) -> None:
        await self.socket.send(json.dumps({"type": kind, "event_id": f"event_{next(self.ids)}", **fields}))

    def spawn(self, work) -> asyncio.Task:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task


class Response:
    """One answer of the model's: a tool call, or speech."""

    def __init__(self, session: Session):
        self.session = session
        self.id = f"resp_{next(session.ids)}"
        self.item = {"id": f"item_{next(session.ids)}", "object": "realtime.item", "status": "in_progress"}
        self.output: list[dict] = []

    async def run(self, think) -> None:
        await self.send("response.created", response=self.told("in_progress"))
        try:
            decided = think()
            await (self.call(decided) if isinstance(decided, mind.Call) else self.say(decided))
        except asyncio.CancelledError as cancelled:
            details = {"type": "cancelled", "reason": str(cancelled)}
            self.item["status"] = "incomplete"
            await self.send("response.done", response=self.told("cancelled") | {"status_details": details})
            return
        if self.session.response is asyncio.current_task():
            self.session.response = None
        await self.send("response.done", response=self.told("completed"))

    async def call(self, call: mind.Call) -> None:
        call_id = f"call_{next(self.session.ids)}"
        self.item |= {"type": "function_call", "call_id": call_id, "name": call.name, "arguments": ""}
        place = {"response_id": self.id, "item_id": self.item["id"], "output_index": 0, "call_id": call_id}
        await self.begin()
        arguments = json.dumps(call.arguments)
        await self.send("response.function_call_arguments.delta", **place, delta=arguments)
        await self.send("response.function_call_arguments.done", **place, name=call.name, arguments=arguments)
        self.item |= {"status": "completed", "arguments": arguments}
        self.session.provider.calls[call_id] = ToolCall(call, time.monotonic())
        await self.end()

    async def say(self, text: str) -> None:
        part = {"type": "audio", "transcript": ""}
        self.item |= {"type": "message", "role": "assistant", "content": []}
        place = {"response_id": self.id, "item_id": self.item["id"], "output_index": 0, "content_index": 0}
        await self.begin()
        await self.send("response.content_part.added", **place, part=part)
        await self.send("response.output_audio_transcript.delta", **place, delta=text)
        samples = await asyncio.to_thread(self.session.provider.speech.speak, text)
        for start in range(0, len(samples), CHUNK):
            delta = base64.b64encode(samples[start : start + CHUNK].tobytes()).decode()
            await self.send("response.output_audio.delta", **place, delta=delta)
            await asyncio.sleep(CHUNK_TAKES_S)
        await self.send("response.output_audio.done", **place)
        await self.send("response.output_audio_transcript.done", **place, transcript=text)
        part = {"type": "audio", "transcript": text}
        await self.send("response.content_part.done", **place, part=part)
        self.item |= {"status": "completed", "content": [{"type": "output_audio", "transcript": text}]}
        await self.end()

    async def begin(self) -> None:
        self.output.append(self.item)
        await self.send("response.output_item.added", response_id=self.id, output_index=0, item=self.item)

    async def end(self) -> None:
        await self.send("response.output_item.done", response_id=self.id, output_index=0, item=self.item)
        await self.session.add(self.item)

    def told(self, status: str) -> dict:
        details = {"object": "realtime.response", "conversation_id": "conv_1", "output_modalities": ["audio"]}
        return {"id": self.id, "status": status, "output": self.output, "status_details": None, **details}

    async def send(self, kind: str, **fields) -> None:
        await self.session.send(kind, **fields)


def text_of(item: dict) -> str:
    if item["type"] == "function_call_output":
        return item["output"]
    parts = item.get("content") or []
    return " ".join(part.get("text") or "" for part in parts if isinstance(part, dict))
