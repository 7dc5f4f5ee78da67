"""A caller with a script: speaks its lines in real time, plays what comes back, interrupts, and records both sides."""

import asyncio
import base64
import json
import time
import wave
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from websockets.asyncio.client import connect

from voice.speech import FRAME, FRAME_MS, RATE

SILENCE = np.zeros(FRAME, np.int16)
PAUSE_FRAMES = 40
"""A caller lets the other one finish."""
PATIENCE_S = 60


@dataclass
class Line:
    text: str
    audio: np.ndarray
    replies: int = 1
    """How often the agent speaks to it before the next line may begin."""
    interrupts_after_frames: int | None = None
    """Spoken while the agent speaks, after so much of that; else after it."""


@dataclass
class Spoken:
    """What was heard of one answer, by frames of the recording."""

    line: int
    start: int
    end: int
    transcript: str = ""
    cut: bool = False


class Caller:
    def __init__(self, url: str, script: list[Line], say):
        self.url = url
        self.script = script
        self.say = say
        self.began = time.monotonic()
        self.mine: list[np.ndarray] = []
        self.theirs: list[np.ndarray] = []
        self.spoken: list[Spoken] = []
        self.heard_as: dict[int, str] = {}
        self.silence_ms: dict[int, float] = {}
        """From the end of a line to the first sound of the answer."""
        self.leaks: list[str] = []
        self._line = -1
        self._line_ended: int | None = None
        self._playing: deque[tuple[str, np.ndarray]] = deque()
        self._item: str | None = None
        self._quiet = 0
        self._transcripts: dict[str, str] = {}
        self._by_item: dict[str, Spoken] = {}

    async def run(self) -> None:
        async with connect(self.url, max_size=16 << 20) as socket:
            audio = {
                "input": {
                    "format": {"type": "audio/pcm", "rate": RATE},
                    "transcription": {"model": "gpt-4o-transcribe"},
                    "turn_detection": {"type": "server_vad", "create_response": True, "interrupt_response": True},
                },
                "output": {"format": {"type": "audio/pcm", "rate": RATE}},
            }
            session = {"type": "realtime", "audio": audio, "instructions": "Answer in one sentence."}
            await socket.send(json.dumps({"type": "session.update", "session": session}))
            listening = asyncio.create_task(self._listen(socket))
            try:
                await self._converse(socket)
            finally:
                listening.cancel()
                await asyncio.wait([listening])
        if not listening.cancelled() and listening.exception():
            raise listening.exception()

    def record(self, path: Path) -> None:
        """The caller on the left, the agent on the right."""
        both = np.stack([np.concatenate(self.mine), np.concatenate(self.theirs)], axis=1)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(2)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(both.tobytes())

    def heard(self, spoken: Spoken) -> np.ndarray:
        return np.concatenate(self.theirs[spoken.start : spoken.end])

    async def _converse(self, socket) -> None:
        """One frame out and one frame played, fifty times a second."""
        next_frame = time.monotonic()
        while not self._is_over():
            speaking = self._speaking()
            frame = speaking.popleft() if speaking else SILENCE
            if speaking is not None and not speaking and self._line_ended is None:
                self._line_ended = len(self.mine)
            self.mine.append(frame)
            self.theirs.append(self._play())
            event = {"type": "input_audio_buffer.append", "audio": base64.b64encode(frame.tobytes()).decode()}
            await socket.send(json.dumps(event))
            next_frame += FRAME_MS / 1000
            await asyncio.sleep(max(0.0, next_frame - time.monotonic()))

    def _speaking(self) -> deque | None:
        """What is left of the line that is spoken; begins the next one when its time has come."""
        following = self._line + 1
        if self._line < 0 or (self._line_ended is not None and following < len(self.script) and self._may_go_on()):
            self._line, self._line_ended, self._quiet = following, None, 0
            line = self.script[following]
            count = -(-len(line.audio) // FRAME)
            padded = np.pad(line.audio, (0, count * FRAME - len(line.audio)))
            self._frames = deque(padded.reshape(count, FRAME))
            self.say("caller", line.text)
        return self._frames

    def _may_go_on(self) -> bool:
        after = self.script[self._line + 1].interrupts_after_frames
        replies = [spoken for spoken in self.spoken if spoken.line == self._line]
        if after is not None:
            return bool(replies) and replies[-1].end - replies[-1].start >= after
        self._patience()
        return self._replied(replies)

    def _replied(self, replies: list[Spoken]) -> bool:
        return len(replies) >= self.script[self._line].replies and self._quiet >= PAUSE_FRAMES

    def _is_over(self) -> bool:
        if self._line + 1 < len(self.script) or self._line_ended is None:
            return False
        self._patience()
        return self._replied([spoken for spoken in self.spoken if spoken.line == self._line])

    def _patience(self) -> None:
        if (len(self.mine) - self._line_ended) * FRAME_MS > PATIENCE_S * 1000:
            raise AssertionError(f"nobody answered {self.script[self._line].text!r} within {PATIENCE_S} s")

    def _play(self) -> np.ndarray:
        if not self._playing:
            self._quiet += 1
            return SILENCE
        self._quiet = 0
        item, frame = self._playing.popleft()
        now = len(self.theirs)
        spoken = self._by_item.get(item)
        if spoken is None:
            spoken = self._by_item[item] = Spoken(self._line, now, now)
            self.spoken.append(spoken)
            if self._line_ended is not None:
                self.silence_ms.setdefault(self._line, (now - self._line_ended) * FRAME_MS)
            self.say("agent", self._transcripts.get(item, "…"))
        spoken.end = now + 1
        spoken.transcript = self._transcripts.get(item, "")
        return frame

    async def _listen(self, socket) -> None:
        rest = np.zeros(0, np.int16)
        async for message in socket:
            event = json.loads(message)
            kind = event["type"]
            if "function_call" in message or "search_archives" in message:
                self.leaks.append(message[:200])
            if kind == "response.output_audio.delta":
                samples = np.concatenate([rest, np.frombuffer(base64.b64decode(event["delta"]), np.int16)])
                whole = len(samples) // FRAME
                for frame in samples[: whole * FRAME].reshape(whole, FRAME):
                    self._playing.append((event["item_id"], frame))
                rest = samples[whole * FRAME :]
            elif kind == "response.output_audio_transcript.delta":
                item = event["item_id"]
                self._transcripts[item] = self._transcripts.get(item, "") + event["delta"]
            elif kind == "input_audio_buffer.speech_started":
                await self._be_interrupted(socket)
                rest = rest[:0]
            elif kind == "conversation.item.input_audio_transcription.completed":
                self.heard_as[self._line] = event["transcript"]
            elif kind == "error":
                raise AssertionError(f"the gateway says: {event['error']}")

    async def _be_interrupted(self, socket) -> None:
        """The caller speaks: what was not played yet never will be."""
        if not self._playing:
            return
        item = self._playing[0][0]
        self._playing.clear()
        spoken = self._by_item.get(item)
        if spoken is not None:
            spoken.cut = True
            ms = (spoken.end - spoken.start) * FRAME_MS
            event = {"type": "conversation.item.truncate", "item_id": item, "content_index": 0, "audio_end_ms": ms}
            await socket.send(json.dumps(event))
            self.say("agent", "(stops)")
