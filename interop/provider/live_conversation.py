"""What live models say in the scripted conversation (test_realtime_conversation.py): one set of words for both protocols,
so that whoever listens knows each answer beforehand."""

import json
import re

LOOK_UP, WEATHER = "pace_look_up", "archive_weather"
STILL = "I am still looking for it."
NOT_DEEP = "I do not know anything about that, but I like to talk about it anyway."
"""Of a model that has to leave a turn to another one."""
NOTICE = re.compile(r'exactly these words: ("(?:[^"\\]|\\.)*")')
# Of the words of a story, which last half a second.
STORY_S, PARTS = 0.25, 30


def story(name: str) -> str:
    return f"The story of {name}. " + " ".join(f"Part {number} of {name}." for number in range(1, PARTS + 1))


def found(result: str) -> str:
    return f"I have found it, {result}"


def answer(text: str, past: str) -> str:
    """`past`: all that was said before."""
    if about := re.search(r"(?:story|poem) of ([\w ]+)", text):
        return story(about[1])
    if "Which word" in text:
        words = re.findall(r"remember the word (\w+)", past)
        return f"The word was {words[-1] if words else 'nothing'}."
    return f"You said: {text}"


def is_slow(text: str) -> bool:
    """Whether it is told at the pace of speech. Anything else comes faster than it can be played."""
    return "story" in text or "there" in text


def notice(request: str) -> str:
    """The words that an answer has to begin with."""
    words = NOTICE.search(request)
    return json.loads(words[1]) + " " if words else ""


def result(output: str) -> str:
    """Of a tool, as it is spoken. Nothing, if it is still to come."""
    if '"pending"' in output:
        return ""
    wanted = re.search(r"moon of \w+: nothing special|Rome: rain", output)
    return wanted[0] if wanted else f"nothing but {output[:100]}"


def openai(session, response) -> None:
    """Each caller's turn and each result is answered once."""
    provider = session.provider
    outputs = [item for item in session.items if item["type"] == "function_call_output"]
    fresh = [item for item in outputs if (item["call_id"], item["output"]) not in provider.reported]
    turns = [item for item in session.items if item["type"] == "message" and item["role"] == "user"]
    last = turns[-1] if turns else {"id": "", "content": []}
    text = "".join(part.get("text") or part.get("transcript") or "" for part in last["content"]).strip()
    begin = notice(response.asked.get("instructions") or "")
    provider.reported.update((item["call_id"], item["output"]) for item in fresh)
    for item in fresh:
        response.say(begin + (found(result(item["output"])) if result(item["output"]) else STILL))
    if last["id"] in provider.reported or fresh:
        provider.reported.add(last["id"])
        return
    if about := re.search(r"look up (the moon of \w+)", text):
        provider.reported.add(last["id"])
        response.call(LOOK_UP, {"key": about[1].removeprefix("the ")})
        return
    if "think carefully" in text:
        provider.reported.add(last["id"])
        response.say(NOT_DEEP)
        return
    past = json.dumps(session.items)
    if "still there" in text and session.model.endswith("-doomed"):
        response.say("You said: Are", STORY_S / provider.speed)
        return session.break_off()
    provider.reported.add(last["id"])
    response.say(begin + answer(text, past), STORY_S / provider.speed if is_slow(text) else 0)


def gemini(session, heard: str) -> None:
    with session.floor:
        session.barged = False
        if any(heard.startswith(mark) for mark in ("[tool result]", "[Tool result]")):
            text = found(result(heard))
        elif "The connection was renewed" in heard:
            due = [part["text"] for turn in session.told for part in turn["parts"] if turn["role"] == "user"]
            text = notice(due[-1]) + answer(due[-2].strip(), json.dumps(session.told))
        elif about := re.search(r"look up (the moon of \w+)", heard):
            [output] = session.answers(session.call((LOOK_UP, {"key": about[1].removeprefix("the ")})))
            text = found(result(json.dumps(output))) if result(json.dumps(output)) else STILL
        elif "think carefully" in heard:
            session.wait(lambda: WEATHER in session.declared())
            [output] = session.answers(session.call((WEATHER, {"city": "Rome"})))
            text = found(result(json.dumps(output)))
        elif "still there" in heard and session.setup["model"].endswith("-doomed"):
            session.say("You said: Are", STORY_S / session.provider.speed)
            return session.break_off()
        else:
            text = answer(heard.strip(), " ".join(session.heard) + json.dumps(session.told))
        speak(session, text, is_slow(heard))


def speak(session, text: str, slow: bool) -> None:
    """As Google's: the turn is complete when its audio has been played."""
    is_whole = session.say(text, STORY_S / session.provider.speed if slow else 0)
    if is_whole:
        session.content(generationComplete=True)
    left_s = len(text) / 10 * (0.5 if slow else 1) / session.provider.speed
    if not is_whole or session.is_barged(left_s):
        session.content(interrupted=True)
        session.content(turnComplete=True)
        return session.offer_handle()
    session.send(serverContent={"turnComplete": True})
    return session.offer_handle()
