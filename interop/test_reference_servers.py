"""The reference servers of the registry, over stdio: the ones that people try first."""

import json

from harness import rpc


def test_everything(gateway):
    assert rpc.text(rpc.call(gateway.mcp, "everything_echo", {"message": "hi"})) == "Echo: hi"
    # A name with characters that models do not allow is exposed with underscores.
    assert "5" in rpc.text(rpc.call(gateway.mcp, "everything_get_sum", {"a": 2, "b": 3}))
    weather = rpc.call(gateway.mcp, "everything_get_structured_content", {"location": "New York"})
    assert "temperature" in weather["structuredContent"]


def test_everything_prompts_and_resources(gateway):
    names = [prompt["name"] for prompt in rpc.result(gateway.mcp, "prompts/list")["prompts"]]
    assert "everything_simple_prompt" in names
    got = rpc.result(gateway.mcp, "prompts/get", {"name": "everything_simple_prompt"})
    assert got["messages"][0]["content"]["type"] == "text"
    uris = [each["uri"] for each in rpc.result(gateway.mcp, "resources/list")["resources"]]
    document = next(uri for uri in uris if uri.startswith("demo://resource/static/"))
    assert rpc.result(gateway.mcp, "resources/read", {"uri": document})["contents"][0]["text"]


def test_filesystem(gateway):
    listing = rpc.call(gateway.mcp, "filesystem_list_directory", {"path": str(gateway.files)})
    assert "note.txt" in rpc.text(listing)
    path = str(gateway.files / "note.txt")
    assert "a note" in rpc.text(rpc.call(gateway.mcp, "filesystem_read_text_file", {"path": path}))
    outside = rpc.call(gateway.mcp, "filesystem_read_text_file", {"path": "/etc/hostname"})
    assert outside["isError"] is True


def test_memory(gateway):
    entity = {"name": "gate", "entityType": "thing", "observations": ["is open"]}
    rpc.call(gateway.mcp, "memory_create_entities", {"entities": [entity]})
    graph = rpc.call(gateway.mcp, "memory_read_graph")
    known = graph.get("structuredContent") or json.loads(rpc.text(graph))
    assert "gate" in [each["name"] for each in known["entities"]]
