"""Streams of the four dialects, judged byte by byte, without the help of a client that forgives."""

import json

RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


def events(text: str) -> list[tuple[str | None, str]]:
    """Names and data, of whole events only."""
    assert text.endswith("\n\n"), f"an event without its end: {text[-200:]!r}"
    found = []
    for block in text.split("\n\n")[:-1]:
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        assert all(line.startswith(("event: ", "data: ")) for line in lines), block
        name = next((line[7:] for line in lines if line.startswith("event: ")), None)
        data = [line[6:] for line in lines if line.startswith("data: ")]
        if data:
            found.append((name, "\n".join(data)))
    return found


def check_error(front: str, body: dict) -> None:
    error = body["error"]
    assert isinstance(error["message"], str) and error["message"]
    if front == "gemini":
        assert isinstance(error["code"], int) and isinstance(error["status"], str)
    elif front == "anthropic":
        assert body["type"] == "error" and isinstance(error["type"], str)
    else:
        assert isinstance(error["type"], str) and "code" in error


def check_chat(found: list[tuple[str | None, str]]) -> bool:
    """Whether it ended well."""
    done = found[-1][1] == "[DONE]"
    chunks = [json.loads(data) for _, data in found[: -1 if done else None]]
    if failed := [chunk for chunk in chunks if "error" in chunk]:
        assert failed == chunks[-1:], "something comes after the error"
        check_error("chat", failed[0])
        return False
    assert done
    assert len({chunk["id"] for chunk in chunks}) == 1
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]
    assert len(reasons) == 1, reasons
    return True


def check_responses(found: list[tuple[str | None, str]]) -> bool:
    told = [json.loads(data) for _, data in found]
    assert [name for name, _ in found] == [event["type"] for event in told]
    numbers = [event["sequence_number"] for event in told]
    assert numbers == sorted(set(numbers)), numbers
    kinds = [event["type"] for event in told]
    ends = [kind for kind in kinds if kind in RESPONSE_ENDS]
    assert kinds[-1] in RESPONSE_ENDS and ends in ([kinds[-1]], ["error", "response.failed"]), kinds
    opened = [event["output_index"] for event in told if event["type"] == "response.output_item.added"]
    closed = [event["output_index"] for event in told if event["type"] == "response.output_item.done"]
    assert len(opened) == len(set(opened)) and set(closed) <= set(opened)
    well = told[-1]["type"] == "response.completed"
    assert not well or sorted(opened) == sorted(closed)
    return well


def check_anthropic(found: list[tuple[str | None, str]]) -> bool:
    told = [json.loads(data) for _, data in found]
    assert [name for name, _ in found] == [event["type"] for event in told]
    told = [event for event in told if event["type"] != "ping"]
    if told[-1]["type"] == "error":
        check_error("anthropic", told[-1])
    open_block = None
    for event in told:
        if event["type"] == "content_block_start":
            assert open_block is None
            open_block = event["index"]
        elif event["type"].startswith("content_block_"):
            assert event["index"] == open_block
            open_block = None if event["type"] == "content_block_stop" else open_block
    kinds = [event["type"] for event in told]
    assert kinds[0] in ("message_start", "error") and kinds.count("message_start") <= 1
    assert kinds[-1] in ("message_stop", "error") and not {"message_stop", "error"} & set(kinds[:-1])
    well = kinds[-1] == "message_stop"
    assert not well or (open_block is None and kinds[-2] == "message_delta")
    return well


def check_gemini(found: list[tuple[str | None, str]]) -> bool:
    told = [json.loads(data) for _, data in found]
    if "error" in told[-1]:
        check_error("gemini", told[-1])
        return False
    reasons = [one["finishReason"] for event in told for one in event.get("candidates", []) if one.get("finishReason")]
    assert len(reasons) == 1, reasons
    return True


STREAMS = {"chat": check_chat, "responses": check_responses, "anthropic": check_anthropic, "gemini": check_gemini}
