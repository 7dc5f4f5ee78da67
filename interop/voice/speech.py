"""Speaks with Piper and hears with Whisper. All audio outside of this file is 24 kHz PCM16, one channel."""

import math
import re
import threading
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel
from piper import PiperVoice, SynthesisConfig

RATE = 24_000
FRAME_MS = 20
FRAME = RATE * FRAME_MS // 1000
"""Samples of one frame."""
WHISPER_RATE = 16_000

UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
NUMBERS = {word: number for number, word in enumerate([*UNITS, "seventeen", "eighteen", "nineteen", "twenty"])}
# What sounds alike is the same here: a recogniser cannot know it better.
NUMBERS |= {"to": 2, "too": 2, "for": 4, "ate": 8, "thirty": 30, "forty": 40}


class Speech:
    """One voice and one ear. Both are used by one thread at a time."""

    def __init__(self, models: Path):
        self._voice = PiperVoice.load(models / "voice" / "en_US-joe-medium.onnx")
        # Its threads spin while they wait: on a small machine one is the quickest.
        self._ear = WhisperModel(str(models / "whisper"), device="cpu", compute_type="int8", cpu_threads=1)
        self._speaking = threading.Lock()
        self._hearing = threading.Lock()

    def speak(self, text: str, pitch: float = 1.0) -> np.ndarray:
        """`pitch` above one makes a second person of the only voice that is there."""
        with self._speaking:
            chunks = list(self._voice.synthesize(text, SynthesisConfig(length_scale=pitch)))
        samples = np.concatenate([chunk.audio_int16_array for chunk in chunks])
        return resample(samples, round(chunks[0].sample_rate * pitch), RATE)

    def hear(self, samples: np.ndarray) -> str:
        heard = resample(samples, RATE, WHISPER_RATE).astype(np.float32) / 32768
        with self._hearing:
            parts, _ = self._ear.transcribe(
                heard, language="en", beam_size=1, without_timestamps=True, condition_on_previous_text=False
            )
            return " ".join(part.text.strip() for part in parts)


def resample(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    count = len(samples) * wanted // rate
    places = np.arange(count) * (rate / wanted)
    return np.interp(places, np.arange(len(samples)), samples).astype(np.int16)


def loudness(samples: np.ndarray) -> float:
    """Root mean square: speech is in the thousands, silence near zero."""
    return math.sqrt(float(np.mean(samples.astype(np.float64) ** 2))) if len(samples) else 0.0


def words(text: str) -> list[str]:
    """For comparing what was said with what was heard: lower case, numbers as digits, tens and units joined."""
    found: list[str] = []
    for word in re.findall(r"[a-z0-9]+", text.lower()):
        number = NUMBERS.get(word)
        ten = found and found[-1] in ("20", "30", "40") and number is not None and 0 < number < 10
        if ten:
            found[-1] = str(int(found[-1]) + number)
        else:
            found.append(word if number is None else str(number))
    return found
