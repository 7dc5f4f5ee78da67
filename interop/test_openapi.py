"""The document of the API against the gateway: requests are made of it by schemathesis, and answers held against it.

Whatever is made up here is sent to a gateway of its own, with a data directory that is thrown away; see `LEFT_OUT` and
`DRY` for what would do harm all the same.
"""

import json
import urllib.error
import urllib.request

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from harness.gateway import Gateway
from harness.upstreams import stdio_entry

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
# Requests that are made of each operation, and of what breaks its rules.
EXAMPLES = {GenerationMode.POSITIVE: 5, GenerationMode.NEGATIVE: 3}

LEFT_OUT = {
    "writeConfig": "it would replace the config that the test runs on; checkConfig takes the same text",
    "tryServer": "it would start whatever command was made up",
    "events": "a stream without an end",
    "followAudit": "a stream without an end",
    "searchRegistry": "it asks a registry elsewhere",
}
# These would write servers with made-up commands into the config, and start them.
DRY = {"addServer", "replaceServer", "removeServer", "enableServer", "disableServer"}
# A machine that is busy has no worker for a program in time: 503 is an answer that the document has.
MAY_BE_BUSY = {"runProgram"}
# What is there, beside what is not, so that not every answer is a 404.
KNOWN = {
    "/api/servers/{id}": {"id": ["dice", "small", "away", "nobody"]},
    "/mcp/test/{server}": {"server": ["dice", "small", "nobody"]},
    "/api/tools/{server}/{tool}": {"server": ["dice", "small", "nobody"], "tool": ["roll_dice", "echo", "nothing"]},
    "/api/agents/{name}": {"name": ["default", "nobody"]},
}


@schemathesis.serializer("application/x-ndjson")
def lines(_, value):
    return str(value).encode()


@schemathesis.serializer("application/sdp")
def description(_, value):
    return str(value).encode()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    servers = {"small": stdio_entry("ts1_pipe"), "away": {"url": "http://127.0.0.1:9/mcp", "start": "lazy"}}
    started = Gateway(tmp_path_factory.mktemp("openapi"), {"servers": servers})
    try:
        started.wait_for_tools({"small_echo"})
        yield started
    finally:
        started.stop()


def document_of(gateway) -> dict:
    request = urllib.request.Request(f"{gateway.url}/api/openapi.json")
    request.add_header("authorization", f"Bearer {gateway.admin_token()}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def with_names(document: dict) -> dict:
    for path, methods in document["paths"].items():
        names = next((known for prefix, known in KNOWN.items() if path.startswith(prefix)), {})
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path" and parameter["name"] in names:
                    parameter["schema"] = {"enum": names[parameter["name"]]}
    return document


def tried(operation, mode, key: str) -> None:
    name = operation.definition.raw["operationId"]
    checks = [check for check in CHECKS if name not in MAY_BE_BUSY or check is not not_a_server_error]

    # The same requests each time; what fails is sent again only by whoever looks into it.
    @settings(
        max_examples=EXAMPLES[mode],
        phases=(Phase.generate,),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case):
        if name in DRY:
            case.query = {**(case.query or {}), "dry_run": "true"}
        case.call_and_validate(headers={"authorization": f"Bearer {key}"}, checks=checks, timeout=20)

    try:
        check()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, "there is always a good request"


def test_every_answer_is_as_it_is_described(gateway):
    described = schemathesis.openapi.from_dict(with_names(document_of(gateway)))
    described.config.update(base_url=gateway.url)
    operations = [found.ok() for found in described.exclude(operation_id=list(LEFT_OUT)).get_all_operations()]
    assert len(operations) > 60
    failed = []
    for operation in operations:
        for mode in EXAMPLES:
            try:
                tried(operation, mode, gateway.admin_token())
            except (Exception, FailureGroup) as error:  # all of them are told at the end
                words = "\n".join(str(part) for part in getattr(error, "exceptions", [error]))
                failed.append(f"{operation.label}, {mode}: {words[:2000]}")
    assert not failed, "\n\n".join(failed)


def test_nothing_is_told_to_strangers(gateway):
    """Whoever has no key gets 401 from everything but what is open."""
    for path, methods in document_of(gateway)["paths"].items():
        if not path.startswith("/api/"):
            continue
        for method, operation in methods.items():
            request = urllib.request.Request(f"{gateway.url}{path}".replace("{", "").replace("}", ""))
            request.method = method.upper()
            if operation["security"]:
                with pytest.raises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(request, timeout=10)
                assert refused.value.code == 401, f"{method} {path}"
