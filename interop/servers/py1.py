"""Upstream on Python SDK 1.x: Streamable HTTP with sessions, or stdio. Handshake revisions only."""

import os
import weakref

from mcp.server.fastmcp import Context, FastMCP
from mcp.server.lowlevel import NotificationOptions
from mcp.types import Completion, ElicitRequestedSchema
from pydantic import BaseModel

from shared import CITIES, parse_options, serve_http, state, work_slowly

options = parse_options("py1")
# A tool that appears is announced to every session that has listed tools, not only to the one that asked for it.
sessions: weakref.WeakSet = weakref.WeakSet()


class Server(FastMCP):
    async def list_tools(self):
        sessions.add(self.get_context().session)
        return await super().list_tools()


mcp = Server(options.name, log_level="WARNING")
# This SDK declares listChanged only when told so.
mcp._mcp_server.notification_options = NotificationOptions(tools_changed=True)

QUESTION: ElicitRequestedSchema = {
    "type": "object",
    "properties": {"answer": {"type": "string", "description": "Your answer"}},
    "required": ["answer"],
}


class Sum(BaseModel):
    sum: float


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
async def ask(question: str, ctx: Context) -> str:
    reply = await ctx.session.elicit(question, QUESTION, ctx.request_id)
    if reply.action != "accept":
        return f"No answer: {reply.action}"
    return f"You said: {(reply.content or {}).get('answer')}"


@mcp.tool(description="Adds a tool", structured_output=False)
async def grow() -> str:
    state.grown += 1
    number = state.grown
    mcp.add_tool(
        lambda: f"I am number {number}",
        name=f"grown_{number}",
        description="A tool that appeared at run time",
        structured_output=False,
    )
    for session in list(sessions):
        await session.send_tool_list_changed()
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
