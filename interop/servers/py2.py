"""Upstream on Python SDK 2.x: Streamable HTTP or stdio. It serves both eras; a gateway finds the modern one first."""

import os

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import Completion, ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import BaseModel

from shared import CITIES, parse_options, serve_http, state, work_slowly

options = parse_options("py2")
mcp = MCPServer(options.name, version="1.0.0", log_level="WARNING")

QUESTION = {
    "type": "object",
    "properties": {"answer": {"type": "string", "description": "Your answer"}},
    "required": ["answer"],
}


class Sum(BaseModel):
    sum: float


def answer_text(reply: ElicitResult) -> str:
    if reply.action != "accept":
        return f"No answer: {reply.action}"
    return f"You said: {(reply.content or {}).get('answer')}"


@mcp.tool(description="Says what it hears", structured_output=False)
def echo(text: str) -> str:
    return text


@mcp.tool(description="Adds two numbers")
def add(a: float, b: float) -> Sum:
    return Sum(sum=a + b)


@mcp.tool(description="Takes its time", structured_output=False)
async def slow(ms: float, ctx: Context) -> str:
    return await work_slowly(ms, ctx.report_progress)


@mcp.tool(description="How many slow calls were cancelled", structured_output=False)
def cancelled_count() -> str:
    return str(state.cancelled)


@mcp.tool(description="The number of this process", structured_output=False)
def pid() -> str:
    return str(os.getpid())


@mcp.tool(description="Asks the user", structured_output=False)
async def ask(question: str, ctx: Context) -> str | InputRequiredResult:
    if (ctx.protocol_version or "") < "2026-07-28":
        return answer_text(await ctx.session.elicit_form(question, QUESTION, ctx.request_id))
    reply = (ctx.input_responses or {}).get("answer")
    if not isinstance(reply, ElicitResult):
        params = ElicitRequestFormParams(message=question, requested_schema=QUESTION)
        # The state makes a gateway carry it: the SDK seals it on the way out and opens it on the way in.
        return InputRequiredResult(input_requests={"answer": ElicitRequest(params=params)}, request_state="asked")
    if ctx.request_state != "asked":
        return "The state was lost"
    return answer_text(reply)


@mcp.tool(description="Adds a tool", structured_output=False)
async def grow(ctx: Context) -> str:
    state.grown += 1
    number = state.grown
    mcp.add_tool(
        lambda: f"I am number {number}",
        name=f"grown_{number}",
        description="A tool that appeared at run time",
        structured_output=False,
    )
    await ctx.notify_tools_changed()
    return f"grown_{number}"


@mcp.resource(f"note://{options.name}/welcome", name="welcome", mime_type="text/plain")
def welcome() -> str:
    return f"Welcome to {options.name}"


@mcp.resource(f"note://{options.name}/topics/{{topic}}", name="topic", mime_type="text/plain")
def topic(topic: str) -> str:
    return f"About {topic}"


@mcp.prompt(description="Plans a visit")
def visit(city: str) -> str:
    return f"Plan a visit to {city}"


@mcp.completion()
async def complete(_ref, argument, _context):
    return Completion(values=[city for city in CITIES if city.startswith(argument.value)])


if options.stdio:
    mcp.run("stdio")
else:
    serve_http(mcp.streamable_http_app(), options)
