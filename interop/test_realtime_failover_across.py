"""Live sessions whose provider dies or refuses them, and whose next model speaks another protocol: clients of OpenAI
Realtime and of Gemini Live, before strict fakes of both providers, in both directions."""

import asyncio
import json
import subprocess
import sys
import time

import pytest
from openai import AsyncOpenAI
from websockets.sync.client import connect

from harness.gateway import Gateway
from harness.paths import INTEROP
from harness.process import wait_for
from provider.live_gemini import GeminiLive
from provider.live_openai import OpenAiLive

KEYS = {"ada": "key-of-ada-0123456789", "bob": "key-of-bob-0123456789"}
SECRET = "secret-of-provider-0123456789"
NOTICE = "One moment, please."
PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
LIMIT_S = 60
MODELS = {"openai": "gpt-realtime-2.1--echo", "gemini": "gemini-3.8-live--echo"}
KINDS = pytest.mark.parametrize("first", ["openai", "gemini"])
OTHER = {"openai": "gemini", "gemini": "openai"}
FAKES = {"openai": OpenAiLive, "gemini": GeminiLive}


class OpenAiTalk:
    """OpenAI's own client in the middle of a session, in a thread of its own loop."""

    def __init__(self, running: Gateway, who: str, model: str):
        self.loop = asyncio.new_event_loop()
        client = AsyncOpenAI(api_key=KEYS[who], base_url=f"{running.url}/v1")
        self.connection = self.loop.run_until_complete(client.realtime.connect(model=model).enter())
        self.kinds, self.errors = [], []
        session = {"type": "realtime", "instructions": "Be kind.", "audio": {"input": {"transcription": {"model": "whisper-1"}}}}
        self.loop.run_until_complete(self.connection.session.update(session=session))

    def say(self, text: str) -> str:
        return self.loop.run_until_complete(self._say(text))

    async def _say(self, text: str) -> str:
        content = [{"type": "input_text", "text": text}]
        await self.connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        await self.connection.response.create()
        return await self._listen()

    def listen(self) -> str:
        return self.loop.run_until_complete(self._listen())

    async def _listen(self) -> str:
        said = ""
        while True:
            event = await asyncio.wait_for(self.connection.recv(), LIMIT_S)
            self.kinds.append(event.type)
            if event.type == "error":
                self.errors.append(event.error.code)
            if event.type == "response.output_audio_transcript.done":
                said = event.transcript
            if event.type == "response.done" and event.response.status == "completed":
                return said

    @property
    def beginnings(self) -> int:
        return self.kinds.count("session.created")

    def close(self) -> None:
        self.loop.run_until_complete(self.connection.close())
        self.loop.close()


class GeminiTalk:
    """A client of Gemini Live."""

    def __init__(self, running: Gateway, who: str, model: str):
        url = running.url.replace("http", "ws")
        self.socket = connect(f"{url}{PATH}?key={KEYS[who]}", max_size=None)
        self.beginnings, self.errors = 0, []
        setup = {
            "model": f"models/{model}",
            "generationConfig": {"responseModalities": ["AUDIO"]},
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "inputAudioTranscription": {},
            "outputAudioTranscription": {},
        }
        self.send(setup=setup)
        while not self.beginnings:
            self.take()

    def send(self, **message) -> None:
        self.socket.send(json.dumps(message))

    def take(self) -> dict:
        message = json.loads(self.socket.recv(timeout=LIMIT_S))
        self.beginnings += "setupComplete" in message
        if "error" in message:
            self.errors.append(message["error"])
        return message.get("serverContent", {})

    def say(self, text: str) -> str:
        self.send(clientContent={"turns": [{"role": "user", "parts": [{"text": text}]}], "turnComplete": True})
        return self.listen()

    def listen(self) -> str:
        said = ""
        while True:
            content = self.take()
            said += content.get("outputTranscription", {}).get("text", "")
            if content.get("turnComplete") and said:
                return said

    def close(self) -> None:
        self.socket.close()


CLIENTS = pytest.mark.parametrize("client", [OpenAiTalk, GeminiTalk])


class Line:
    """A gateway whose agent has a model at each provider; the first can be killed."""

    def __init__(self, folder, first: str, urls: dict[str, str], **agent):
        kinds = {"openai": "openai", "gemini": "gemini"}
        order = [first, OTHER[first]]
        config = {
            "providers": {name: {"kind": kinds[name], "base_url": urls[name], "api_key": SECRET} for name in order},
            "models": {f"of_{name}": {"provider": name, "api": "realtime", "id": MODELS[name]} for name in order},
            "agents": {
                "caller": {"models": [f"of_{name}" for name in order], "tools": ["roll"], "prompt": "Be brief.", **agent}
            },
            "default_agent": "caller",
            "keys": [{"name": name, "key": key, "role": "caller", "rights": ["execute"]} for name, key in KEYS.items()],
        }
        self.gateway, self.model = Gateway(folder, config), f"of_{first}"

    def talk(self, client, who: str = "ada"):
        return client(self.gateway, who, self.model)


class Doomed:
    """A fake provider as a process of its own."""

    def __init__(self, kind: str):
        command = [sys.executable, "-m", "provider.live_process", kind]
        self.process = subprocess.Popen(command, cwd=INTEROP, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def cast(tmp_path, first):
    """The first provider, which will die, the second one, and a way to begin."""
    doomed, second = Doomed(first), FAKES[OTHER[first]]()
    lines = []

    def begin(**agent) -> Line:
        lines.append(Line(tmp_path, first, {first: doomed.url, OTHER[first]: second.url}, **agent))
        return lines[-1]

    yield doomed, second, begin
    for line in lines:
        line.gateway.stop()
    doomed.kill()
    second.stop()


def refusals(session) -> list:
    """What the second provider did not accept."""
    if hasattr(session, "refused"):
        return session.refused
    return [] if session.closed is None or session.closed[0] in (1000, 1001, 1005, 1006) else [session.closed]


def knowledge(session) -> str:
    """All that the second provider was told."""
    told = [session.config, session.items] if hasattr(session, "items") else [session.setup, session.received]
    return json.dumps(told)


@KINDS
@CLIENTS
def test_two_sessions_go_on_in_another_protocol(cast, client, first):
    doomed, second, begin = cast
    line = begin()
    talks = {name: line.talk(client, name) for name in ("ada", "bob")}
    for name, talk in talks.items():
        assert f"I am {name}." in talk.say(f"I am {name}.")
    doomed.kill()
    wait_for("both sessions", lambda: len(second.sessions) == 2, LIMIT_S)
    for name, talk in talks.items():
        assert f"Who is {name}?" in talk.say(f"Who is {name}?")
    for talk in talks.values():
        assert talk.errors == [] and talk.beginnings == 1
    for session in second.sessions:
        known = knowledge(session)
        assert ("I am ada." in known) != ("I am bob." in known), "each has its own"
        assert "roll" in known and "Be brief." in known and "Be kind." in known
        assert refusals(session) == []
    for talk in talks.values():
        talk.close()


@KINDS
@CLIENTS
def test_the_notice_is_spoken_once(cast, client, first):
    doomed, second, begin = cast
    talk = begin(failover_message=NOTICE).talk(client)
    talk.say("I am Ada.")
    doomed.kill()
    assert NOTICE in talk.listen()
    assert NOTICE not in talk.say("Who am I?").partition("Who am I?")[2]
    assert len(second.sessions) == 1 and refusals(second.sessions[0]) == []
    talk.close()


@KINDS
@CLIENTS
def test_a_provider_that_is_not_there_is_passed_over(cast, client, first):
    doomed, second, begin = cast
    line = begin()
    doomed.kill()
    since = time.monotonic()
    talk = line.talk(client)
    assert "Hello?" in talk.say("Hello?")
    assert time.monotonic() - since < 20
    assert talk.errors == [] and talk.beginnings == 1
    assert len(second.sessions) == 1 and refusals(second.sessions[0]) == []
    talk.close()
