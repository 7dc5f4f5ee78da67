"""A question with a picture, in the words of each API."""

import struct
import zlib
from base64 import b64encode


def picture() -> str:
    """A PNG of one red pixel, in Base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")), chunk(b"IEND", b"")]
    return b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


PICTURE = picture()


def with_picture(dialect: str) -> list:
    url = f"data:image/png;base64,{PICTURE}"
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    return {
        "chat": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": url}}],
            }
        ],
        "responses": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look."},
                    {"type": "input_image", "image_url": url, "detail": "auto"},
                ],
            }
        ],
        "anthropic": [
            {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image", "source": source}]}
        ],
        "gemini": [
            {"role": "user", "parts": [{"text": "Look."}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}}]}
        ],
    }[dialect]
