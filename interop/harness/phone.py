"""A caller whose microphone never stops, at OpenAI Realtime and at Gemini Live: a frame of a tenth of a second at a time, which
is a character of what is said, or silence. What comes back is played; when the provider hears the caller, it is not."""

import base64
import json
import threading
from collections import deque

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from harness import sound
from harness.timeline import SOUND_S, Clock, Ear, Recording, Segment

LIMIT_S = 90
BREATH_S = 0.3
MU_LAW_BYTES = 800
MU_LAW_SILENCE = b"\xff"
MS_OF_SOUND = 100


class Phone:
    """One call. The kind of provider is that of the subclass."""

    path = ""

    def __init__(self, name: str, url: str, key: str, model: str, clock: Clock):
        self.name, self.clock, self.ear = name, clock, Ear(clock)
        self.model, self.lock = model, threading.Lock()
        self.letters: deque[tuple[Segment, str]] = deque()
        """That are to be spoken."""
        self.spoken: list[Segment] = []
        self.answers: list[str] = []
        """What has to be heard, in order, of each answer at least the beginning."""
        self.errors: list[str] = []
        self.raw: list[str] = []
        self.closed: int | None = None
        self.is_ready, self.is_over = threading.Event(), threading.Event()
        headers = {"authorization": f"Bearer {key}"}
        socket_url = url.replace("http", "ws", 1) + self.path.format(model=model)
        self.socket = connect(socket_url, additional_headers=headers, max_size=None, compression=None)
        for run in (self.listen, self.speak):
            threading.Thread(target=run, daemon=True).start()
        self.begin()
        assert self.is_ready.wait(LIMIT_S), self.raw

    # The caller.

    def say(self, text: str) -> Segment:
        """Speaks at once, and returns when it is said."""
        segment = Segment("caller", 0, 0, "")
        with self.lock:
            self.letters.extend((segment, letter) for letter in text)
        self.clock.sleep(len(text) * SOUND_S)
        while segment.text != text:
            assert self.closed is None, f"{self.name}: closed with {self.closed}"
            self.clock.sleep(SOUND_S)
        return segment

    def ask(self, text: str, *answers: str) -> None:
        """Speaks, and listens until these answers have been heard after it."""
        before = self.clock.now()
        self.say(text)
        for answer in answers:
            self.hear(answer, before)

    def hear(self, answer: str, since: float) -> None:
        """And takes a breath."""
        self.answers.append(answer)
        self.ear.wait_for(answer, since, LIMIT_S)
        self.clock.sleep(BREATH_S)

    def interrupt(self, request: str, answer: str, heard: str, text: str) -> None:
        """Speaks into an answer when this much of it was heard."""
        before = self.clock.now()
        self.say(request)
        self.answers.append(answer)
        self.ear.wait_for(heard, before, LIMIT_S)
        self.ask(text, f"You said: {text}")

    def speak(self) -> None:
        """The microphone."""
        self.is_ready.wait(LIMIT_S)
        due = self.clock.now()
        try:
            while not self.is_over.is_set():
                self.send_audio(self.next_letter())
                # After a moment in which the machine was busy, what was missed is not sent in a hurry.
                due = max(due + SOUND_S, self.clock.now() - SOUND_S)
                self.clock.sleep_until(due)
        except ConnectionClosed:
            pass

    def next_letter(self) -> str | None:
        with self.lock:
            if not self.letters:
                return None
            segment, letter = self.letters.popleft()
        now = self.clock.now()
        if not segment.text:
            segment.start = now
            self.spoken.append(segment)
        segment.text += letter
        segment.end = now + SOUND_S
        return letter

    def hang_up(self) -> None:
        self.is_over.set()
        self.socket.close()

    def recording(self) -> Recording:
        segments = sorted([*self.spoken, *self.ear.segments()], key=lambda segment: segment.start)
        ear = self.ear
        return Recording(self.name, self.clock.speed, segments, ear.cuts, ear.late, raw="\n".join(self.raw), errors=self.errors)

    # The socket.

    def send(self, message: dict) -> None:
        self.socket.send(json.dumps(message))

    def listen(self) -> None:
        try:
            for text in self.socket:
                message = json.loads(text)
                if not self.take(message):
                    self.raw.append(json.dumps(message))
        except ConnectionClosed:
            pass
        self.closed = self.socket.close_code or 1006

    def begin(self) -> None:
        raise NotImplementedError

    def send_audio(self, letter: str | None) -> None:
        raise NotImplementedError

    def take(self, message: dict) -> bool:
        """Whether it was nothing but sound."""
        raise NotImplementedError


class OpenAiPhone(Phone):
    path = "/v1/realtime?model={model}"
    playing = ""
    """The item that is heard."""

    def begin(self) -> None:
        self.items: dict[str, str] = {}
        format = {"type": "audio/pcmu"}
        audio = {"input": {"format": format, "transcription": {"model": "whisper-1"}}, "output": {"format": format}}
        self.send({"type": "session.update", "session": {"type": "realtime", "audio": audio}})

    def send_audio(self, letter: str | None) -> None:
        frame = (letter or "").encode().ljust(MU_LAW_BYTES, MU_LAW_SILENCE)
        self.send({"type": "input_audio_buffer.append", "audio": base64.b64encode(frame).decode()})

    def take(self, message: dict) -> bool:
        kind = message["type"]
        if kind == "response.output_audio.delta":
            text = base64.b64decode(message["delta"]).replace(MU_LAW_SILENCE, b"").decode()
            self.ear.play(message["item_id"], text)
            return True
        if kind == "input_audio_buffer.speech_started" and (cut := self.ear.cut()):
            heard_ms = self.ear.heard_of(cut.answer) * MS_OF_SOUND
            self.send({"type": "conversation.item.truncate", "item_id": cut.answer, "content_index": 0, "audio_end_ms": heard_ms})
        if kind == "session.updated":
            self.is_ready.set()
        if kind == "error":
            self.errors.append(f"{message['error'].get('code')}: {message['error'].get('message')}")
        return False


class GeminiPhone(Phone):
    path = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    rate = 16_000

    def begin(self) -> None:
        self.turn = 0
        setup = {
            "model": f"models/{self.model}", "generationConfig": {"responseModalities": ["AUDIO"]},
            "inputAudioTranscription": {}, "outputAudioTranscription": {},
        }  # fmt: skip
        self.send({"setup": setup})

    def send_audio(self, letter: str | None) -> None:
        frame = sound.level(letter.encode()[0], self.rate) if letter else sound.silence(self.rate)
        audio = {"data": base64.b64encode(frame).decode(), "mimeType": f"audio/pcm;rate={self.rate}"}
        self.send({"realtimeInput": {"audio": audio}})

    def take(self, message: dict) -> bool:
        content = message.get("serverContent", {})
        parts = content.get("modelTurn", {}).get("parts", [])
        for part in parts:
            self.ear.play(str(self.turn), base64.b64decode(part["inlineData"]["data"]).decode())
        if content.get("interrupted"):
            self.ear.cut()
        if content.get("turnComplete"):
            self.turn += 1
        if "setupComplete" in message:
            self.is_ready.set()
        if "error" in message:
            self.errors.append(json.dumps(message["error"]))
        return bool(parts)
