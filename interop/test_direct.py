"""The story without a gateway: proves the servers, the clients and the checks themselves."""

import pytest

from harness.story import Checks, Names, Story
from harness.upstreams import url_of

# Only pairs that share an era. Python SDK 2.x announces changes to listeners of the modern era alone.
PAIRS = [("py1", "ts1"), ("ts1", "py1"), ("ts1", "sse"), ("py2", "ts2"), ("ts2", "py2")]


@pytest.fixture(scope="module", params=PAIRS, ids="-to-".join)
def story(request, upstreams):
    client, server = request.param
    return Story(client, Names(server), url=url_of(upstreams[server]))


class TestDirect(Checks):
    pass
