"""A question with a picture, and results of tools with one, in the words of each API."""

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


def results_with_picture(dialect: str, calls: list, url: str | None = None) -> list:
    """What the client appends: for each call a text and a picture, which is in the result or at an address."""
    address = url or f"data:image/png;base64,{PICTURE}"
    inside = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    if dialect == "chat":
        content = [{"type": "text", "text": "Here."}, {"type": "image_url", "image_url": {"url": address}}]
        return [{"role": "tool", "tool_call_id": call.id, "content": content} for call in calls]
    if dialect == "responses":
        output = [
            {"type": "input_text", "text": "Here."},
            {"type": "input_image", "image_url": address, "detail": "auto"},
        ]
        return [{"type": "function_call_output", "call_id": call.id, "output": output} for call in calls]
    if dialect == "anthropic":
        source = {"type": "url", "url": url} if url else inside
        content = [{"type": "text", "text": "Here."}, {"type": "image", "source": source}]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": content} for call in calls]
        return [{"role": "user", "content": results}]
    blob = {"inlineData": {"mimeType": "image/png", "data": PICTURE}}
    answers = [
        {"id": call.id, "name": call.name, "response": {"output": "Here."}, "parts": [blob]} for call in calls
    ]
    return [{"role": "user", "parts": [{"functionResponse": answer} for answer in answers]}]
