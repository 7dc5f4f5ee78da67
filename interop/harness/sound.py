"""Words as sound that survives another sample rate and the telephone: each half of a byte is one of 16 tones."""

import math
import struct

SYMBOL_MS = 10
# Whole periods within the part of a symbol that is looked at, so that no tone leaks into another.
TONES = [400 + 200 * number for number in range(16)]
LOUD, AUDIBLE = 8000, 1500
# A byte as one level of a tenth of a second: quick to read, for an uncompressed line at one rate.
LEVEL_MS, LOWEST_LEVEL, LEVEL_STEP = 100, 2000, 100


def encode(text: str, rate: int) -> bytes:
    """16-bit samples, little endian."""
    length = rate * SYMBOL_MS // 1000
    samples = []
    for byte in text.encode():
        for half in (byte >> 4, byte & 15):
            step = 2 * math.pi * TONES[half] / rate
            samples += [round(LOUD * math.sin(step * at)) for at in range(length)]
    return struct.pack(f"<{len(samples)}h", *samples)


def decode(audio: bytes, rate: int) -> str:
    """What the sound spells; silence is skipped."""
    samples = struct.unpack(f"<{len(audio) // 2}h", audio[: len(audio) // 2 * 2])
    length = rate * SYMBOL_MS // 1000
    halves, at = [], 0
    while at < len(samples):
        if abs(samples[at]) < AUDIBLE:
            at += 1
            continue
        while at + length * 3 // 4 <= len(samples):
            window = samples[at + length // 4 : at + length * 3 // 4]
            if max(map(abs, window)) < AUDIBLE:
                break
            halves.append(_tone(window, rate))
            at += length
        else:
            break
    pairs = zip(halves[::2], halves[1::2], strict=False)
    return bytes(high << 4 | low for high, low in pairs).decode(errors="replace")


def _tone(window, rate: int) -> int:
    def strength(hertz: int) -> float:
        step = 2 * math.pi * hertz / rate
        across = sum(sample * math.cos(step * at) for at, sample in enumerate(window))
        along = sum(sample * math.sin(step * at) for at, sample in enumerate(window))
        return across * across + along * along

    return max(range(16), key=lambda half: strength(TONES[half]))


def level(byte: int, rate: int) -> bytes:
    """A tenth of a second in which only this byte is heard."""
    height = LOWEST_LEVEL + LEVEL_STEP * byte
    return struct.pack("<2h", height, -height) * (rate * LEVEL_MS // 2000)


def silence(rate: int) -> bytes:
    return bytes(rate * LEVEL_MS // 1000 * 2)


def is_level(audio: bytes) -> bool:
    if len(audio) < 8:
        return False
    first, second, third = struct.unpack("<3h", audio[:6])
    return first == -second == third and first >= LOWEST_LEVEL


def read_levels(audio: bytes, rate: int) -> str:
    step = rate * LEVEL_MS // 1000 * 2
    heights = [struct.unpack_from("<h", audio, at)[0] for at in range(0, len(audio) - 1, step)]
    return bytes((height - LOWEST_LEVEL) // LEVEL_STEP for height in heights if height >= LOWEST_LEVEL).decode(errors="replace")


def heard(audio: bytes, rate: int) -> str:
    """What audio says to a fake provider: the text that its bytes are, or that its sound spells."""
    if is_level(audio):
        return read_levels(audio, rate)
    return audio.decode() if is_text(audio) else decode(audio, rate)


def is_text(audio: bytes) -> bool:
    try:
        return audio.decode().isprintable()
    except UnicodeDecodeError:
        return False


def is_sentence(audio: bytes, rate: int) -> bool:
    return heard(audio, rate).rstrip().endswith((".", "?", "!"))


def is_silent(audio: bytes) -> bool:
    samples = struct.unpack(f"<{len(audio) // 2}h", audio[: len(audio) // 2 * 2])
    return len(audio) > 1 and all(abs(sample) < AUDIBLE for sample in samples)


def mu_law(audio: bytes) -> bytes:
    """G.711, as on telephone lines."""
    coded = bytearray()
    for sample in struct.unpack(f"<{len(audio) // 2}h", audio):
        magnitude = min(abs(sample), 32_635) + 0x84
        segment = max(magnitude.bit_length() - 8, 0)
        coded.append(~((0x80 if sample < 0 else 0) | segment << 4 | magnitude >> segment + 3 & 15) & 0xFF)
    return bytes(coded)
