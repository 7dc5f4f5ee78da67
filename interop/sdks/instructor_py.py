"""instructor: answers in a form, in its modes for OpenAI, Anthropic and Google. It runs no tools."""

from functools import cached_property

import anthropic
import instructor
import openai
from google import genai
from instructor import Mode
from pydantic import BaseModel
from story import COUNT, Library, run


class Count(BaseModel):
    """How many there are."""

    total: int


class Instructor(Library):
    modes: tuple[Mode, ...] = ()
    more: dict = {}

    def client(self, mode: Mode):
        raise NotImplementedError

    def turns(self, model: str, questions: list[str], stream: bool) -> list[str]:
        if model != "no-such-model":
            raise NotImplementedError
        return [self.count(model, self.modes[0])]

    def count(self, model: str, mode: Mode) -> BaseModel:
        asked = {"model": model, "messages": [{"role": "user", "content": COUNT}], "max_retries": 1, **self.more}
        return self.client(mode).create(response_model=Count, **asked)

    def structured(self, model: str) -> dict:
        found = [self.count(model, mode).total for mode in self.modes]
        assert len(set(found)) == 1, found
        asked = {"model": model, "messages": [{"role": "user", "content": COUNT}], **self.more}
        partly = list(self.client(self.modes[0]).create_partial(response_model=Count, **asked))
        assert partly[-1].total == found[0]
        return {"total": found[0]}


class Chat(Instructor):
    modes = (Mode.TOOLS, Mode.JSON_SCHEMA, Mode.TOOLS_STRICT)

    @cached_property
    def vendor(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=self.key, max_retries=0)

    def client(self, mode: Mode):
        return instructor.from_openai(self.vendor, mode=mode)


class Responses(Chat):
    modes = (Mode.RESPONSES_TOOLS,)


class Anthropic(Instructor):
    modes = (Mode.ANTHROPIC_TOOLS, Mode.ANTHROPIC_JSON)
    more = {"max_tokens": 4096}

    @cached_property
    def vendor(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self.url, api_key=self.key, max_retries=0)

    def client(self, mode: Mode):
        return instructor.from_anthropic(self.vendor, mode=mode)


class Gemini(Instructor):
    modes = (Mode.GENAI_TOOLS, Mode.GENAI_STRUCTURED_OUTPUTS)

    @cached_property
    def vendor(self) -> genai.Client:
        return genai.Client(api_key=self.key, http_options={"base_url": self.url})

    def client(self, mode: Mode):
        return instructor.from_genai(self.vendor, mode=mode)


if __name__ == "__main__":
    run({"chat": Chat, "responses": Responses, "anthropic": Anthropic, "gemini": Gemini})
