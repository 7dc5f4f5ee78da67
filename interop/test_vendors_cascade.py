"""Two Claudes for one answer: an opener speaks the first sentence, a strong model goes on behind it.

Claudes differ in what they take at the end of a conversation: a system message, text of the assistant, thinking.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from fronts import DIALECTS
from harness.models import CASCADE

OPENED = "You said: Please roll."


def speak(chat, dialect: str, opener: str, strong: str) -> None:
    front = chat.front(DIALECTS[dialect].name)
    heard = front.ask(f"opened-{strong}-by-{opener}", front.begin("Please roll."), stream=True)
    where = (dialect, opener, strong, heard.text)
    assert heard.text.startswith(OPENED), where
    assert "The tool said: " in heard.text and "42" in heard.text, where
    assert heard.finish == "stop", where
    assert (heard.told["ended"], [call["status"] for call in heard.told["calls"]]) == ("answered", ["ok"]), where


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_a_claude_speaks_behind_an_opener_and_does_not_break_off(chat, dialect):
    # The strong models are slow: beside each other they take no longer than one.
    pairs = [(opener, strong) for opener in CASCADE for strong in CASCADE]
    with ThreadPoolExecutor(len(pairs)) as pool:
        for said in [pool.submit(speak, chat, dialect, *pair) for pair in pairs]:
            said.result()
    assert [seen.status for seen in chat.seen] == [200] * 3 * len(pairs)
