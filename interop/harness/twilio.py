"""Twilio's side of a phone call, from its documents: webhooks and streams are signed, the caller is heard frame by frame,
and what comes back is played at the pace of speech, times `speed`. Anything that Twilio would warn of is noted as an
error. What people say is text: one character in each frame of 20 ms, and silence."""

import base64
import binascii
import hmac
import itertools
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from socket import create_connection
from xml.etree import ElementTree

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

FRAME_BYTES = 160
BYTES_PER_S = 8000
SILENCE = b"\xff"
LIMIT_S = 60
NUMBERS = itertools.count(1)


def sign(token: str, url: str, fields: dict[str, str] | None = None) -> str:
    signed = url + "".join(name + value for name, value in sorted((fields or {}).items()))
    return base64.b64encode(hmac.new(token.encode(), signed.encode(), "sha1").digest()).decode()


@dataclass
class Number:
    """A phone number whose webhook is set to a line of the gateway."""

    token: str
    public: str
    """URL of the line, as the world knows it: `https://gate.example/v1/telephony/twilio/desk`."""
    gateway: str
    """Where that leads to: `http://127.0.0.1:8655`."""
    host: str

    def local(self, url: str) -> str:
        return self.gateway + urllib.parse.urlsplit(url).path

    def open(self, url: str, headers: dict[str, str]) -> ClientConnection:
        """A stream to the gateway, under its public name."""
        gateway = urllib.parse.urlsplit(self.gateway)
        socket = create_connection((gateway.hostname, gateway.port), LIMIT_S)
        plain = url.replace("wss://", "ws://", 1)
        return connect(plain, sock=socket, additional_headers=headers, user_agent_header="Twilio.TmeWs/1.0", compression=None)

    def webhook(self, fields: dict[str, str], signature: str | None = None) -> tuple[int, str]:
        url = f"{self.public}/voice"
        headers = {"x-twilio-signature": signature or sign(self.token, url, fields), "host": self.host}
        request = urllib.request.Request(self.local(url), urllib.parse.urlencode(fields).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def ring(self, caller: str, speed: float = 20) -> "Call":
        """A call comes in, is answered, and its stream begins."""
        sid = f"CA{next(NUMBERS):032x}"
        fields = {"CallSid": sid, "AccountSid": "AC1", "From": caller, "To": "+15550100", "Direction": "inbound"}
        status, twiml = self.webhook(fields)
        assert status == 200, twiml
        stream = ElementTree.fromstring(twiml).find("Connect/Stream")
        assert stream is not None, twiml
        url = stream.attrib["url"]
        assert url.startswith("wss://") and "?" not in url, f"Twilio opens no stream at {url}"
        parameters = {one.attrib["name"]: one.attrib["value"] for one in stream.findall("Parameter")}
        return Call(self, sid, url, parameters, speed)


class Call:
    """A stream and who is at the phone."""

    def __init__(self, number: Number, sid: str, url: str, parameters: dict[str, str], speed: float):
        self.sid, self.stream, self.speed = sid, f"MZ{sid[2:]}", speed
        self.numbers, self.chunks = itertools.count(1), itertools.count(1)
        self.errors: list[str] = []
        self.clears = 0
        self.marks = 0
        """That came back."""
        self.buffer: list[bytes | str] = []
        """Audio that is not played yet, and names of marks."""
        self.played = b""
        self.closed: int | None = None
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.socket = number.open(url, {"x-twilio-signature": sign(number.token, url)})
        self.send("connected", protocol="Call", version="1.0.0")
        shape = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
        start = {"accountSid": "AC1", "streamSid": self.stream, "callSid": sid, "tracks": ["inbound"], "mediaFormat": shape}
        self.send("start", start={**start, "customParameters": parameters})
        for run in (self.listen, self.play):
            threading.Thread(target=run, daemon=True).start()

    def send(self, event: str, **fields) -> None:
        about = {} if event == "connected" else {"sequenceNumber": str(next(self.numbers)), "streamSid": self.stream}
        with self.lock:
            self.socket.send(json.dumps({"event": event, **about, **fields}))

    # The caller.

    def say(self, text: str) -> None:
        """Speaks, and is silent for a moment."""
        for byte in text.encode():
            self.frame(bytes([byte]).ljust(FRAME_BYTES, SILENCE))
        for _ in range(5):
            self.frame(SILENCE * FRAME_BYTES)

    def frame(self, audio: bytes) -> None:
        chunk = next(self.chunks)
        payload = base64.b64encode(audio).decode()
        self.send("media", media={"track": "inbound", "chunk": str(chunk), "timestamp": str(20 * chunk), "payload": payload})
        time.sleep(len(audio) / BYTES_PER_S / self.speed)

    def press(self, digits: str) -> None:
        for digit in digits:
            self.send("dtmf", dtmf={"track": "inbound_track", "digit": digit})

    def hang_up(self) -> None:
        self.send("stop", stop={"accountSid": "AC1", "callSid": self.sid})
        self.socket.close()

    # What Twilio does.

    @property
    def heard(self) -> str:
        return self.played.replace(SILENCE, b"").decode()

    def wait(self, test, what: str) -> None:
        with self.changed:
            met = self.changed.wait_for(lambda: test() or self.closed, LIMIT_S)
            assert met and test(), f"{what}: heard {self.heard!r}, closed {self.closed}, errors {self.errors}"

    def hears(self, text: str) -> None:
        self.wait(lambda: text in self.heard, f"waited for {text!r}")

    def listen(self) -> None:
        try:
            for text in self.socket:
                self.take(text)
        except ConnectionClosed:
            pass
        with self.changed:
            self.closed = self.socket.close_code or 1006
            self.changed.notify_all()

    def take(self, text: str | bytes) -> None:
        with self.changed:
            try:
                self.obey(json.loads(text) if isinstance(text, str) else None)
            except (KeyError, TypeError, ValueError, binascii.Error) as error:
                self.errors.append(f"31951: {error!r} in {text[:200]!r}")
            self.changed.notify_all()

    def obey(self, message: dict | None) -> None:
        if message is None:
            return self.errors.append("31950: a binary message")
        event = message["event"]
        if message["streamSid"] != self.stream:
            return self.errors.append(f"31951: the stream {message['streamSid']}")
        if event == "media":
            audio = base64.b64decode(message["media"]["payload"], validate=True)
            if not audio or audio.startswith(b"RIFF") or message.keys() - {"event", "streamSid", "media"}:
                self.errors.append(f"31951: {message}")
            self.buffer.append(audio)
        elif event == "mark":
            self.buffer.append(str(message["mark"]["name"]))
        elif event == "clear":
            self.clears += 1
            marks = [one for one in self.buffer if isinstance(one, str)]
            self.buffer.clear()
            for name in marks:
                self.return_mark(name)
        else:
            self.errors.append(f"31951: unknown event {event}")
        return None

    def return_mark(self, name: str) -> None:
        self.marks += 1
        try:
            self.send("mark", mark={"name": name})
        except ConnectionClosed:
            self.closed = 1006

    def play(self) -> None:
        """Frame by frame, as long as the call lasts."""
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.buffer or self.closed)
                if self.closed:
                    return
                first = self.buffer.pop(0)
                if isinstance(first, str):
                    self.return_mark(first)
                    continue
                frame, rest = first[:FRAME_BYTES], first[FRAME_BYTES:]
                if rest:
                    self.buffer.insert(0, rest)
                self.played += frame
                self.changed.notify_all()
            time.sleep(len(frame) / BYTES_PER_S / self.speed)
