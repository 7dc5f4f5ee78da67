"""Fixtures that several test modules share, and the list of tests that were repeated or skipped."""

import json
import os
from pathlib import Path

import pytest

from harness import models
from harness.gateway import Gateway
from harness.upstreams import OVER_HTTP, OVER_STDIO, http_entry, reference_entries, start_http, stdio_entry, url_of
from provider.server import Provider


@pytest.fixture(scope="session")
def upstreams():
    """The SDK servers over HTTP: name -> running process."""
    started = {}
    try:
        for name in OVER_HTTP:
            started[name] = start_http(name)
        yield started
    finally:
        for process in started.values():
            process.stop()


@pytest.fixture(scope="session")
def http_servers(upstreams):
    """The part of a gateway's config that names them."""
    return {name: http_entry(name, url_of(process)) for name, process in upstreams.items()}


@pytest.fixture(scope="session")
def gateway(http_servers, tmp_path_factory):
    """One Tollgate in front of every upstream there is."""
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "files").mkdir()
    (folder / "files" / "note.txt").write_text("a note")
    servers = {
        **http_servers,
        **{name: stdio_entry(name) for name in OVER_STDIO},
        **reference_entries(folder / "files"),
    }
    started = Gateway(folder, {"servers": servers})
    try:
        started.files = folder / "files"
        wanted = {f"{name}_echo" for name in [*OVER_HTTP, *OVER_STDIO, "everything"]}
        started.wait_for_tools(wanted | {"filesystem_list_directory", "memory_read_graph"})
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="session")
def models_gateway(tmp_path_factory):
    with models.started(tmp_path_factory.mktemp("models")) as running:
        yield running


@pytest.fixture
def chat(models_gateway):
    """A gateway before the fake model provider, which has seen nothing yet."""
    models_gateway.provider.forget()
    return models_gateway


@pytest.fixture(scope="session")
def started_provider():
    started = Provider()
    yield started
    started.stop()


@pytest.fixture
def provider(started_provider):
    """The fake model provider alone, which has seen nothing yet."""
    started_provider.forget()
    return started_provider


def pytest_terminal_summary(terminalreporter):
    """Names what passed only when repeated, here and for `scripts/test-report`."""
    stats = terminalreporter.stats
    passed = {report.nodeid for report in stats.get("passed", [])}
    flaky = sorted({report.nodeid for report in stats.get("rerun", [])} & passed)
    skips = stats.get("skipped", [])
    skipped = sorted((report.nodeid, str(report.longrepr[-1]).removeprefix("Skipped: ")) for report in skips)
    if flaky:
        terminalreporter.section("flaky: passed when repeated")
        for name in flaky:
            terminalreporter.line(name)
    folder = os.environ.get("TOLLGATE_TEST_REPORT")
    if folder and not hasattr(terminalreporter.config, "workerinput"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, "interop.json").write_text(json.dumps({"flaky": flaky, "skipped": skipped}))
