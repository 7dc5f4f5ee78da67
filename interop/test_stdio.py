"""The same story through `tollgate mcp` on standard input and output."""

import pytest

from harness.clients import CLIENTS
from harness.gateway import write_config
from harness.paths import tollgate
from harness.story import Checks, Names, Story

# One upstream of each era is enough here: the matrix is in test_gateway.py.
PAIRS = [(client, server) for client in CLIENTS for server in ("ts1", "ts2")]


@pytest.fixture(scope="module", params=PAIRS, ids="-to-".join)
def story(request, http_servers, tmp_path_factory):
    client, server = request.param
    config = write_config(tmp_path_factory.mktemp("stdio"), {"servers": {server: http_servers[server]}})
    command = [tollgate(), "mcp", "--config", str(config)]
    return Story(client, Names(server, f"{server}_"), command=command)


class TestThroughStdio(Checks):
    pass
