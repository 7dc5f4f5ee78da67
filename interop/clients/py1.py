"""Client on Python SDK 1.x: always the initialize handshake."""

import asyncio
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

from steps import Heard, Peer, options, run_steps


@asynccontextmanager
async def transport(target):
    if target.command:
        program, *arguments = target.command
        async with stdio_client(StdioServerParameters(command=program, args=arguments)) as streams:
            yield streams
    elif target.url.endswith("/sse"):
        async with sse_client(target.url) as streams:
            yield streams
    else:
        async with streamable_http_client(target.url) as (read, write, _session_id):
            yield read, write


async def main() -> None:
    target = options()
    heard = Heard()

    async def on_question(_context, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(**heard.reply(params.message))

    async def on_message(message) -> None:
        inner = getattr(message, "root", None)
        if isinstance(inner, types.ToolListChangedNotification):
            heard.tools_changed.set()
        if isinstance(inner, types.ResourceUpdatedNotification):
            heard.resource_updated.set()

    async with transport(target) as streams:
        async with ClientSession(*streams, elicitation_callback=on_question, message_handler=on_message) as session:
            answer = await session.initialize()

            async def cancel() -> None:
                # This generation does not tell the server by itself. The last request has the previous number.
                params = types.CancelledNotificationParams(requestId=session._request_id - 1, reason="test")
                await session.send_notification(
                    types.ClientNotification(
                        types.CancelledNotification(method="notifications/cancelled", params=params)
                    )
                )

            async def watch_tools() -> None:
                """Changes come unasked on the stream of the session."""

            async def watch_resource(uri: str) -> None:
                await session.subscribe_resource(AnyUrl(uri))

            peer = Peer(
                client=session,
                protocol=str(answer.protocolVersion),
                prompt_ref=lambda name: types.PromptReference(type="ref/prompt", name=name),
                uri=AnyUrl,
                cancel=cancel,
                watch_tools=watch_tools,
                watch_resource=watch_resource,
            )
            await run_steps(peer, heard, target.steps)


asyncio.run(main())
