"""What live sessions use: counted as their providers count, two keys at once, and limits that end a session between two
answers. The providers are those of the other tests of live sessions."""

import base64
import json
import urllib.request

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from harness.gateway import Gateway
from harness.process import wait_for
from provider.live_deepgram import Deepgram
from provider.live_gemini import GeminiLive
from provider.live_gpt import GptLive
from provider.live_openai import OpenAiLive

ANN, BEN, TOM = (f"key-of-{name}-0123456789abcdef" for name in ("ann", "ben", "tom"))
GEMINI = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


class Place:
    def __init__(self, folder):
        self.openai, self.gemini, self.gpt, self.deepgram = OpenAiLive(), GeminiLive(), GptLive(), Deepgram()
        config = {
            "providers": {
                "oa": {"kind": "openai", "base_url": self.openai.url, "api_key": "x"},
                "google": {"kind": "gemini", "base_url": self.gemini.url, "api_key": "x"},
                "live": {"kind": "openai", "base_url": self.gpt.url, "api_key": "x"},
                "dg": {"kind": "deepgram", "base_url": self.deepgram.url, "api_key": "x"},
            },
            "models": {
                "voice": {"provider": "oa", "api": "realtime", "id": "gpt-realtime-2.1--echo"},
                "gem": {"provider": "google", "api": "realtime", "id": "gemini-3.8-live--echo"},
                "duplex": {"provider": "live", "api": "realtime", "id": "gpt-live-1"},
                "agent": {"provider": "dg", "api": "realtime", "id": "gpt-4o-mini"},
            },
            "prices": {
                "voice": {"input": 4, "output": 24, "audio_input": 32, "audio_output": 64},
                "agent": {"input": 0, "output": 0, "per_minute": 0.075},
            },
            "agents": {
                "caller": {"tools": ["roll"], "auto_execute": ["roll"], "models": ["voice", "gem", "duplex", "agent"]},
            },
            "default_agent": "caller",
            "keys": [
                {"name": "ann", "key": ANN, "model_limits": ["2 requests/day"]},
                {"name": "ben", "key": BEN, "model_limits": ["3 requests/day"]},
                {"name": "tom", "key": TOM},
            ],
        }
        self.gateway = Gateway(folder, config)

    def connect(self, path: str, key: str):
        headers = {"authorization": f"Bearer {key}"}
        return connect(self.gateway.url.replace("http", "ws", 1) + path, additional_headers=headers)

    def usage(self, by: str) -> dict:
        request = urllib.request.Request(
            f"{self.gateway.url}/api/usage?by={by}",
            headers={"authorization": f"Bearer {self.gateway.admin_token()}"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return {row["name"]: row for row in json.load(answer)["totals"]}

    def stop(self) -> None:
        self.gateway.stop()
        for provider in (self.openai, self.gemini, self.gpt, self.deepgram):
            provider.stop()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("usage"))
    yield place
    place.stop()


def until(socket, found) -> dict:
    while True:
        text = socket.recv(timeout=20)
        event = json.loads(text) if isinstance(text, str) or text[:1] == b"{" else {}
        if found(event):
            return event


def ask(socket, text: str) -> dict:
    """Text to OpenAI Realtime, and the end of its answer."""
    content = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "user", "content": content}
    for event in ({"type": "conversation.item.create", "item": item}, {"type": "response.create"}):
        socket.send(json.dumps(event))
    return until(socket, lambda event: event["type"] == "response.done")


def test_two_keys_at_once_end_at_their_own_limits(place):
    ann, ben = (place.connect("/v1/realtime?model=voice", key) for key in (ANN, BEN))
    used = []
    for _ in range(2):
        used += [ask(socket, "hello there")["response"]["usage"] for socket in (ann, ben)]
    for socket, limit in ((ann, 2), (ben, 3)):
        if limit == 3:
            used.append(ask(socket, "hello again")["response"]["usage"])
        error = until(socket, lambda event: event["type"] == "error")
        assert error["error"]["code"] == "model_limit_exceeded", error
        with pytest.raises(ConnectionClosed) as closed:
            until(socket, lambda event: False)
        assert closed.value.rcvd.code == 1013
        assert f"limit of {limit} requests/day" in closed.value.rcvd.reason
    dialled = len(place.openai.sessions)
    for key in (ANN, BEN):
        with pytest.raises(InvalidStatus) as refused:
            place.connect("/v1/realtime?model=voice", key)
        assert refused.value.response.status_code == 429
        assert int(refused.value.response.headers["retry-after"]) > 0
    assert len(place.openai.sessions) == dialled
    row = place.usage("model")["voice"]
    assert row["requests"] == 5
    assert row["input_tokens"] == sum(it["input_tokens"] for it in used)
    spoken = sum(it["output_token_details"]["audio_tokens"] for it in used)
    assert row["audio_output_tokens"] == spoken > 0
    assert row["cost_usd"] == pytest.approx((row["input_tokens"] * 4 + spoken * 64) / 1e6)
    by_key = place.usage("key")
    assert (by_key["key:ann"]["requests"], by_key["key:ben"]["requests"]) == (2, 3)


def test_gemini_is_counted_with_its_thoughts(place):
    with place.connect(GEMINI, TOM) as socket:
        setup = {"model": "models/gem", "generationConfig": {"responseModalities": ["AUDIO"]}}
        socket.send(json.dumps({"setup": setup}))
        until(socket, lambda event: "setupComplete" in event)
        socket.send(json.dumps({"realtimeInput": {"text": "hello"}}))
        until(socket, lambda event: event.get("serverContent", {}).get("turnComplete"))
    row = place.usage("model")["gem"]
    assert (row["requests"], row["input_tokens"], row["output_tokens"]) == (1, 10, 11), row
    assert (row["audio_input_tokens"], row["audio_output_tokens"]) == (7, 8)
    assert row["unpriced_requests"] == 1


def test_sessions_without_counts_are_charged_by_the_clock(place):
    with place.connect("/v1/live/sessions", TOM) as socket:
        delegation = {"type": "responses", "responses": {"model": "gpt-5.4", "tools": []}}
        session = {"model": "duplex", "delegation": delegation}
        socket.send(json.dumps({"type": "session.start", "session": session}))
        until(socket, lambda event: event["type"] == "session.started")
        said = base64.b64encode(b"roll").decode()
        socket.send(json.dumps({"type": "session.input_audio.append", "audio": said}))
        until(socket, lambda event: event["type"] == "session.usage.updated")
    wait_for("usage", lambda: {"duplex", "gpt-5.4"} <= place.usage("model").keys(), 30)
    rows = place.usage("model")
    duplex = rows["duplex"]
    assert 0 < duplex["live_seconds"] != 7, "by the clock of the gateway"
    assert duplex["cost_usd"] == pytest.approx(duplex["live_seconds"] * 0.05 / 60, rel=0.01)
    # The model behind the voice has a row of its own.
    assert rows["gpt-5.4"]["input_tokens"] % 200 == 0 < rows["gpt-5.4"]["input_tokens"]
