"""Client on Python SDK 2.x: the stateless revision, the handshake, or whichever the server speaks."""

import asyncio
from contextlib import AsyncExitStack

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

from steps import Heard, Peer, options, run_steps

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


def server_of(target):
    if target.command:
        program, *arguments = target.command
        return StdioServerParameters(command=program, args=arguments)
    return sse_client(target.url) if target.url.endswith("/sse") else target.url


async def main() -> None:
    target = options()
    heard = Heard()

    async def on_question(_context, params) -> types.ElicitResult:
        return types.ElicitResult(**heard.reply(params.message))

    async def on_message(message) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.tools_changed.set()
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.resource_updated.set()

    client = Client(
        server_of(target),
        mode=MODES[target.era],
        elicitation_callback=on_question,
        message_handler=on_message,
        cache=None,
    )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(client)

        async def cancel() -> None:
            """Cancelling the task is enough: the SDK tells the server."""

        modern = client.protocol_version >= "2026-07-28"

        async def watch_tools() -> None:
            # On the handshake revisions changes come unasked.
            if modern:
                await stack.enter_async_context(client.listen(tools_list_changed=True))

        async def watch_resource(uri: str) -> None:
            if modern:
                await stack.enter_async_context(client.listen(resource_subscriptions=[uri]))
            else:
                await client.subscribe_resource(uri)

        peer = Peer(
            client=client,
            protocol=client.protocol_version,
            prompt_ref=lambda name: types.PromptReference(name=name),
            uri=str,
            cancel=cancel,
            watch_tools=watch_tools,
            watch_resource=watch_resource,
        )
        await run_steps(peer, heard, target.steps)


asyncio.run(main())
