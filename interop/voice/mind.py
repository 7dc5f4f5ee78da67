"""What the fake realtime model thinks: words in, a tool call or a sentence out, by rules that fit on a page."""

import json
from dataclasses import dataclass

from voice.speech import words

STORY = (
    "Once upon a time there was a village at the edge of a great forest. Nobody who went in ever came back, "
    "until one winter a stranger knocked at the door of the inn and asked for a bowl of soup and a map. "
    "The innkeeper laughed, for there had never been a map of that forest, and there would never be one."
)


@dataclass
class Call:
    name: str
    arguments: dict


def answer(heard: str, tools: set[str]) -> Call | str:
    """To what the caller said."""
    said = words(heard)
    if "story" in said:
        return STORY
    if "archives" in said or "archive" in said:
        if "search_archives" not in tools:
            return "I cannot look into the archives now."
        return Call("search_archives", {"about": said[-1]})
    if any(word in ("roll", "enroll", "dice", "die", "sided") for word in said):
        return Call("roll", {"expression": dice(said)}) if "roll" in tools else "I have no dice with me."
    if "goodbye" in said or "bye" in said:
        return "Goodbye, and good luck."
    return "I did not understand that."


def dice(said: list[str]) -> str:
    """`two six sided dice` as `2d6`."""
    numbers = [int(word) for word in said if word.isdigit()]
    return {0: "1d6", 1: f"1d{numbers[-1]}"}.get(len(numbers)) or f"{numbers[-2]}d{numbers[-1]}"


def report(told: dict) -> str:
    """Says what a tool's result says, as data."""
    if told.get("status") == "pending":
        return "That takes a while. I will tell you as soon as I know."
    data = told.get("data")
    data = data if isinstance(data, dict) else {}
    if "total" in data:
        return f"The dice say {data['total']}."
    return str(told.get("message") or data.get("text") or "I found nothing.")


def object_in(text: str) -> dict | None:
    """The JSON object in a text; results that come late may have words around them."""
    start, end = text.find("{"), text.rfind("}")
    try:
        found = json.loads(text[start : end + 1])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
