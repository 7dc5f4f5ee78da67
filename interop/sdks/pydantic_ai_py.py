"""pydantic-ai: each of its models, with the answer as a tool and as JSON of the provider."""

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, Tool, ToolOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from story import COUNT, Library, run


class Count(BaseModel):
    """How many there are."""

    total: int


class PydanticAi(Library):
    ways = (NativeOutput, ToolOutput)
    provider_class = OpenAIProvider
    path = "/v1"

    def __init__(self, url: str, key: str):
        super().__init__(url, key)
        # One for all: each makes a client of its own, which takes longer than a request.
        self.provider = self.provider_class(base_url=f"{url}{self.path}", api_key=key)

    def client(self, model: str):
        raise NotImplementedError

    async def turns(self, model: str, questions: list[str], stream: bool) -> list[str]:
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return self.weather.get(city)

        agent = Agent(self.client(model), tools=[Tool(get_weather)], instructions="Help.")
        history, said = [], []
        for question in questions:
            if stream:
                async with agent.run_stream(question, message_history=history) as running:
                    said.append(await running.get_output())
                    history = running.all_messages()
            else:
                done = await agent.run(question, message_history=history)
                said.append(done.output)
                history = done.all_messages()
        return said

    async def structured(self, model: str) -> dict:
        found = []
        for way in self.ways:
            done = await Agent(self.client(model), output_type=way(Count)).run(COUNT)
            found.append(done.output)
        assert all(one == found[0] for one in found), found
        return found[0].model_dump()


class Chat(PydanticAi):
    def client(self, model: str):
        return OpenAIChatModel(model, provider=self.provider)


class Responses(PydanticAi):
    def client(self, model: str):
        return OpenAIResponsesModel(model, provider=self.provider)


class Anthropic(PydanticAi):
    provider_class, path = AnthropicProvider, ""
    # It asks for the other only where it knows the model's name.
    ways = (ToolOutput,)

    def client(self, model: str):
        return AnthropicModel(model, provider=self.provider)


class Gemini(PydanticAi):
    provider_class, path = GoogleProvider, ""

    def client(self, model: str):
        return GoogleModel(model, provider=self.provider)


if __name__ == "__main__":
    run({"chat": Chat, "responses": Responses, "anthropic": Anthropic, "gemini": Gemini})
