"""Live talks with Gemini's official clients, in Python and in JavaScript, each with the same verbs."""

import asyncio
import base64
import json
import os
import subprocess
from dataclasses import dataclass, field

from google import genai
from google.genai import errors, types

from harness import sound
from harness.paths import INTEROP, NODE

LIMIT_S = 60
RATE = 16_000
FRAME = RATE * 2 // 10


@dataclass
class Turn:
    """What the model did until its turn was complete."""

    text: str = ""
    transcript: str = ""
    input: str = ""
    interrupted: bool = False


@dataclass
class Heard:
    turns: list[Turn] = field(default_factory=list)
    calls: list[dict] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """Which messages there were, in order."""
    closed: list | None = None

    @property
    def texts(self) -> list[str]:
        return [turn.text for turn in self.turns]


@dataclass
class Talk:
    """A model, how it is set up, what the client's own functions answer, and what is said: `say` or `audio`, and
    how many turns to wait for."""

    model: str
    steps: list[dict]
    config: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict)
    forged: dict | None = None
    """Sent with the first answer: one to a call that is not the client's. In Python only."""


def python(url: str, key: str, talk: Talk) -> Heard:
    """google-genai. It trusts the certificate that SSL_CERT_FILE names."""
    return asyncio.run(asyncio.wait_for(_python(url, key, talk), LIMIT_S))


async def _python(url: str, key: str, talk: Talk) -> Heard:
    client = genai.Client(api_key=key, http_options={"base_url": url})
    heard = Heard()
    config = types.LiveConnectConfig(**talk.config)
    try:
        async with client.aio.live.connect(model=talk.model, config=config) as session:
            for step in talk.steps:
                await _say(session, step)
                for _ in range(step.get("turns", 1)):
                    heard.turns.append(await _listen(session, talk, heard))
    except errors.APIError as error:
        heard.closed = [error.code, str(error.details)]
    return heard


async def _say(session, step: dict) -> None:
    if "say" in step:
        await session.send_realtime_input(text=step["say"])
    if "write" in step:
        await session.send_client_content(turns={"role": "user", "parts": [{"text": step["write"]}]})
    if "audio" in step:
        blob = types.Blob(data=step["audio"].encode(), mime_type="audio/pcm;rate=16000")
        await session.send_realtime_input(audio=blob)
        await session.send_realtime_input(audio_stream_end=True)
    if "sound" in step:
        spoken = sound.encode(step["sound"], RATE)
        for at in range(0, len(spoken), FRAME):
            blob = types.Blob(data=spoken[at : at + FRAME], mime_type=f"audio/pcm;rate={RATE}")
            await session.send_realtime_input(audio=blob)
    if "raw" in step:
        await session._ws.send(json.dumps(step["raw"]))


async def _listen(session, talk: Talk, heard: Heard) -> Turn:
    turn = Turn()
    async for message in session.receive():
        heard.kinds += [name for name in type(message).model_fields if getattr(message, name) is not None]
        if content := message.server_content:
            turn.text += (message.data or b"").decode()
            turn.transcript += (content.output_transcription and content.output_transcription.text) or ""
            turn.input += (content.input_transcription and content.input_transcription.text) or ""
            turn.interrupted |= bool(content.interrupted)
        if message.tool_call:
            for call in message.tool_call.function_calls:
                heard.calls.append({"name": call.name, "args": call.args})
                if call.name in talk.answers:
                    response = types.FunctionResponse(id=call.id, name=call.name, response=talk.answers[call.name])
                    forged = [types.FunctionResponse(**talk.forged)] if talk.forged else []
                    await session.send_tool_response(function_responses=[*forged, response])
        if message.tool_call_cancellation:
            heard.cancelled += message.tool_call_cancellation.ids
    return turn


def javascript(url: str, key: str, talk: Talk) -> Heard:
    """@google/genai."""
    steps = [
        {**step, "encoded": base64.b64encode(sound.encode(step["sound"], RATE)).decode()} if "sound" in step else step
        for step in talk.steps
    ]
    asked = {"url": url, "key": key, **vars(talk), "steps": steps}
    done = subprocess.run(
        [str(NODE), str(INTEROP / "clients" / "gemini_live.mjs"), json.dumps(asked)],
        cwd=INTEROP,
        env={**os.environ, "NODE_EXTRA_CA_CERTS": os.environ["SSL_CERT_FILE"]},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    try:
        said = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise AssertionError(f"it heard nothing (exit {done.returncode}):\n{done.stderr[-3000:]}") from None
    kinds = [_snake(kind) for kind in said.pop("kinds")]
    return Heard(**{**said, "turns": [Turn(**turn) for turn in said["turns"]], "kinds": kinds})


def _snake(name: str) -> str:
    return "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name)


CLIENTS = {"python": python, "javascript": javascript}
