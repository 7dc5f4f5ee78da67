"""What the realtime model does in each response: functions of the session and the response, which may return its status.
Most call a tool when the caller has spoken, and tell what came of it in the next response."""

import json

from provider import live_conversation

LOOK_UP = ("pace_look_up", {"key": "moon"})
WEATHER = ("pace_weather", {"city": "Rome"})
WRITE = ("pace_write_down", {"text": "moon"})
LIGHTS = ("lights", {"on": True})


def tell(session, response) -> None:
    told = " | ".join(json.loads(output).get("message", output) if output[:1] == "{" else output
                      for output in session.outputs())  # fmt: skip
    response.say(f"The tool said: {told}")


def echo(session, response) -> None:
    response.say(f"You said: {session.said()}")


def announce(session, response) -> None:
    """Beside the conversation: says its own input."""
    words = [part["text"] for item in response.asked.get("input", []) for part in item["content"]]
    response.say(" ".join(words))


def calling(*calls, words: str = "", after_s: float = 0.0):
    """`after_s`: between the calls and the end of the response."""

    def play(session, response):
        if session.outputs():
            return tell(session, response)
        if words:
            response.say(words)
        for name, arguments in calls:
            if name in response.tools:
                response.call(name, arguments)
        response.pause(after_s)
        return None

    return play


def insisting(name: str, arguments, **how):
    return lambda session, response: (
        tell(session, response) if session.outputs() else (response.call(name, arguments, **how), None)[1]
    )


WRONG = "I do not know anything about that, but I like to talk about it anyway."


def talkative(session, response) -> None:
    """Talks at once about whatever it is asked, at the pace of speech, with or without knowing."""
    if session.outputs():
        return tell(session, response)
    response.pause(0.25)
    response.say(WRONG, 0.1)
    return None


def aside(session, response) -> None:
    """Calls what it need not wait for, and talks on."""
    if session.outputs():
        return tell(session, response)
    if any(item["type"] == "function_call" for item in session.items):
        return echo(session, response)
    response.call(*WEATHER)
    return None


def long(session, response) -> None:
    """A call, and then so many words that the caller has time to speak."""
    if not any(item["type"] == "function_call" for item in session.items):
        response.call(*LOOK_UP)
        response.say("This will take me a very long time indeed, so please interrupt me", 0.4)
    else:
        echo(session, response)


def waiting(session, response) -> None:
    """A call, once; then whatever was said."""
    if not any(item["type"] == "function_call" for item in session.items):
        response.call(*LOOK_UP)
    elif session.outputs():
        tell(session, response)
    else:
        echo(session, response)


def cut_off(session, response):
    """Arguments that were cut off by a cancellation, with `done` all the same."""
    if any(item["type"] == "function_call" for item in session.items):
        return echo(session, response)
    response.call("pace_look_up", '{"key": "mo', status="incomplete")
    response.stopped = "turn_detected"
    return "cancelled"


def twice(session, response) -> None:
    if session.outputs():
        return tell(session, response)
    call_id = response.call(*LOOK_UP)
    response.call(*LOOK_UP, call_id=call_id)
    return None


def racing(session, response) -> None:
    """A response of its own begins just before an answer comes."""
    if response.why == "the race":
        response.say("By the way.", 1.0)
    else:
        waiting(session, response)


def closing(session, response) -> None:
    response.call(*LOOK_UP)
    session.socket.close(1011, "The server had an error while processing your request.")


def huge(session, response) -> None:
    response.send("output_audio.delta", item_id="item_huge", output_index=0, content_index=0, delta="A" * (10 << 20))
    echo(session, response)


def phone(session, response) -> None:
    """Greets as it is told to, then calls a tool for each question."""
    if response.asked.get("tool_choice") == "none":
        response.say(response.asked["instructions"].rpartition("nothing else: ")[2])
    elif session.outputs():
        tell(session, response)
    elif "weather" in session.said():
        response.call(*WEATHER)
    elif "Look it up" in session.said():
        response.call(*LOOK_UP)
    elif "story" in session.said():
        response.say("Once upon a time there was a very long story that nobody ever heard to its end", 0.01)
    else:
        echo(session, response)


def before_answer(session) -> None:
    """When the answer to a call has come, and is not in the conversation yet."""
    if session.play is racing and not session.active:
        session.respond({}, "the race")


NAMED = {
    "conversation": live_conversation.openai,
    "conversation-doomed": live_conversation.openai,
    "echo": echo,
    "talkative": talkative,
    "talkative-too": talkative,
    "tool": calling(LOOK_UP),
    "tool-late-end": calling(LOOK_UP, after_s=0.6),
    "text-and-tool": calling(LOOK_UP, words="One moment."),
    "parallel": calling(LOOK_UP, WRITE, WEATHER),
    "client-tool": calling(LIGHTS),
    "mixed": calling(LIGHTS, LOOK_UP),
    "call": waiting,
    "aside": aside,
    "long": long,
    "waiting": waiting,
    "cut-off": cut_off,
    "twice": twice,
    "racing": racing,
    "closing": closing,
    "huge": huge,
    "phone": phone,
    "unknown-tool": insisting("no_such_tool", {}),
    "bad-arguments": insisting("pace_look_up", '{"key": '),
}
