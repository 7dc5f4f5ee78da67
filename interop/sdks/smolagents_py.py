"""smolagents: its agent that calls tools, which writes its history as text and ends by a tool of its own."""

import json

from smolagents import OpenAIServerModel, ToolCallingAgent, tool
from smolagents.monitoring import LogLevel
from story import COUNT, TOTAL, Library, run


class Chat(Library):
    def client(self, model: str):
        return OpenAIServerModel(model, api_base=f"{self.url}/v1", api_key=self.key, client_kwargs={"max_retries": 0})

    def turns(self, model: str, questions: list[str], stream: bool) -> list[str]:
        weather = self.weather

        @tool
        def get_weather(city: str) -> str:
            """The weather of a city.

            Args:
                city: where
            """
            return weather.get(city)

        quiet = {"verbosity_level": LogLevel.OFF, "max_steps": 4, "stream_outputs": stream}
        agent = ToolCallingAgent([get_weather], self.client(model), **quiet)
        return [str(agent.run(question, reset=at == 0)) for at, question in enumerate(questions)]

    def structured(self, model: str) -> dict:
        form = {"type": "json_schema", "json_schema": {"name": "count", "schema": TOTAL, "strict": True}}
        asked = [{"role": "user", "content": [{"type": "text", "text": COUNT}]}]
        return json.loads(self.client(model).generate(asked, response_format=form).content)


if __name__ == "__main__":
    run({"chat": Chat})
