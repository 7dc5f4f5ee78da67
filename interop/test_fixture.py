"""The conformance fixture alone: whatever fails here is not the gateway's fault."""

import pytest

from harness import suite
from harness.pairs import LEGACY, MODERN
from harness.upstreams import start_fixture, url_of


@pytest.mark.parametrize(
    ("era", "revision"),
    [("legacy", LEGACY), ("modern", MODERN), ("both", LEGACY), ("both", MODERN)],
)
def test_fixture_conforms(era, revision):
    fixture = start_fixture(era)
    try:
        suite.run_server(url_of(fixture), revision, "fixture.yml")
    finally:
        fixture.stop()
