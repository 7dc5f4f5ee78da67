"""LangChain: langchain-openai with both APIs, langchain-anthropic, langchain-google-genai."""

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from story import COUNT, MAX_ROUNDS, Library, run


class Count(BaseModel):
    """How many there are."""

    total: int


class LangChain(Library):
    method = "json_schema"

    def client(self, model: str):
        raise NotImplementedError

    def turns(self, model: str, questions: list[str], stream: bool) -> list[str]:
        weather = self.weather

        @tool
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return weather.get(city)

        bound = self.client(model).bind_tools([get_weather])
        history, said = [], []
        for question in questions:
            history.append(HumanMessage(question))
            said.append(self.turn(bound, history, get_weather, stream))
        return said

    def turn(self, bound, history: list, get_weather, stream: bool) -> str:
        for _ in range(MAX_ROUNDS):
            if stream:
                whole = None
                for chunk in bound.stream(history):
                    whole = chunk if whole is None else whole + chunk
                answer = whole
            else:
                answer = bound.invoke(history)
            history.append(answer)
            if not answer.tool_calls:
                return answer.text if isinstance(answer.text, str) else answer.text()
            for call in answer.tool_calls:
                history.append(ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]))
        raise AssertionError("it calls for ever")

    def structured(self, model: str) -> dict:
        client = self.client(model).with_structured_output(Count, method=self.method)
        by_tool = self.client(model).with_structured_output(Count, method="function_calling")
        first, second = client.invoke(COUNT), by_tool.invoke(COUNT)
        assert first == second, (first, second)
        return first.model_dump()


class Chat(LangChain):
    def client(self, model: str):
        return ChatOpenAI(model=model, base_url=f"{self.url}/v1", api_key=self.key, max_retries=0)


class Responses(LangChain):
    def client(self, model: str):
        more = {"use_responses_api": True, "output_version": "responses/v1", "store": False}
        return ChatOpenAI(model=model, base_url=f"{self.url}/v1", api_key=self.key, max_retries=0, **more)


class Anthropic(LangChain):
    def client(self, model: str):
        return ChatAnthropic(model=model, base_url=self.url, api_key=self.key, max_retries=0, max_tokens=4096)


class Gemini(LangChain):
    def client(self, model: str):
        return ChatGoogleGenerativeAI(model=model, base_url=self.url, api_key=self.key, max_retries=1)


if __name__ == "__main__":
    run({"chat": Chat, "responses": Responses, "anthropic": Anthropic, "gemini": Gemini})
