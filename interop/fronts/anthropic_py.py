"""anthropic for Python."""

import anthropic
import httpx2
from anthropic.types import Message, RawMessageStreamEvent

from fronts.heard import Heard, Made
from fronts.strict import fits
from fronts.tape import OURS, Tape

FINISH = {"end_turn": "stop", "tool_use": "calls", "max_tokens": "length", "refusal": "refusal"}


class AnthropicPy:
    name = "anthropic-py"
    dialect = "anthropic"
    errors = {
        "bad request": anthropic.BadRequestError,
        "unauthenticated": anthropic.AuthenticationError,
        "forbidden": anthropic.PermissionDeniedError,
        "not found": anthropic.NotFoundError,
        "rate limit": anthropic.RateLimitError,
        "server": anthropic.InternalServerError,
        "stream": anthropic.APIError,
    }

    def __init__(self, url: str, key: str = "none", headers: dict[str, str] | None = None):
        self.tape = Tape()
        self.client = anthropic.Anthropic(
            base_url=url,
            api_key=key,
            max_retries=0,
            default_headers=headers,
            http_client=httpx2.Client(transport=self.tape, timeout=60),
        )

    def begin(self, text: str) -> list:
        return [{"role": "user", "content": text}]

    def hang_up(self) -> None:
        self.tape.close()

    def status(self, error: anthropic.APIStatusError) -> int:
        return error.status_code

    def code(self, error: anthropic.APIStatusError) -> str | None:
        return error.body["error"]["type"]

    def tools(self, tools: list[dict]):
        return [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["schema"]} for tool in tools
        ] or anthropic.omit

    def ask(self, model: str, history: list, tools: list[dict] = (), stream: bool = False, **more) -> Heard:
        asked = {"model": model, "messages": history, "tools": self.tools(tools), "max_tokens": 256, **more}
        if not stream:
            done = self.client.messages.create(**asked)
            fits(Message, self.tape.json())
            return self.heard(done, self.tape.json().get("tollgate"), [])
        with self.client.messages.stream(**asked) as events:
            done = events.get_final_message()
        raw = self.tape.events()
        for event in raw:
            if event["type"] != "ping":
                fits(RawMessageStreamEvent, event)
        assert [name for name, _ in self.tape.streamed() if name not in OURS] == [event["type"] for event in raw]
        assert (raw[0]["type"], raw[-1]["type"]) == ("message_start", "message_stop")
        told = next((event["tollgate"] for event in raw if "tollgate" in event), None)
        return self.heard(done, told, self.tape.notes())

    def heard(self, done: Message, told: dict | None, notes: list[dict]) -> Heard:
        spent = done.usage
        cached = (spent.cache_read_input_tokens or 0) + (spent.cache_creation_input_tokens or 0)
        # Of a block that was streamed, the helper keeps more than the API takes back.
        known = {"type", "text", "id", "name", "input", "thinking", "signature", "data"}
        content = [block.model_dump(mode="json", exclude_none=True, include=known) for block in done.content]
        return Heard(
            "".join(block.text for block in done.content if block.type == "text"),
            [Made(block.id, block.name, block.input) for block in done.content if block.type == "tool_use"],
            FINISH[done.stop_reason],
            (spent.input_tokens + cached, spent.output_tokens),
            told,
            self.tape.headers,
            [{"role": "assistant", "content": content}],
            notes,
        )

    def go_on(self, history: list, heard: Heard, results: dict[str, str]) -> list:
        said = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results.items()]
        return [*history, *heard.native, {"role": "user", "content": said}]

    def models(self) -> list[str]:
        return [model.id for model in self.client.models.list()]

    def open_stream(self, model: str, history: list):
        return self.client.messages.create(model=model, messages=history, max_tokens=256, stream=True)
