"""One turn of a voice framework's realtime service, pointed at an address: `frameworks.py NAME URL KEY MODEL`.

Prints what the framework made of it as JSON: the words it would speak, the calls it was asked for and what it calls
errors. Runs with the packages of requirements-frameworks.txt.
"""

import asyncio
import json
import sys

SAYS = "What about the moon?"
PATIENCE_S = 20
# Of the gateway's tool: the turn is over when the model has told it.
LAST = "nothing special"


class Seen:
    def __init__(self):
        self.words: list[str] = []
        self.calls: list[str] = []
        self.errors: list[str] = []

    async def last_words(self) -> None:
        for _ in range(PATIENCE_S * 10):
            if any(LAST in words for words in self.words):
                return
            await asyncio.sleep(0.1)

    def show(self) -> None:
        print(json.dumps({"words": self.words, "calls": self.calls, "errors": self.errors}))


# --- LiveKit


async def livekit(seen: Seen, model) -> None:
    """Text in, and whatever the model generates out; a call of the framework's own tool is run as its agents do."""
    from livekit.agents import function_tool, llm

    @function_tool
    async def lights(on: bool) -> str:
        """Switches the lights."""
        return "they are on"

    tasks = set()

    async def read(message) -> None:
        words = "".join([piece async for piece in message.text_stream])
        seen.words.append(words)

    async def follow(generation) -> None:
        async for message in generation.message_stream:
            await read(message)

    async def answer(generation) -> None:
        async for call in generation.function_stream:
            seen.calls.append(call.name)
            output = llm.FunctionCallOutput(call_id=call.call_id, name=call.name, output="they are on", is_error=False)
            context = session.chat_ctx.copy()
            context.insert([call, output])
            await session.update_chat_ctx(context)
            if not model.capabilities.auto_tool_reply_generation:
                session.generate_reply()

    def generated(generation) -> None:
        for work in (follow(generation), answer(generation)):
            task = asyncio.create_task(work)
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    session = model.session()
    session.on("generation_created", generated)
    session.on("error", lambda error: seen.errors.append(str(error)))
    await session.update_instructions("Be kind.")
    await session.update_tools([lights])
    context = llm.ChatContext.empty()
    context.add_message(role="user", content=SAYS)
    await session.update_chat_ctx(context)
    session.generate_reply()
    await seen.last_words()
    await session.aclose()


async def livekit_openai(seen: Seen, url: str, key: str, model: str) -> None:
    import aiohttp
    from livekit.plugins import openai

    async with aiohttp.ClientSession() as http:
        options = {"turn_detection": None, "input_audio_transcription": None, "http_session": http}
        await livekit(seen, openai.realtime.RealtimeModel(model=model, base_url=f"{url}/v1", api_key=key, **options))


async def livekit_google(seen: Seen, url: str, key: str, model: str) -> None:
    from google.genai import types
    from livekit.plugins import google

    options = types.HttpOptions(base_url=url)
    await livekit(seen, google.realtime.RealtimeModel(model=model, api_key=key, http_options=options))


# --- Pipecat


async def pipecat(seen: Seen, service) -> None:
    """A pipeline of the service alone; what it would speak comes out as text."""
    from pipecat.frames.frames import ErrorFrame, LLMRunFrame, TTSTextFrame
    from pipecat.pipeline.pipeline import Pipeline
    from pipecat.pipeline.runner import PipelineRunner
    from pipecat.pipeline.task import PipelineTask
    from pipecat.processors.aggregators.llm_context import LLMContext
    from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
    from pipecat.processors.frame_processor import FrameProcessor
    from pipecat.adapters.schemas.function_schema import FunctionSchema
    from pipecat.adapters.schemas.tools_schema import ToolsSchema

    class Ear(FrameProcessor):
        async def process_frame(self, frame, direction):
            await super().process_frame(frame, direction)
            if isinstance(frame, TTSTextFrame):
                seen.words[-1:] = [(seen.words or [""])[-1] + frame.text]
            elif isinstance(frame, ErrorFrame):
                seen.errors.append(frame.error)
            await self.push_frame(frame, direction)

    async def lights(call) -> None:
        seen.calls.append(call.function_name)
        await call.result_callback("they are on")

    service.register_function("lights", lights)
    switch = FunctionSchema("lights", "Switches the lights.", {"on": {"type": "boolean"}}, ["on"])
    context = LLMContext([{"role": "user", "content": SAYS}], tools=ToolsSchema(standard_tools=[switch]))
    pair = LLMContextAggregatorPair(context)
    task = PipelineTask(Pipeline([pair.user(), service, Ear(), pair.assistant()]))
    running = asyncio.create_task(PipelineRunner(handle_sigint=False).run(task))
    await task.queue_frame(LLMRunFrame())
    await seen.last_words()
    await task.cancel()
    await running


async def pipecat_openai(seen: Seen, url: str, key: str, model: str) -> None:
    from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService as Service

    address = url.replace("http", "ws", 1) + "/v1/realtime"
    settings = Service.Settings(model=model, system_instruction="Be kind.")
    await pipecat(seen, Service(api_key=key, base_url=address, settings=settings))


async def pipecat_google(seen: Seen, url: str, key: str, model: str) -> None:
    from google.genai.types import HttpOptions
    from pipecat.services.google.gemini_live.llm import GeminiLiveLLMService as Service

    settings = Service.Settings(model=model, system_instruction="Be kind.")
    await pipecat(seen, Service(api_key=key, settings=settings, http_options=HttpOptions(base_url=url)))


NAMED = {
    "livekit-openai": livekit_openai,
    "livekit-google": livekit_google,
    "pipecat-openai": pipecat_openai,
    "pipecat-google": pipecat_google,
}


def main(name: str, url: str, key: str, model: str) -> None:
    seen = Seen()
    asyncio.run(NAMED[name](seen, url, key, model))
    seen.show()


if __name__ == "__main__":
    main(*sys.argv[1:])
