"""What the Python servers have in common: arguments, state, and how they are started."""

import argparse
import socket

import anyio
import uvicorn

CITIES = ["paris", "parma", "prague", "rome"]


class State:
    cancelled = 0
    grown = 0


state = State()


def parse_options(name: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--name", default=name)
    parser.add_argument("--stdio", action="store_true")
    return parser.parse_args()


async def work_slowly(ms: float, report) -> str:
    """Works in ten steps, reports each, and counts the calls that were cancelled on the way."""
    try:
        for step in range(1, 11):
            await anyio.sleep(ms / 10_000)
            await report(step, 10)
    except anyio.get_cancelled_exc_class():
        state.cancelled += 1
        raise
    return f"Worked for {ms:g} ms"


def serve_http(app, options: argparse.Namespace) -> None:
    # The socket is bound here so that the ready line can name a port chosen by the system.
    listener = socket.create_server(("127.0.0.1", options.port), backlog=128)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    port = listener.getsockname()[1]
    print(f"{options.name} is ready on http://127.0.0.1:{port}/mcp", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
