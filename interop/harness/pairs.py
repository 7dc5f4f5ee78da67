"""Tollgate with the fixture of one era behind it, and every name passed through."""

from contextlib import contextmanager

from harness.gateway import Gateway
from harness.upstreams import start_fixture, url_of

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
ERA = {LEGACY: "legacy", MODERN: "modern"}


@contextmanager
def gateway_before_fixture(folder, revision: str, *more: str):
    fixture = start_fixture(ERA[revision], *more)
    gateway = None
    try:
        server = {"transport": "streamable-http", "url": url_of(fixture), "protocol": revision}
        gateway = Gateway(folder, {"names": {"pattern": "{tool}"}, "servers": {"fixture": server}})
        gateway.wait_for_tools({"test_simple_text"})
        yield gateway
    finally:
        if gateway:
            gateway.stop()
        fixture.stop()
