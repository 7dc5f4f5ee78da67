"""Every client generation through /mcp to every upstream generation and transport."""

import pytest

from harness.clients import CLIENTS
from harness.story import Checks, Names, Story
from harness.upstreams import OVER_HTTP, OVER_STDIO

PAIRS = [(client, server) for server in [*OVER_HTTP, *OVER_STDIO] for client in CLIENTS]


@pytest.fixture(scope="module", params=PAIRS, ids="-to-".join)
def story(request, gateway):
    client, server = request.param
    return Story(client, Names(server, f"{server}_"), url=gateway.mcp)


class TestThroughGateway(Checks):
    pass
