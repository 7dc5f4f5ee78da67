"""A response of the fake of OpenAI Realtime: what plays (live_openai_plays.py) are written with."""

import base64
import json
import re
from typing import TYPE_CHECKING

from provider.live_openai_rules import MS_PER_BYTE, spoken

if TYPE_CHECKING:
    from provider.live_openai import Session


class Stopped(Exception):
    """The response was cancelled."""


class Response:
    """One that runs, in a thread of its own. What plays are written with."""

    def __init__(self, session: "Session", asked: dict, why: str):
        self.session, self.asked, self.why = session, asked, why
        self.id = session.fresh("resp")
        self.aside = asked.get("conversation") == "none"
        self.output: list[dict] = []
        self.usage = None
        self.stopped: str | None = None
        """Why it was cancelled."""

    def object(self, status: str) -> dict:
        details = {"type": status, **({"reason": self.stopped} if self.stopped else {})}
        return {
            "object": "realtime.response", "id": self.id, "status": status, "output": list(self.output),
            "status_details": None if status == "in_progress" else details, "output_modalities": ["audio"],
            "conversation_id": None if self.aside else "conv_1", "metadata": self.asked.get("metadata"),
            "usage": self.usage, "max_output_tokens": "inf",
        }  # fmt: skip

    @property
    def tools(self) -> list[str]:
        found = self.asked.get("tools", self.session.config["tools"])
        return [] if self.asked.get("tool_choice") == "none" else [tool["name"] for tool in found]

    def send(self, kind: str, **fields) -> None:
        self.session.send(f"response.{kind}", response_id=self.id, **fields)

    def check(self) -> None:
        if self.stopped:
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Ends early if the response is cancelled."""
        self.session.wait(lambda: self.stopped, seconds)
        self.check()

    def begin(self, item: dict) -> dict:
        item = {"id": self.session.fresh("item"), "object": "realtime.item", "status": "in_progress", **item}
        self.send("output_item.added", output_index=len(self.output), item=item)
        if not self.aside:
            self.session.add(item)
        self.output.append(item)
        return item

    def end(self, item: dict, status: str = "completed") -> None:
        item["status"] = status
        if not self.aside:
            self.session.send("conversation.item.done", item=item, previous_item_id=self.session.before(item["id"]))
        self.send("output_item.done", output_index=self.output.index(item), item=item)

    def say(self, text: str, seconds: float = 0) -> None:
        item = self.begin({"type": "message", "role": "assistant", "content": []})
        place = {"item_id": item["id"], "output_index": self.output.index(item), "content_index": 0}
        self.send("content_part.added", part={"type": "audio", "transcript": ""}, **place)
        said = ""
        try:
            for word in re.findall(r"\S+\s*", text):
                audio = spoken(word, self.session.config["audio"]["output"]["format"])
                # Nothing of it comes after `speech_started`.
                with self.session.lock:
                    self.check()
                    self.send("output_audio_transcript.delta", delta=word, **place)
                    self.send("output_audio.delta", delta=base64.b64encode(audio).decode(), **place)
                said += word
                self.session.sounded[item["id"]] = len(said.encode()) * MS_PER_BYTE
                if seconds:
                    self.pause(seconds)
        finally:
            self.send("output_audio.done", **place)
            self.send("output_audio_transcript.done", transcript=said, **place)
            self.send("content_part.done", part={"type": "audio", "transcript": said}, **place)
            item["content"] = [{"type": "output_audio", "transcript": said}]
            self.session.note("agent", said)
            self.end(item, "incomplete" if self.stopped else "completed")

    def call(self, name: str, arguments: dict | str, call_id: str = "", status: str = "completed") -> str:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call_id = call_id or self.session.fresh("call")
        item = self.begin({"type": "function_call", "call_id": call_id, "name": name, "arguments": ""})
        place = {"item_id": item["id"], "output_index": self.output.index(item), "call_id": call_id}
        half = len(text) // 2
        for part in (text[:half], text[half:]):
            self.send("function_call_arguments.delta", delta=part, **place)
        self.send("function_call_arguments.done", arguments=text, name=name, **place)
        item["arguments"] = text
        self.end(item, status)
        return call_id
