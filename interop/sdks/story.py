"""What every library is asked to do, as a program: `LIBRARY.py '{"url": …, "key": …, "kinds": […]}'`.

Prints as JSON what came of each step, or the error in the library's own words. Runs with the packages of
requirements-sdks.txt.
"""

import asyncio
import contextlib
import inspect
import json
import sys
import traceback
from collections.abc import Callable

ASK = "How is the weather in Paris?"
AGAIN = "And now in Paris?"
ROLL = "Please roll."
COUNT = "How many are there?"
RAIN = "It rains."
# The schema of the answer, and of the tool, where a library wants them as JSON.
TOTAL = {
    "type": "object",
    "properties": {"total": {"type": "integer"}},
    "required": ["total"],
    "additionalProperties": False,
}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
MAX_ROUNDS = 4


class Weather:
    """The client's own tool; keeps what it was asked for."""

    def __init__(self):
        self.asked: list[str] = []

    def get(self, city: str) -> str:
        self.asked.append(city)
        return RAIN


class Library:
    """One API of a library. Errors of the library come out of every method."""

    def __init__(self, url: str, key: str):
        self.url, self.key, self.weather = url, key, Weather()

    def models(self) -> list[str]:
        raise NotImplementedError

    def turns(self, model: str, questions: list[str], stream: bool) -> list[str]:
        """The answers of one conversation, with the client's tool."""
        raise NotImplementedError

    def structured(self, model: str) -> dict:
        raise NotImplementedError


def steps(kind: str) -> dict[str, Callable]:
    def talk(model: str, questions: list[str], stream: bool):
        return lambda library: library.turns(model, questions, stream)

    found = {
        "own tool, whole": talk(f"weather-{kind}", [ASK, AGAIN], False),
        "own tool, stream": talk(f"weather-{kind}", [ASK, AGAIN], True),
        "agent, stream": talk(f"rolls-{kind}", [ROLL], True),
        "both, stream": talk(f"both-{kind}", [ASK], True),
    }
    found["structured"] = lambda library: library.structured(f"counts-{kind}")
    return found


ONCE = {
    "models": lambda library: library.models(),
    "unknown model": lambda library: library.turns("no-such-model", [ASK], False),
}


def outcome(library: Library, step: Callable, runner: asyncio.Runner) -> dict:
    library.weather.asked.clear()
    try:
        came = step(library)
        came = runner.run(came) if inspect.iscoroutine(came) else came
    except NotImplementedError:
        return {"missing": True}
    except Exception as error:  # noqa: BLE001 (which one it is, is what the test looks at)
        kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
        return {"error": kinds, "message": str(error)[:500], "trace": traceback.format_exc()[-1500:]}
    return {"came": came, "asked": list(library.weather.asked)}


def run(apis: dict[str, type[Library]]) -> None:
    given = json.loads(sys.argv[1])
    found: dict[str, dict] = {}
    every = {name: step for name, step in ONCE.items()}
    every |= {f"{name} {kind}": step for kind in given["kinds"] for name, step in steps(kind).items()}
    # Some libraries write to the console.
    with contextlib.redirect_stdout(sys.stderr), asyncio.Runner() as runner:
        for api, kind_of_library in apis.items():
            library = kind_of_library(given["url"], given["key"])
            found[api] = {name: outcome(library, step, runner) for name, step in every.items()}
    print(json.dumps(found))
