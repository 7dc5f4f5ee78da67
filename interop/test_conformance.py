"""The official suite against Tollgate, as a server before both eras of upstreams, and as a client."""

import pytest

from harness import suite
from harness.gateway import Gateway
from harness.paths import tollgate
from harness.upstreams import start_fixture, url_of


@pytest.fixture(scope="module", params=[suite.LEGACY, suite.MODERN], ids="to-{}".format)
def before_fixture(request, tmp_path_factory):
    """Tollgate with one upstream that speaks one era only, and every name passed through."""
    revision = request.param
    fixture = start_fixture("legacy" if revision == suite.LEGACY else "modern")
    gateway = None
    try:
        config = {
            "names": {"pattern": "{tool}"},
            "servers": {
                "fixture": {"transport": "streamable-http", "url": url_of(fixture), "protocol": revision},
            },
        }
        gateway = Gateway(tmp_path_factory.mktemp("conformance"), config)
        gateway.wait_for_tools({"test_simple_text"})
        yield gateway, revision
    finally:
        if gateway:
            gateway.stop()
        fixture.stop()


@pytest.mark.parametrize("downstream", [suite.LEGACY, suite.MODERN], ids="from-{}".format)
def test_server_role(before_fixture, downstream):
    gateway, upstream = before_fixture
    suite.run_server(gateway.mcp, downstream, f"server-{downstream}-to-{upstream}.yml")


@pytest.mark.parametrize("revision", [suite.LEGACY, suite.MODERN])
def test_client_role(revision):
    suite.run_client(f"{tollgate()} conformance-client", revision, f"client-{revision}.yml")
