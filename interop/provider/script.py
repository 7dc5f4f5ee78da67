"""What models say: pure functions of the request. They call a tool while there are no results yet, then tell them."""

import json
import re
from collections.abc import Callable

from provider.words import Answer, Asked, Call, Refusal, Usage

ROLL = "roll"
WEATHER = "get_weather"
FORTY_TWO = '{"expression": "1d1+41"}'
PARIS = '{"city": "Paris"}'
TOTAL = '{"total": 42}'

# Arguments that are not what a tool expects, as models write them.
ARGUMENTS = {
    "not-json": "expression is 1d1+41",
    "empty": "",
    "trailing-comma": '{"expression": "1d1+41",}',
    "single-quotes": "{'expression': '1d1+41'}",
    "fenced": '```json\n{"expression": "1d1+41"}\n```',
    "half-json": '{"expression": "1d1',
    "array": '["1d1+41"]',
    "deep-json": '{"expression": ' * 1000 + '"1d1+41"' + "}" * 1000,
    "huge": json.dumps({"expression": "1d1+41", "padding": "x" * (1 << 20)}),
    "twice": '{"expression": "1d1+1", "expression": "1d1+41"}',
    "nan": '{"expression": NaN}',
}


def told(asked: Asked) -> Answer:
    results = " | ".join(result.text for result in asked.results)
    return Answer(f"The tool said: {results}")


def calling(*calls: Call, text: str = "", thinking: str = "") -> Callable[[Asked], Answer]:
    """Makes the calls whose tools are there, and tells what came of them."""

    def answer(asked: Asked) -> Answer:
        wanted = tuple(call for call in calls if call.name in asked.tools)
        if asked.results or not wanted:
            return told(asked)
        return Answer(text, wanted, thinking)

    return answer


def insisting(*calls: Call) -> Callable[[Asked], Answer]:
    """Makes the calls whether their tools are there or not."""
    return lambda asked: told(asked) if asked.results else Answer(calls=calls)


def echo(asked: Asked) -> Answer:
    return Answer(f"You said: {asked.said}")


def instructed(asked: Asked) -> Answer:
    return Answer(f"I was told: {asked.system}")


def rounds(count: int) -> Callable[[Asked], Answer]:
    def answer(asked: Asked) -> Answer:
        if ROLL not in asked.tools or asked.rounds >= count:
            return told(asked)
        return Answer(calls=(Call(ROLL, json.dumps({"expression": f"1d1+{asked.rounds}"})),))

    return answer


def pages(count: int) -> Callable[[Asked], Answer]:
    """Reads a long page in each round."""

    def answer(asked: Asked) -> Answer:
        if asked.rounds >= count:
            return told(asked)
        return Answer(calls=(Call("camera_page", json.dumps({"number": asked.rounds})),))

    return answer


def again(count: int, *calls: Call) -> Callable[[Asked], Answer]:
    """The same calls, with the same ids, in so many rounds."""

    def answer(asked: Asked) -> Answer:
        return told(asked) if asked.rounds >= count or ROLL not in asked.tools else Answer(calls=calls)

    return answer


def breaking(count: int) -> Callable[[Asked], Answer]:
    """Calls until it is overloaded."""

    def answer(asked: Asked) -> Answer:
        if asked.rounds >= count:
            raise Refusal(503, "The service is overloaded.", "overloaded")
        return rounds(count)(asked)

    return answer


def many(count: int) -> Callable[[Asked], Answer]:
    return insisting(*(Call(ROLL, json.dumps({"expression": f"1d1+{index}"})) for index in range(count)))


def thinking(asked: Asked) -> Answer:
    if asked.unsigned:
        raise Refusal(400, "the thoughts before a call have to come back as they were", "invalid")
    return calling(Call(ROLL, FORTY_TWO), thinking="A roll is needed.")(asked)


def archive(asked: Asked) -> Answer:
    """Looks up what only a slow tool knows."""
    return calling(Call("archive_weather", '{"city": "Rome"}'))(asked)


def vault(asked: Asked) -> Answer:
    """The same, by a tool that announces nothing."""
    return calling(Call("vault_weather", '{"city": "Rome"}'))(asked)


def until(words: str, *calls: Call) -> Callable[[Asked], Answer]:
    """Calls until it reads these words, in a result or in text: some clients write their history as text of the user,
    and end by a tool of their own."""

    def answer(asked: Asked) -> Answer:
        if not any(words in text for text in (asked.said, *(result.text for result in asked.results))):
            return Answer(calls=tuple(call for call in calls if call.name in asked.tools))
        said = f"The tool said: {words}"
        if "final_answer" in asked.tools:
            return Answer(calls=(Call("final_answer", json.dumps({"answer": said})),))
        return Answer(said)

    return answer


def counts(asked: Asked) -> Answer:
    """In whatever form it is to answer: by the one tool there is, or as JSON."""
    if asked.tools:
        return Answer(calls=(Call(asked.tools[0], TOTAL),))
    return Answer(TOTAL)


def mixed_late(asked: Asked) -> Answer:
    """Our tool first, the client's in the next round."""
    call = [Call(ROLL, FORTY_TWO), Call(WEATHER, PARIS)][asked.rounds : asked.rounds + 1]
    return Answer(calls=tuple(call)) if call and call[0].name in asked.tools else told(asked)


SCRIPTS: dict[str, Callable[[Asked], Answer]] = {
    "echo": echo,
    "archive": archive,
    "vault": vault,
    "instructed": instructed,
    "tool-once": calling(Call(ROLL, FORTY_TWO)),
    "text-and-tool": calling(Call(ROLL, FORTY_TWO), text="Let me see. "),
    "parallel": calling(*(Call(ROLL, json.dumps({"expression": f"1d1+{index}"})) for index in range(3))),
    "photos": calling(*(Call("camera_photo", json.dumps({"number": index})) for index in range(2))),
    "without-ids": calling(*(Call(ROLL, json.dumps({"expression": f"1d1+{index}"}), "") for index in range(3))),
    "same-id": insisting(Call(ROLL, FORTY_TWO, "call_same"), Call(ROLL, '{"expression": "1d1"}', "call_same")),
    "same-id-twice": again(2, Call(ROLL, FORTY_TWO, "call_same"), Call(ROLL, '{"expression": "1d1"}', "call_same")),
    "same-call": insisting(Call(ROLL, FORTY_TWO, "call_same"), Call(ROLL, FORTY_TWO, "call_same")),
    "forever": rounds(10**9),
    "unknown-tool": insisting(Call("no_such_tool", "{}")),
    "hidden-tool": insisting(Call("write_file", '{"path": "a.txt", "content": "a"}')),
    "client-tool": calling(Call(WEATHER, PARIS)),
    "weather": until("It rains.", Call(WEATHER, PARIS)),
    "rolls": until("makes 42", Call(ROLL, FORTY_TWO)),
    "both": until("It rains.", Call(ROLL, FORTY_TWO), Call(WEATHER, PARIS)),
    "counts": counts,
    "mixed": calling(Call(ROLL, FORTY_TWO), Call(WEATHER, PARIS)),
    "mixed-late": mixed_late,
    "thinking": thinking,
    "refusal": lambda asked: Answer("I cannot help with that.", finish="refusal"),
    "length": lambda asked: Answer("This is only the beginn", finish="length"),
    "wordy": lambda asked: Answer(" ".join(f"word{index}" for index in range(400))),
    "negative-usage": lambda asked: Answer("Well.", usage=Usage(-5, 0, -7, 0)),
    **{f"args-{name}": calling(Call(ROLL, text)) for name, text in ARGUMENTS.items()},
}
COUNTED = {"many": many, "rounds": rounds, "pages": pages, "breaking": breaking}


def named(word: str) -> Callable[[Asked], Answer] | None:
    """The script of that name, if there is one: `echo`, `many-500`."""
    counted = re.fullmatch(r"(\w+)-(\d+)", word)
    if counted and counted[1] in COUNTED:
        return COUNTED[counted[1]](int(counted[2]))
    return SCRIPTS.get(word)
