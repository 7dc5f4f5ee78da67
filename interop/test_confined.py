"""Real servers under a tight sandbox: what they are made of, what they work on, and no network."""

import sys
from pathlib import Path

import pytest
from harness import rpc
from harness.gateway import Gateway
from harness.paths import NODE, PACKAGES, PYTHON_V2, reference_server

PYTHON = """
from mcp.server import MCPServer
server = MCPServer("sums")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
@server.tool()
def read(path: str) -> str:
    return open(path).read()
server.run()
"""


@pytest.fixture(scope="module")
def confined(tmp_path_factory):
    folder = tmp_path_factory.mktemp("confined")
    files, code = folder / "files", folder / "code"
    files.mkdir()
    code.mkdir()
    (files / "note.txt").write_text("a note")
    (code / "sums.py").write_text(PYTHON)
    tight = {"network": "deny", "memory_mb": 1024, "file_size_mb": 1, "open_files": 256}
    gateway = Gateway(folder, {"servers": {
        "files": {
            "command": [str(NODE), str(reference_server("filesystem")), str(files)],
            "sandbox": {**tight, "read": [str(PACKAGES)], "write": [str(files)]},
        },
        "sums": {
            "command": [str(PYTHON_V2), str(code / "sums.py")],
            "sandbox": {**tight, "read": [str(PYTHON_V2.parent.parent), sys.base_prefix, str(code)]},
        },
    }})
    gateway.files = files
    gateway.wait_for_tools({"files_read_text_file", "sums_add"})
    yield gateway
    gateway.stop()


def test_a_node_server_works_on_what_it_was_given(confined):
    path = str(confined.files / "note.txt")
    assert "a note" in rpc.text(rpc.call(confined.mcp, "files_read_text_file", {"path": path}))
    new = str(confined.files / "new.txt")
    rpc.call(confined.mcp, "files_write_file", {"path": new, "content": "x"})
    assert Path(new).read_text() == "x"


def test_a_python_server_works_and_sees_nothing_else(confined):
    assert "5" in rpc.text(rpc.call(confined.mcp, "sums_add", {"a": 2, "b": 3}))
    for path in (confined.files / "note.txt", confined.files.parent / "tollgate.yaml"):
        outcome = rpc.call(confined.mcp, "sums_read", {"path": str(path)})
        assert outcome["isError"] is True, path
