"""LiteLLM: each of its ways to a provider, pointed at the gateway."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from litellm.types.router import LiteLLM_Params
from pydantic import BaseModel, ConfigDict
from story import CITY, MAX_ROUNDS, Library, run

litellm.suppress_debug_info = True
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather of a city", "parameters": CITY},
}


class Count(BaseModel):
    model_config = ConfigDict(extra="forbid")
    total: int


class LiteLlm(Library):
    provider = ""
    path = ""

    def given(self, model: str) -> dict:
        return {
            "model": f"{self.provider}/{model}",
            "api_base": self.url + self.path,
            "api_key": self.key,
            "num_retries": 0,
            "timeout": 30,
        }

    def turns(self, model: str, questions: list[str], stream: bool) -> list[str]:
        history, said = [], []
        for question in questions:
            history.append({"role": "user", "content": question})
            said.append(self.turn(model, history, stream))
        return said

    def turn(self, model: str, history: list, stream: bool) -> str:
        for _ in range(MAX_ROUNDS):
            done = litellm.completion(**self.given(model), messages=history, tools=[TOOL], stream=stream)
            if stream:
                done = litellm.stream_chunk_builder(list(done), messages=history)
            message = done.choices[0].message
            history.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                text = self.weather.get(litellm.json.loads(call.function.arguments)["city"])
                history.append({"role": "tool", "tool_call_id": call.id, "content": text})
        raise AssertionError("it calls for ever")

    def structured(self, model: str) -> dict:
        asked = [{"role": "user", "content": "How many are there?"}]
        done = litellm.completion(**self.given(model), messages=asked, response_format=Count)
        return Count.model_validate_json(done.choices[0].message.content).model_dump()


class Chat(LiteLlm):
    provider, path = "openai", "/v1"

    def models(self) -> list[str]:
        where = LiteLLM_Params(model="openai/any", api_base=f"{self.url}/v1", api_key=self.key)
        return litellm.get_valid_models(True, "openai", litellm_params=where)


class Anthropic(LiteLlm):
    provider = "anthropic"


class Gemini(LiteLlm):
    provider, path = "gemini", "/v1beta"


class Responses(LiteLlm):
    provider, path = "openai", "/v1"

    def turn(self, model: str, history: list, stream: bool) -> str:
        tool = {"type": "function", **TOOL["function"], "strict": False}
        for _ in range(MAX_ROUNDS):
            done = litellm.responses(**self.given(model), input=history, tools=[tool], stream=stream, store=False)
            if stream:
                [done] = [event.response for event in done if event.type == "response.completed"]
            history += [item if isinstance(item, dict) else item.model_dump(exclude_none=True) for item in done.output]
            calls = [item for item in history[-len(done.output) :] if item["type"] == "function_call"]
            if not calls:
                return "".join(part["text"] for part in history[-1]["content"])
            for call in calls:
                text = self.weather.get(litellm.json.loads(call["arguments"])["city"])
                history.append({"type": "function_call_output", "call_id": call["call_id"], "output": text})
        raise AssertionError("it calls for ever")

    def structured(self, model: str) -> dict:
        done = litellm.responses(**self.given(model), input="How many are there?", text_format=Count, store=False)
        item = done.output[-1]
        item = item if isinstance(item, dict) else item.model_dump()
        return Count.model_validate_json(item["content"][0]["text"]).model_dump()


if __name__ == "__main__":
    run({"chat": Chat, "responses": Responses, "anthropic": Anthropic, "gemini": Gemini})
