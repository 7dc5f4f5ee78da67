"""Static embedding models: the gateway's reader against those of WordLlama and model2vec, vector by vector."""

import json
import math
import subprocess

import pytest

from harness.paths import INTEROP, example

# What a tokenizer may stumble over. Names of special tokens are left out: the gateway takes them for text.
TEXTS = [
    "The dragon Vexis sleeps under Mount Ember.",
    "Who rules the city of Waterdeep?",
    "  leading and   double spaces ",
    "tabs\tand\nnewlines\r\n",
    "Ünïcödé façade naïve Ångström",
    "漢字とかな 中文字符",
    "emoji 🐉🔥 joined 👩‍👩‍👧 end",
    "ALL CAPS AND camelCase snake_case kebab-case",
    "numbers 1,234.56 7e10 0xFF",
    "!!!???...—–“quotes”‘single’",
    "\u200bzero width\ufeff mark",
    "a",
    "İstanbul ΣΊΣΥΦΟΣ ﬁne ligature",
    "x" * 90,
    "don't can't won't it's",
    "e\u0301 combining",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "\u00a0narrow\u3000wide",
    "The quick brown fox jumps over the lazy dog. " * 40,
]


def ours(directory) -> list[list[float]]:
    program = example("tollgate-llm", "embed")
    done = subprocess.run([program, directory], input=json.dumps(TEXTS), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["vectors"]


def theirs(which: str, folder) -> list[list[float]]:
    command = [INTEROP / ".venv-embedding/bin/python", INTEROP / "embedding/reference.py", which, folder]
    done = subprocess.run(command, input=json.dumps(TEXTS), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(found: list[list[float]], expected: list[list[float]]) -> None:
    for text, one, two in zip(TEXTS, found, expected, strict=True):
        length = math.sqrt(sum(number * number for number in two))
        assert abs(math.sqrt(sum(number * number for number in one)) - 1) < 1e-4, text
        # A text of which nothing is known has no direction there.
        if length > 0:
            cosine = sum(a * b for a, b in zip(one, two, strict=True)) / length
            assert cosine > 0.9999, (text, cosine)


@pytest.fixture(scope="module")
def wordllama():
    done = subprocess.run([INTEROP.parent / "scripts/setup-embedding"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_wordllama(wordllama):
    check(ours(wordllama), theirs("wordllama", wordllama))


@pytest.mark.parametrize("numbers", ["float32", "float16", "int8"])
@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "bpe"])
def test_model2vec(kind, numbers, tmp_path, wordllama):
    expected = theirs(f"{kind}-{numbers}", tmp_path)
    check(ours(tmp_path), expected)
