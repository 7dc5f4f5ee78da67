"""A spoken conversation through Tollgate, recorded and listened to.

The caller speaks with Piper, the realtime provider hears with Whisper, calls tools of the gateway and speaks the
results; at the end Whisper listens to the recording and must find the tools' words in it.

    ./run-voice [--wav FILE]
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from harness.gateway import Gateway
from harness.paths import INTEROP
from voice.caller import Caller, Line
from voice.provider import Provider
from voice.speech import FRAME_MS, Speech, words

MODELS = INTEROP / ".state" / "voice"
CALLERS_PITCH = 1.12
SLOW_S = 5.0
"""How long the archives take: longer than any turn may."""
FOUND = "The archives say that the dragon sleeps under the northern mountain."
SCRIPT = [
    ("Please roll two six sided dice.", {}),
    ("Search the archives for the dragon.", {"replies": 2}),
    ("Please tell me a story.", {}),
    ("Stop. Roll a twenty sided die.", {"interrupts_after_frames": 100}),
    ("Thank you. Goodbye.", {}),
]


def config(provider: str) -> dict:
    archives = {
        "transport": "stdio",
        "command": [sys.executable, str(INTEROP / "voice" / "archives.py"), str(SLOW_S), FOUND],
        # It says that it is quicker than it is today.
        "tools": {
            "search_archives": {
                "expose_as": "search_archives",
                "estimated_duration_ms": 1000,
                "effect": "read_only",
                # What may be repeated runs on when its turn is over, and is told late.
                "idempotent": True,
            }
        },
    }
    return {
        "servers": {"archives": archives},
        "providers": {"studio": {"kind": "openai", "base_url": provider, "api_key": "none"}},
        "models": {"voice": {"provider": "studio", "api": "realtime", "id": "piper-and-whisper"}},
        "agents": {
            "innkeeper": {
                "engine": "s2s",
                "models": ["voice"],
                "tools": ["roll", "search_archives"],
                "auto_execute": ["roll", "search_archives"],
                "budget_tier": "standard",
                "prompt": "You are the keeper of an inn.",
            }
        },
        "default_agent": "innkeeper",
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wav", type=Path, default=INTEROP / ".state" / "conversation.wav", help="where it is recorded")
    options = parser.parse_args()
    speech = Speech(MODELS)
    script = [Line(text, speech.speak(text, CALLERS_PITCH), **how) for text, how in SCRIPT]
    provider = Provider(speech)
    with tempfile.TemporaryDirectory() as folder:
        async with provider as address:
            gateway = await asyncio.to_thread(Gateway, Path(folder), config(address))
            try:
                await asyncio.to_thread(gateway.wait_for_tools, {"roll", "search_archives"})
                url = gateway.url.replace("http", "ws", 1) + "/v1/realtime?model=innkeeper"
                caller = await converse(url, script)
            finally:
                await asyncio.to_thread(gateway.stop)
    caller.record(options.wav)
    seconds = len(caller.mine) * FRAME_MS / 1000
    print(f"\n{seconds:.0f} s are in {options.wav} (left: the caller, right: the agent)\n")
    listened = [(spoken, speech.hear(caller.heard(spoken))) for spoken in caller.spoken]
    show(caller, provider, listened)
    failed = check(caller, provider, listened)
    for failure in failed:
        print(f"WRONG: {failure}")
    sys.exit(1 if failed else 0)


async def converse(url: str, script: list[Line]) -> Caller:
    began = time.monotonic()

    def say(who: str, text: str) -> None:
        print(f"{time.monotonic() - began:6.2f} s  {who:>6}: {text}", flush=True)

    caller = Caller(url, script, say)
    await caller.run()
    return caller


def show(caller: Caller, provider: Provider, listened: list) -> None:
    print("what was said, what the other side heard of it, and how long the caller waited")
    for at, line in enumerate(caller.script):
        waited = caller.silence_ms.get(at)
        waited = "-" if waited is None else f"{waited:.0f} ms"
        print(f"  caller  {line.text!r} -> {caller.heard_as.get(at, '')!r}, first sound after {waited}")
        for spoken, heard in listened:
            if spoken.line == at:
                cut = " (interrupted)" if spoken.cut else ""
                print(f"   agent  {spoken.transcript!r} -> {heard!r}{cut}")
    print("tool calls, as the provider saw them")
    for id, call in provider.calls.items():
        for _, output in call.answered:
            print(f"  {id} {call.call.name} {json.dumps(call.call.arguments)}: {call.round_trip_ms():.0f} ms, {output}")
    print("tools that were declared to the model, one list for each change")
    for names in provider.tool_lists:
        print(f"  {', '.join(names) or '(none)'}")


def check(caller: Caller, provider: Provider, listened: list) -> list[str]:
    """What is not as it should be."""
    wrong = [f"the provider refused: {complaint}" for complaint in provider.complaints]
    wrong += [f"the client saw what is not its business: {leak}" for leak in caller.leaks]
    wrong += [f"{id} was not answered" for id, call in provider.calls.items() if not call.answered]
    heard_to = [[word for spoken, heard in listened if spoken.line == at for word in words(heard)] for at in range(5)]
    rolls = [json.loads(call.answered[0][1]) for call in provider.calls.values() if call.call.name == "roll"]
    for at, roll in zip((0, 3), rolls, strict=False):
        total = str(roll.get("data", {}).get("total"))
        if total not in heard_to[at]:
            wrong.append(f"the dice said {total}, and the caller heard {heard_to[at]}")
    if len(rolls) != 2:
        wrong.append(f"two rolls were asked for, {len(rolls)} were made")
    missing = set(words(FOUND)) - set(heard_to[1])
    if missing:
        wrong.append(f"of what the archives say the caller did not hear {sorted(missing)}")
    if not any(spoken.cut and spoken.line == 2 for spoken in caller.spoken):
        wrong.append("the story was not interrupted")
    return wrong


asyncio.run(main())
