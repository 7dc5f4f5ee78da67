"""openai for Python: Chat Completions and Responses."""

import json

import httpx2
import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from fronts.heard import Heard, Made
from fronts.strict import fits
from fronts.tape import OURS, Tape

FINISH = {"stop": "stop", "tool_calls": "calls", "length": "length", "content_filter": "refusal"}
ERRORS = {
    "bad request": openai.BadRequestError,
    "unauthenticated": openai.AuthenticationError,
    "forbidden": openai.PermissionDeniedError,
    "not found": openai.NotFoundError,
    "rate limit": openai.RateLimitError,
    "server": openai.InternalServerError,
    "stream": openai.APIError,
}


class OpenAiPy:
    errors = ERRORS
    # Fields that a provider adds to its own dialect.
    more: frozenset[str] = frozenset()

    def __init__(self, url: str, key: str = "none", headers: dict[str, str] | None = None):
        self.tape = Tape()
        self.client = openai.OpenAI(
            base_url=f"{url}/v1",
            api_key=key,
            max_retries=0,
            default_headers=headers,
            http_client=httpx2.Client(transport=self.tape, timeout=60),
        )

    def begin(self, text: str) -> list:
        return [{"role": "user", "content": text}]

    def hang_up(self) -> None:
        self.tape.close()

    def status(self, error: openai.APIStatusError) -> int:
        return error.status_code

    def code(self, error: openai.APIStatusError) -> str | None:
        return error.code


class OpenAiPyChat(OpenAiPy):
    name = "openai-py-chat"
    dialect = "chat"
    # Its API has no words for thoughts; these are what others who speak it use.
    more = frozenset({"reasoning_content", "reasoning_details"})
    # What of it goes into the history: most programs keep none.
    kept: set[str] = set()

    def tools(self, tools: list[dict]):
        function = "function"
        return [
            {
                "type": function,
                function: {
                    "name": tool["name"],
                    "description": tool["description"],
                    "parameters": tool["schema"],
                    "strict": True,
                },
            }
            for tool in tools
        ] or openai.omit

    def ask(self, model: str, history: list, tools: list[dict] = (), stream: bool = False, **more) -> Heard:
        asked = {"model": model, "messages": history, "tools": self.tools(tools), **more}
        if not stream:
            done = self.client.chat.completions.create(**asked)
            fits(ChatCompletion, self.tape.json(), self.more)
            told = self.tape.json().get("tollgate")
        else:
            with self.client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
                done = self.whole(events)
            chunks = self.tape.events()
            for chunk in chunks:
                fits(ChatCompletionChunk, chunk, self.more)
            assert self.tape.streamed()[-1] == (None, "[DONE]")
            assert len({chunk["id"] for chunk in chunks}) == 1
            told = next((chunk["tollgate"] for chunk in chunks if "tollgate" in chunk), None)
        return self.heard(done, told, self.tape.notes() if stream else [])

    @staticmethod
    def whole(events) -> ChatCompletion:
        """Of an answer that did not come to its end, its helper makes an error."""
        try:
            return events.until_done().get_final_completion()
        except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
            return events.current_completion_snapshot

    def heard(self, done: ChatCompletion, told: dict | None, notes: list[dict]) -> Heard:
        [choice] = done.choices
        message = choice.message
        refused = message.refusal is not None
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]
        native = message.model_dump(
            mode="json", exclude_none=True, include={"role", "content", "refusal", "tool_calls", *self.kept}
        )
        for call in native.get("tool_calls", []):
            call["function"].pop("parsed_arguments", None)
        return Heard(
            message.refusal if refused else message.content or "",
            [Made(id, name, json.loads(arguments)) for id, name, arguments in calls],
            "refusal" if refused else FINISH[choice.finish_reason],
            (done.usage.prompt_tokens, done.usage.completion_tokens),
            told,
            self.tape.headers,
            [native],
            notes,
        )

    def go_on(self, history: list, heard: Heard, results: dict[str, str]) -> list:
        said = [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results.items()]
        return [*history, *heard.native, *said]

    def models(self) -> list[str]:
        return [model.id for model in self.client.models.list()]

    def open_stream(self, model: str, history: list):
        """For a client that goes away: something to iterate over, and to close."""
        return self.client.chat.completions.create(model=model, messages=history, stream=True)


class OpenAiPyResponses(OpenAiPy):
    name = "openai-py-responses"
    dialect = "responses"
    # Its API says it, and its types do not.
    more = frozenset({"store"})

    def tools(self, tools: list[dict]):
        return [
            {
                "type": "function",
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["schema"],
                "strict": True,
            }
            for tool in tools
        ] or openai.omit

    def ask(self, model: str, history: list, tools: list[dict] = (), stream: bool = False, **more) -> Heard:
        asked = {"model": model, "input": history, "tools": self.tools(tools), "store": False, **more}
        if not stream:
            done = self.client.responses.create(**asked)
            fits(Response, self.tape.json(), self.more)
            return self.heard(done, self.tape.json().get("tollgate"), [])
        with self.client.responses.stream(**asked) as events:
            seen = list(events)
        raw = self.tape.events()
        for event in raw:
            fits(ResponseStreamEvent, event, self.more)
        assert [event["sequence_number"] for event in raw] == list(range(len(raw)))
        assert [name for name, _ in self.tape.streamed() if name not in OURS] == [event["type"] for event in raw]
        if seen[-1].type == "error":
            raise openai.APIError(seen[-1].message, None, body=raw[-1])
        done = seen[-1].response
        if done.status == "failed":
            raise openai.APIError(done.error.message, None, body=raw[-1])
        told = raw[-1]["response"].get("tollgate")
        return self.heard(done, told, self.tape.notes())

    def heard(self, done: Response, told: dict | None, notes: list[dict]) -> Heard:
        calls = [item for item in done.output if item.type == "function_call"]
        refusals = [
            part.refusal
            for item in done.output
            if item.type == "message"
            for part in item.content
            if part.type == "refusal"
        ]
        finish = "calls" if calls else "stop"
        if done.status == "incomplete":
            finish = {"max_output_tokens": "length", "content_filter": "refusal"}[done.incomplete_details.reason]
        native = [item.model_dump(mode="json", exclude_none=True, exclude={"parsed_arguments"}) for item in done.output]
        for item in native:
            for part in item.get("content", []):
                part.pop("parsed", None)
        return Heard(
            "".join(refusals) or done.output_text,
            [Made(call.call_id, call.name, json.loads(call.arguments)) for call in calls],
            "refusal" if refusals else finish,
            (done.usage.input_tokens, done.usage.output_tokens),
            told,
            self.tape.headers,
            native,
            notes,
        )

    def go_on(self, history: list, heard: Heard, results: dict[str, str]) -> list:
        said = [{"type": "function_call_output", "call_id": id, "output": text} for id, text in results.items()]
        return [*history, *heard.native, *said]

    def open_stream(self, model: str, history: list):
        return self.client.responses.create(model=model, input=history, stream=True)
