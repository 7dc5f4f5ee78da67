"""The OpenAI Agents SDK as a whole program of its own: its agents have tools, and so has the gateway behind them."""

import asyncio

import httpx2
import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from harness.models import CLIENT_KEY

set_tracing_disabled(True)
EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
API = pytest.mark.parametrize("api", ["chat", "responses"])
KINDS = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}
asked_for: list[str] = []


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    asked_for.append(city)
    return "It rains."


def converse(chat, api: str, model: str, stream: bool, text: str, agent: str | None = None):
    """One run of an agent of theirs; gives its last words and what was spent."""

    async def run():
        headers = {"x-tollgate-agent": agent} if agent else {}
        client = AsyncOpenAI(
            base_url=f"{chat.url}/v1",
            api_key=CLIENT_KEY,
            max_retries=0,
            default_headers=headers,
            http_client=httpx2.AsyncClient(verify=False, timeout=30),
        )
        settings = ModelSettings(include_usage=True, store=False)
        theirs = Agent(
            name="Traveller",
            instructions="Help.",
            tools=[get_weather],
            model=KINDS[api](model=model, openai_client=client),
            model_settings=settings,
        )
        async with client:
            if not stream:
                return await Runner.run(theirs, text)
            running = Runner.run_streamed(theirs, text)
            seen = [event async for event in running.stream_events()]
            assert seen
            return running

    done = asyncio.run(run())
    spent = done.context_wrapper.usage
    return done.final_output, (spent.requests, spent.input_tokens, spent.output_tokens)


@API
@EITHER
@pytest.mark.parametrize("agent", [None, "dicer"])
def test_an_agent_runs_its_own_tool(chat, api, stream, agent):
    asked_for.clear()
    said, spent = converse(chat, api, f"{api}-client-tool", stream, "How is the weather in Paris?", agent)
    assert (said, asked_for) == ("The tool said: It rains.", ["Paris"])
    assert spent == (2, 22, 14)


@API
@EITHER
def test_a_tool_of_the_gateway_is_run_without_its_knowing(chat, api, stream):
    said, spent = converse(chat, api, f"dice-{api}", stream, "Please roll.")
    assert "42" in said
    assert spent == (1, 22, 14)


@API
@EITHER
def test_both_have_tools(chat, api, stream):
    asked_for.clear()
    said, _ = converse(chat, api, f"{api}-mixed", stream, "Roll, and say how the weather is.", "dicer")
    assert asked_for == ["Paris"]
    assert "It rains." in said
