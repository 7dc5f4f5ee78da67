"""google-genai for Python."""

import httpx2
from google import genai
from google.genai import types
from google.genai.errors import APIError, ClientError, ServerError

from fronts.heard import Heard, Made
from fronts.tape import Tape

FINISH = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "refusal"}


class GeminiPy:
    name = "gemini-py"
    dialect = "gemini"
    # It has two classes; the status tells the rest.
    errors = {
        "bad request": ClientError,
        "unauthenticated": ClientError,
        "forbidden": ClientError,
        "not found": ClientError,
        "rate limit": ClientError,
        "server": ServerError,
        "stream": APIError,
    }

    def __init__(self, url: str, key: str = "none", headers: dict[str, str] | None = None):
        self.tape = Tape()
        client = httpx2.Client(transport=self.tape, timeout=60)
        # Else it makes one of its own, and reads certificates for it.
        unused = httpx2.AsyncClient(verify=False)
        options = types.HttpOptions(base_url=url, httpx_client=client, httpx_async_client=unused, headers=headers)
        self.client = genai.Client(api_key=key, http_options=options)

    def begin(self, text: str) -> list:
        return [{"role": "user", "parts": [{"text": text}]}]

    def hang_up(self) -> None:
        self.tape.close()

    def status(self, error: APIError) -> int:
        return error.code

    def code(self, error: APIError) -> str | None:
        return error.status

    def config(self, tools: list[dict], more: dict) -> types.GenerateContentConfig:
        declared = [
            types.FunctionDeclaration(
                name=tool["name"], description=tool["description"], parameters_json_schema=tool["schema"]
            )
            for tool in tools
        ]
        return types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=declared)] if declared else None, **more
        )

    def ask(self, model: str, history: list, tools: list[dict] = (), stream: bool = False, **more) -> Heard:
        asked = {"model": model, "contents": history, "config": self.config(tools, more)}
        if not stream:
            done = [self.client.models.generate_content(**asked)]
            raw = [self.tape.json()]
        else:
            done = list(self.client.models.generate_content_stream(**asked))
            # This client reads nothing but data: not even comments.
            assert all(name is None for name, _ in self.tape.streamed())
            raw = self.tape.events()
        told = [event.pop("tollgate") for event in raw if "tollgate" in event]
        for event in raw:
            types.GenerateContentResponse.model_validate(event)
        return self.heard(done, told[-1] if told else None, told[:-1])

    def heard(self, done: list[types.GenerateContentResponse], told: dict | None, notes: list[dict]) -> Heard:
        candidates = [response.candidates[0] for response in done if response.candidates]
        parts = [part for one in candidates if one.content for part in one.content.parts or []]
        calls = [part.function_call for part in parts if part.function_call]
        reasons = [one.finish_reason.value for one in candidates if one.finish_reason]
        assert len(reasons) == 1, reasons
        spent = done[-1].usage_metadata
        kept = [part for part in parts if part.text != "" or part.thought_signature]
        return Heard(
            "".join(part.text for part in parts if part.text and not part.thought),
            [Made(call.id, call.name, call.args) for call in calls],
            "calls" if calls else FINISH[reasons[0]],
            (spent.prompt_token_count, (spent.candidates_token_count or 0) + (spent.thoughts_token_count or 0)),
            told,
            self.tape.headers,
            [types.Content(role="model", parts=kept)],
            notes,
        )

    def go_on(self, history: list, heard: Heard, results: dict[str, str]) -> list:
        names = {call.id: call.name for call in heard.calls}
        said = [
            types.Part(function_response=types.FunctionResponse(id=id, name=names[id], response={"output": text}))
            for id, text in results.items()
        ]
        return [*history, *heard.native, types.Content(role="user", parts=said)]

    def open_stream(self, model: str, history: list):
        return self.client.models.generate_content_stream(model=model, contents=history)
