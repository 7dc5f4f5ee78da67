"""Four pairs of eras with the fixture behind: what the SDK servers cannot show and the suite does not check."""

import pytest

from harness.clients import run_client
from harness.pairs import LEGACY, MODERN, gateway_before_fixture
from harness.upstreams import start_fixture, url_of

WATCHED = "test://watched-resource"
STEPS = {
    "watch": {"do": "watch_resource", "uri": WATCHED},
    "touch": {"do": "call", "name": "test_touch_watched_resource"},
    "updated": {"do": "wait_resource_updated", "timeout_ms": 20_000, "limit_ms": 25_000},
    "tools": {"do": "list_tools"},
    "prompts": {"do": "list_prompts"},
    "resources": {"do": "list_resources"},
    "rounds": {
        "do": "call",
        "name": "test_input_required_result_multi_round",
        "answer": {"action": "accept", "content": {"name": "gate", "color": "green"}},
    },
}
PAGE = ["--page", "4"]


def look(client: str, url: str) -> dict[str, dict]:
    return dict(zip(STEPS, run_client(client, list(STEPS.values()), url=url)["steps"], strict=True))


@pytest.fixture(scope="module", params=[LEGACY, MODERN], ids="to-{}".format)
def gateway(request, tmp_path_factory):
    with gateway_before_fixture(tmp_path_factory.mktemp("pairs"), request.param, *PAGE) as started:
        yield started


@pytest.fixture(scope="module", params=["py1", "ts1", "py2", "ts2"], ids="from-{}".format)
def seen(request, gateway):
    return look(request.param, gateway.mcp)


@pytest.mark.parametrize(
    ("client", "era"), [("py1", "legacy"), ("ts1", "legacy"), ("py2", "modern"), ("ts2", "modern")]
)
def test_without_gateway(client, era):
    fixture = start_fixture(era, *PAGE)
    try:
        seen = look(client, url_of(fixture))
    finally:
        fixture.stop()
    test_a_watched_resource_is_announced(seen)
    test_every_page_is_read(seen)
    test_two_questions_in_a_row(seen)


def test_a_watched_resource_is_announced(seen):
    assert seen["updated"].get("heard"), seen["updated"]


def test_every_page_is_read(seen):
    names = {tool["name"] for tool in seen["tools"]["tools"]}
    assert {"json_schema_2020_12_tool", "test_error_handling", "test_tool_with_progress"} <= names
    assert {"test_simple_prompt", "test_prompt_with_image"} <= {each["name"] for each in seen["prompts"]["prompts"]}
    assert WATCHED in {each["uri"] for each in seen["resources"]["resources"]}


def test_two_questions_in_a_row(seen):
    assert seen["rounds"]["result"]["content"][0]["text"] == "gate likes green"
    assert len(seen["rounds"]["questions"]) == 2
