"""What the fake Live models do when it is their turn, by name."""

import json
import threading
import time

from provider import live_conversation

LOOK_UP = ("pace_look_up", {"key": "moon"})
WRITE = ("pace_write_down", {"text": "milk"})
WEATHER = ("pace_weather", {"city": "Rome"})
LIGHTS = ("lights", {"on": True})


def told(session, *responses: dict) -> None:
    session.say(" ".join(json.dumps(response) for response in responses))


def echo(session, heard: str) -> None:
    session.say(f"You said: {heard}")
    session.end()


def tool(session, heard: str) -> None:
    """Calls once and tells the result; and what comes of it later, if it comes as text."""
    if heard.startswith("[tool result]"):
        session.say(heard)
    else:
        told(session, *session.answers(session.call(LOOK_UP)))
    session.end()


def aside(session, heard: str) -> None:
    """Calls once and talks on: the result is another turn."""
    [id] = session.call(WEATHER)
    session.say("One moment.")
    session.end()
    told(session, *session.answers([id]))
    session.end()


def large(session, heard: str) -> None:
    told(session, *session.answers(session.call(("pace_look_up", {"key": "moon " * 20_000}))))
    session.end()


def mixed(session, heard: str) -> None:
    told(session, *session.answers(session.call(LOOK_UP, LIGHTS)))
    session.end()


def sweep(session, heard: str) -> None:
    """Asks again for as long as the result is empty."""
    for _ in range(5):
        [response] = session.answers(session.call(LOOK_UP))
        if any(response.values()):
            break
    told(session, response)
    session.end()


def cancel(session, heard: str) -> None:
    """The caller speaks into it: all calls are taken back, and then the turn is over."""
    if heard != "Look it up.":
        return echo(session, heard)
    ids = session.call(LOOK_UP, LIGHTS)
    time.sleep(0.5)
    session.withdraw(*ids)
    session.content(interrupted=True)
    session.content(turnComplete=True)
    return session.offer_handle()


def interrupt(session, heard: str) -> None:
    """The caller speaks into it, and nothing is taken back: the call is still to be answered."""
    if heard != "Look it up.":
        return echo(session, heard)
    ids = session.call(LOOK_UP)
    time.sleep(0.3)
    session.content(interrupted=True)
    told(session, *session.answers(ids))
    return session.end()


def hasty(session, heard: str) -> None:
    """A write that is taken back before anybody could mean it."""
    if heard != "Write it down.":
        return echo(session, heard)
    ids = session.call(WRITE)
    session.content(interrupted=True)
    session.withdraw(*ids)
    session.content(turnComplete=True)
    return session.offer_handle()


def write(session, heard: str) -> None:
    told(session, *session.answers(session.call(WRITE)))
    session.end()


def unknown(session, heard: str) -> None:
    """A function that nobody has, and one call twice."""
    ids = session.call(("pace_launch", {}))
    again = {"id": ids[0], "name": "pace_launch", "args": {}}
    session.send(toolCall={"functionCalls": [again]})
    told(session, *session.answers(ids))
    session.end()


def leave(session, heard: str) -> None:
    """Says that it will end, and ends."""
    if len(session.provider.sessions) > 1:
        return echo(session, heard)
    session.offer_handle()
    session.send(goAway={"timeLeft": "4s"})
    threading.Timer(4, session.close, (1001, "the time is over")).start()
    return echo(session, heard)


def leave_in_call(session, heard: str) -> None:
    """Ends while a call is open; its answer comes as text on the next connection."""
    if len(session.provider.sessions) > 1:
        session.say(heard)
        return session.end()
    session.offer_handle()
    session.call(LOOK_UP)
    session.send(goAway={"timeLeft": "1.5s"})
    time.sleep(1.5)
    return session.close(1001, "the time is over")


def crash(session, heard: str) -> None:
    session.call(LOOK_UP)
    session.close(1011, "Internal error encountered.")


def vanish(session, heard: str) -> None:
    """Is gone after the first answer, for so long that no handle is good any more."""
    echo(session, heard)
    if len(session.provider.sessions) == 1:
        session.provider.passed += 3 * 3600
        session.close(1011, "Internal error encountered.")


def expire(session, heard: str) -> None:
    """Falls silent after it has announced its end."""
    echo(session, heard)
    if len(session.provider.sessions) == 1:
        session.expire(3)


def tools(session, heard: str) -> None:
    """Says what it can call when it has thought about it; of the newest, what it was told meanwhile."""
    if "think" in heard and session.family >= (3, 8):
        session.wait(lambda: session.updates)
    time.sleep(1)
    session.say(" ".join(sorted(session.declared())))
    session.end()


def long(session, heard: str) -> None:
    """So many words that the caller has time to speak."""
    with session.floor:
        if not heard.startswith("Tell me"):
            return echo(session, heard)
        session.barged = False
        for word in "This will take me a very long time indeed, so please interrupt me now".split():
            session.say(f"{word} ")
            with session.changed:
                session.changed.wait_for(lambda: session.closed or session.barged, 0.4)
            if session.barged:
                session.content(interrupted=True)
                session.content(turnComplete=True)
                return session.offer_handle()
        return session.end()


def client_tool(session, heard: str) -> None:
    told(session, *session.answers(session.call(LIGHTS)))
    session.end()


NAMED = {
    "long": long, "client-tool": client_tool,
    "echo": echo, "tool": tool, "aside": aside, "large": large, "mixed": mixed, "sweep": sweep, "cancel": cancel, "interrupt": interrupt,
    "hasty": hasty, "write": write, "unknown": unknown, "leave": leave, "leave-in-call": leave_in_call,
    "conversation": live_conversation.gemini, "conversation-doomed": live_conversation.gemini,
    "crash": crash, "vanish": vanish, "expire": expire, "tools": tools,
}  # fmt: skip
