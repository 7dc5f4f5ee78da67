"""Finds utterances in a stream of audio by their loudness, as a provider's turn detection does."""

import itertools
from dataclasses import dataclass

import numpy as np

from voice.speech import FRAME, FRAME_MS, loudness

LOUD = 300.0
BEGINS_FRAMES = 3
"""So many loud frames are speech."""
ENDS_FRAMES = 25
"""So many quiet ones are the end of it."""
KEPT_FRAMES = 15
"""What is heard before speech was noticed belongs to it."""


@dataclass
class Heard:
    """Speech began, or it ended with this utterance."""

    item: str
    at_ms: int
    utterance: np.ndarray | None = None


class Ears:
    def __init__(self):
        self._ids = itertools.count(1)
        self._frames: list[np.ndarray] = []
        self._rest = np.zeros(0, np.int16)
        self._item: str | None = None
        self._same = 0
        """Frames in a row that speak for a change."""
        self._count = 0

    def hear(self, samples: np.ndarray):
        """Everything that these samples make clear."""
        self._rest = np.concatenate([self._rest, samples])
        while len(self._rest) >= FRAME:
            frame, self._rest = self._rest[:FRAME], self._rest[FRAME:]
            self._count += 1
            heard = self._take(frame)
            if heard is not None:
                yield heard

    def _take(self, frame: np.ndarray) -> Heard | None:
        self._frames.append(frame)
        speaking = self._item is not None
        self._same = self._same + 1 if (loudness(frame) > LOUD) != speaking else 0
        if speaking and self._same >= ENDS_FRAMES:
            utterance, item = np.concatenate(self._frames), self._item
            self._frames, self._item, self._same = [], None, 0
            return Heard(item, self._count * FRAME_MS, utterance)
        if not speaking:
            self._frames = self._frames[-KEPT_FRAMES:]
            if self._same >= BEGINS_FRAMES:
                self._item, self._same = f"item_heard_{next(self._ids)}", 0
                return Heard(self._item, self._count * FRAME_MS)
        return None
