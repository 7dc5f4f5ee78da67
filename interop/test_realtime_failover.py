"""Live sessions of the official client whose provider refuses them, dies or ends them: they go on at the agent's next
model."""

import asyncio
import json
import signal
import subprocess
import sys

import pytest
from openai import AsyncOpenAI

from harness.gateway import Gateway
from harness.paths import INTEROP
from harness.process import wait_for
from provider.live_openai import OpenAiLive

KEYS = {"ada": "key-of-ada-0123456789", "bob": "key-of-bob-0123456789"}
SECRET = "secret-of-openai-0123456789"
LIMIT_S = 60


def models(play: str) -> dict:
    return {
        name: {"provider": name, "api": "realtime", "id": f"gpt-realtime-2.1--{play}"} for name in ("first", "second")
    }


def gateway(folder, first: str, second: str, **agent) -> Gateway:
    def provider(url: str) -> dict:
        return {"kind": "openai", "base_url": url, "api_key": SECRET}

    config = {
        "providers": {"first": provider(first), "second": provider(second)},
        "models": models("echo"),
        "agents": {"caller": {"models": ["first", "second"], "tools": ["roll"], "prompt": "Be brief.", **agent}},
        "default_agent": "caller",
        "keys": [{"name": name, "key": key, "role": "caller", "rights": ["execute"]} for name, key in KEYS.items()],
    }
    return Gateway(folder, config)


class Talker:
    """A client in the middle of a session."""

    def __init__(self, connection):
        self.connection, self.kinds, self.errors = connection, [], []

    async def say(self, text: str) -> str:
        """What the model answers, from here to the end of a whole response."""
        content = [{"type": "input_text", "text": text}]
        await self.connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        await self.connection.response.create()
        return await self.listen()

    async def listen(self) -> str:
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


def connect(running: Gateway, who: str = "ada"):
    client = AsyncOpenAI(api_key=KEYS[who], base_url=f"{running.url}/v1")
    return client.realtime.connect(model="first")


def texts(session) -> str:
    return json.dumps([item.get("content") for item in session.items])


@pytest.fixture
def process():
    """A provider that can be killed."""
    command = [sys.executable, "-m", "provider.live_process"]
    with subprocess.Popen(command, cwd=INTEROP, stdout=subprocess.PIPE, text=True) as started:
        started.url = started.stdout.readline().strip()
        yield started
        started.kill()


@pytest.fixture
def second():
    started = OpenAiLive()
    yield started
    started.stop()


def test_two_sessions_go_on_when_the_process_of_their_provider_is_killed(tmp_path, process, second):
    async def talk(running):
        async with connect(running, "ada") as one, connect(running, "bob") as two:
            ada, bob = Talker(one), Talker(two)
            for talker, name in ((ada, "Ada"), (bob, "Bob")):
                assert await talker.say(f"I am {name}.") == f"You said: I am {name}."
            process.send_signal(signal.SIGKILL)
            process.wait()
            said = await asyncio.gather(ada.say("Who am I?"), bob.say("And I?"))
            assert said == ["You said: Who am I?", "You said: And I?"]
            return ada, bob

    running = gateway(tmp_path, process.url, second.url)
    try:
        talkers = asyncio.run(talk(running))
    finally:
        running.stop()
    for talker in talkers:
        assert talker.errors == []
        assert talker.kinds.count("session.created") == 1
    assert len(second.sessions) == 2
    for session in second.sessions:
        assert ("I am Ada." in texts(session)) != ("I am Bob." in texts(session)), "each has its own"
        assert "roll" in [tool["name"] for tool in session.config["tools"]]
        assert session.config["instructions"] == "Be brief."
        assert session.refused == []


def test_the_failover_message_is_spoken_once(tmp_path, process, second):
    async def talk(running):
        async with connect(running) as connection:
            ada = Talker(connection)
            await ada.say("I am Ada.")
            process.send_signal(signal.SIGKILL)
            process.wait()
            said = [await ada.listen()]
            said.append(await ada.say("Who am I?"))
            return said

    running = gateway(tmp_path, process.url, second.url, failover_message="One moment, please.")
    try:
        assert asyncio.run(talk(running)) == ["One moment, please.", "You said: Who am I?"]
    finally:
        running.stop()


def test_a_provider_that_does_not_know_the_key_is_passed_over(tmp_path, second):
    """It accepts the upgrade, as OpenAI does, and closes."""

    async def talk(running):
        async with connect(running) as connection:
            ada = Talker(connection)
            assert await ada.say("Hello?") == "You said: Hello?"
            assert ada.errors == []

    first = OpenAiLive(key="another-key-0123456789")
    running = gateway(tmp_path, first.url, second.url)
    try:
        asyncio.run(talk(running))
        assert len(first.sessions) == len(second.sessions) == 1
    finally:
        running.stop()
        first.stop()


def test_a_session_outlives_the_time_that_the_provider_gives_it(tmp_path, second):
    async def talk(running):
        async with connect(running) as connection:
            ada = Talker(connection)
            await ada.say("I am Ada.")
            await asyncio.to_thread(wait_for, "a new connection", lambda: len(first.sessions) == 2, LIMIT_S)
            first.lifetime_s = 3600.0
            await asyncio.to_thread(wait_for, "the end of the old one", lambda: first.sessions[0].closed, LIMIT_S)
            assert await ada.say("Who am I?") == "You said: Who am I?"
            return ada

    first = OpenAiLive()
    first.lifetime_s = 16.0
    running = gateway(tmp_path, first.url, second.url)
    try:
        ada = asyncio.run(talk(running))
    finally:
        running.stop()
        first.stop()
    assert ada.errors == [] and ada.kinds.count("session.created") == 1
    before, after = first.sessions[:2]
    assert "session_expired" not in before.refused, "it was left in time"
    assert "I am Ada." in texts(after)
    assert second.sessions == []
