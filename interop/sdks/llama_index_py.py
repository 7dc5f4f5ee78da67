"""LlamaIndex: its agents over llama-index-llms-openai-like, and over the Responses class of llama-index-llms-openai."""

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAIResponses
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel
from story import COUNT, Library, run


class Count(BaseModel):
    """How many there are."""

    total: int


class LlamaIndex(Library):
    def client(self, model: str):
        raise NotImplementedError

    async def turns(self, model: str, questions: list[str], stream: bool) -> list[str]:
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return self.weather.get(city)

        tools = [FunctionTool.from_defaults(get_weather)]
        agent = FunctionAgent(tools=tools, llm=self.client(model), system_prompt="Help.", streaming=stream)
        memory = ChatMemoryBuffer.from_defaults(token_limit=8000, tokenizer_fn=str.split)
        said = []
        for question in questions:
            running = agent.run(question, memory=memory)
            pieces = [event.delta async for event in running.stream_events() if isinstance(event, AgentStream)]
            answer = await running
            assert not stream or str(answer) in "".join(pieces), (str(answer), pieces)
            said.append(str(answer))
        return said

    def structured(self, model: str) -> dict:
        return self.client(model).structured_predict(Count, PromptTemplate(COUNT)).model_dump()


class Chat(LlamaIndex):
    def client(self, model: str):
        kind = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 100_000}
        return OpenAILike(model=model, api_base=f"{self.url}/v1", api_key=self.key, max_retries=0, **kind)


class Responses(LlamaIndex):
    def client(self, model: str):
        more = {"context_window": 100_000, "store": False, "include": ["reasoning.encrypted_content"]}
        # It always sends a temperature. Models that reason refuse one, and only what an agent sends is fitted.
        model = f"fitted-{model}" if model.startswith("weather-") else model
        return OpenAIResponses(model=model, api_base=f"{self.url}/v1", api_key=self.key, max_retries=0, **more)


if __name__ == "__main__":
    run({"chat": Chat, "responses": Responses})
