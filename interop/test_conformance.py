"""The official suite against Tollgate, as a server before both eras of upstreams, and as a client."""

import pytest

from harness import suite
from harness.pairs import LEGACY, MODERN, gateway_before_fixture
from harness.paths import tollgate


@pytest.fixture(scope="module", params=[LEGACY, MODERN], ids="to-{}".format)
def before_fixture(request, tmp_path_factory):
    with gateway_before_fixture(tmp_path_factory.mktemp("conformance"), request.param) as gateway:
        yield gateway, request.param


@pytest.mark.parametrize("downstream", [LEGACY, MODERN], ids="from-{}".format)
def test_server_role(before_fixture, downstream):
    gateway, upstream = before_fixture
    suite.run_server(gateway.mcp, downstream, f"server-{downstream}-to-{upstream}.yml")


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_client_role(revision):
    suite.run_client(f"{tollgate()} conformance-client", revision, f"client-{revision}.yml")
