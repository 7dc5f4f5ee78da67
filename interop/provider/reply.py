"""What all models of vendors have in common when they answer: they think, and they count."""

from dataclasses import replace

from provider.prefix_cache import Counted, tokens
from provider.words import Answer, Usage

THOUGHT = "The user asks for something. The tools may help with it."


def think(answer: Answer, thinks: bool) -> Answer:
    return replace(answer, thinking=(answer.thinking or THOUGHT) if thinks else "")


def count(answer: Answer, prompt: Counted) -> Answer:
    """With usage: what the prompt had, and what is said and thought."""
    if answer.usage != Usage():
        return answer
    thought = tokens(answer.thinking)
    said = tokens(answer.text) + sum(tokens(call.name + call.arguments) + 4 for call in answer.calls)
    usage = Usage(prompt.whole, prompt.read, max(1, said) + thought, thought, prompt.written, prompt.written_1h)
    return replace(answer, usage=usage)


def padding(number: int) -> str:
    """Hides how long a piece is."""
    return "abcdefghijklmnopqrstuvwxyz"[: 3 + number * 7 % 20]
