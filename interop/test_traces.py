"""One connected trace from a real client through the gateway to real servers and back, told to a collector by OTLP."""

import json
import secrets
import time
import urllib.request

import pytest

from harness.clients import run_client
from harness.collector import Collector, attributes
from harness.gateway import Gateway
from harness.paths import program
from harness.process import wait_for
from harness.upstreams import start_http, url_of
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

INTERNAL, SERVER, CLIENT = Span.SPAN_KIND_INTERNAL, Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT
SERVERS = {"old_web": "witness1", "old_pipe": "witness1", "new_web": "witness2", "new_pipe": "witness2"}
OFTEN = {"spans_every_ms": 50, "metrics_every_ms": 100}


@pytest.fixture(scope="module")
def collector():
    started = Collector()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def witnesses():
    started = {name: start_http(name) for name in ("witness1", "witness2")}
    yield {
        name: {"transport": "streamable-http", "url": url_of(started[kind])}
        if name.endswith("web")
        else {"transport": "stdio", "command": [*program("servers", kind), "--stdio"]}
        for name, kind in SERVERS.items()
    }
    for process in started.values():
        process.stop()


@pytest.fixture(scope="module", params=["http/protobuf", "http/json"])
def gateway(request, tmp_path_factory, collector, witnesses):
    otlp = {"endpoint": collector.url, "protocol": request.param, "headers": {"x-scope": "mine"}, **OFTEN}
    telemetry = {"otlp": otlp, "service_name": "the gate", "resource": {"region": "eu"}, "capture": "redacted"}
    agents = {"default": {"tools": ["*"], "auto_execute": ["*"]}}
    config = {"servers": witnesses, "telemetry": telemetry, "agents": agents}
    started = Gateway(tmp_path_factory.mktemp("traced"), config)
    started.wait_for_tools({f"{name}_witness" for name in SERVERS}, 30)
    yield started
    started.stop()


def new_parent() -> tuple[str, str, str]:
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return f"00-{trace}-{span}-01", trace, span


def of_trace(collector: Collector, trace: str, count: int) -> dict[str, Span]:
    """The spans of one trace by name, once there are so many."""

    def there():
        found = [span for span in collector.spans() if span.trace_id.hex() == trace]
        return {span.name: span for span in found} if len(found) >= count else None

    return wait_for(f"{count} spans", there, 30)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("client", ["py1", "py2"])
def test_one_trace_from_client_to_server(gateway, collector, client, server):
    parent, trace, span = new_parent()
    tool = f"{server}_witness"
    meta = {"traceparent": parent, "tracestate": "rojo=1", "baggage": "user=ada", "vendor/x": "kept"}
    seen = run_client(client, [{"do": "call", "name": tool, "meta": meta}], url=gateway.mcp)["steps"][0]
    witnessed = json.loads(seen["result"]["content"][0]["text"])

    spans = of_trace(collector, trace, 3)
    served, call, asked = spans[f"tools/call {tool}"], spans[f"execute_tool {tool}"], spans["tools/call witness"]
    assert [served.kind, call.kind, asked.kind] == [SERVER, INTERNAL, CLIENT]
    assert served.parent_span_id.hex() == span
    assert call.parent_span_id == served.span_id
    assert asked.parent_span_id == call.span_id
    assert all(it.trace_state == "rojo=1" and it.end_time_unix_nano >= it.start_time_unix_nano for it in spans.values())
    assert all(it.status.code == Status.STATUS_CODE_UNSET for it in spans.values())

    # The server is beneath the span that tells of the request to it.
    expected = f"00-{trace}-{asked.span_id.hex()}-01"
    assert witnessed["meta"]["traceparent"] == expected
    assert witnessed["meta"]["tracestate"] == "rojo=1"
    assert witnessed["meta"]["vendor/x"] == "kept"
    assert "baggage" not in witnessed["meta"]
    assert witnessed["traceparent"] == (expected if server.endswith("web") else None)

    about = attributes(asked.attributes)
    assert about["mcp.method.name"] == "tools/call"
    assert about["gen_ai.operation.name"] == "execute_tool"
    assert about["gen_ai.tool.name"] == "witness"
    assert about["network.transport"] == ("tcp" if server.endswith("web") else "pipe")
    assert about["mcp.protocol.version"] == ("2026-07-28" if server.startswith("new") else "2025-11-25")
    assert ("server.port" in about) == server.endswith("web")
    assert attributes(served.attributes)["mcp.protocol.version"] == {"py1": "2025-11-25", "py2": "2026-07-28"}[client]
    told = attributes(call.attributes)
    assert told["gen_ai.agent.name"] == "default"
    assert told["tollgate.outcome"] == "ok"
    assert json.loads(told["gen_ai.tool.call.arguments"]) == {}
    assert "traceparent" in told["gen_ai.tool.call.result"]


def test_a_failing_tool_is_an_error_of_its_spans(gateway, collector):
    parent, trace, _ = new_parent()
    step = {"do": "call", "name": "new_web_witness", "arguments": {"fail": True}, "meta": {"traceparent": parent}}
    run_client("py2", [step], url=gateway.mcp)
    for span in of_trace(collector, trace, 3).values():
        assert span.status.code == Status.STATUS_CODE_ERROR, span.name
        assert attributes(span.attributes)["error.type"] == "tool_error", span.name


def test_who_tells_is_told(gateway, collector):
    parent, trace, _ = new_parent()
    run_client("py2", [{"do": "call", "name": "new_web_witness", "meta": {"traceparent": parent}}], url=gateway.mcp)
    of_trace(collector, trace, 3)
    traces = [it for it in collector.requests if hasattr(it, "resource_spans")]
    said = attributes(traces[-1].resource_spans[0].resource.attributes)
    assert said["service.name"] == "the gate"
    assert said["region"] == "eu"
    assert all(headers["x-scope"] == "mine" for headers in collector.headers)


def test_what_a_client_does_not_want_is_not_told(gateway, collector):
    trace = secrets.token_hex(16)
    meta = {"traceparent": f"00-{trace}-{secrets.token_hex(8)}-00"}
    seen = run_client("py2", [{"do": "call", "name": "new_pipe_witness", "meta": meta}], url=gateway.mcp)["steps"][0]
    witnessed = json.loads(seen["result"]["content"][0]["text"])
    assert witnessed["meta"]["traceparent"].startswith(f"00-{trace}-")
    assert witnessed["meta"]["traceparent"].endswith("-00")
    time.sleep(0.3)
    assert not [span for span in collector.spans() if span.trace_id.hex() == trace]


def chat(gateway, parent: str, **more) -> dict:
    body = {"model": "default", "messages": [{"role": "user", "content": "roll 2d6 please"}], **more}
    headers = {"content-type": "application/json", "traceparent": parent}
    request = urllib.request.Request(f"{gateway.url}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


@pytest.mark.parametrize("streams", [False, True])
def test_a_turn_of_an_agent_is_one_trace(gateway, collector, streams):
    parent, trace, span = new_parent()
    chat(gateway, parent, stream=streams)
    # Asked twice: before the call and after it.
    spans = of_trace(collector, trace, 5)
    served, agent = spans["POST /v1/chat/completions"], spans["invoke_agent default"]
    assert served.parent_span_id.hex() == span
    assert agent.parent_span_id == served.span_id
    model = spans["chat offline"]
    assert model.parent_span_id == agent.span_id
    about = attributes(model.attributes)
    assert about["gen_ai.operation.name"] == "chat"
    assert about["gen_ai.request.model"] == "offline"
    assert about["gen_ai.usage.input_tokens"] > 0
    assert ("gen_ai.response.time_to_first_chunk" in about) == streams
    call = next(span for name, span in spans.items() if name.startswith("execute_tool "))
    assert call.parent_span_id == agent.span_id
    assert attributes(served.attributes)["http.response.status_code"] == 200


def test_metrics_have_the_names_and_buckets_of_the_conventions(gateway, collector):
    parent, trace, _ = new_parent()
    run_client("py2", [{"do": "call", "name": "new_web_witness", "meta": {"traceparent": parent}}], url=gateway.mcp)
    chat(gateway, parent)
    of_trace(collector, trace, 8)
    collector.forget()
    wanted = {
        "mcp.client.operation.duration": (14, "s"),
        "mcp.server.operation.duration": (14, "s"),
        "gen_ai.client.operation.duration": (14, "s"),
        "gen_ai.client.token.usage": (14, "{token}"),
        "gen_ai.execute_tool.duration": (14, "s"),
        "gen_ai.invoke_agent.duration": (13, "s"),
    }
    metrics = wait_for("metrics", lambda: wanted.keys() <= collector.metrics().keys() and collector.metrics(), 30)
    for name, (bounds, unit) in wanted.items():
        metric = metrics[name]
        assert metric.unit == unit
        for point in metric.histogram.data_points:
            assert len(point.explicit_bounds) == bounds
            assert sum(point.bucket_counts) == point.count > 0
            assert point.min <= point.sum <= point.max * point.count
    assert metrics["tollgate.telemetry.spans.dropped"].sum.data_points[0].as_int == 0


@pytest.mark.parametrize("mode", ["away", "slow", "unavailable", "garbage", "nonsense"])
def test_calls_do_not_care_what_becomes_of_the_collector(tmp_path, witnesses, mode):
    collector = Collector()
    collector.mode = mode
    if mode == "away":
        collector.stop()
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "20",
        "OTEL_METRIC_EXPORT_INTERVAL": "20",
        "OTEL_BSP_MAX_QUEUE_SIZE": "16",
    }
    gateway = Gateway(tmp_path, {"servers": {"new_pipe": witnesses["new_pipe"]}}, env=variables)
    try:
        gateway.wait_for_tools({"new_pipe_witness"}, 30)
        steps = [{"do": "call", "name": "new_pipe_witness"} for _ in range(40)]
        seen = run_client("py2", steps, url=gateway.mcp)["steps"]
        for step in seen:
            assert not step["result"].get("isError"), step
            # A span is made, whoever hears of it.
            assert json.loads(step["result"]["content"][0]["text"])["meta"]["traceparent"].endswith("-03")
    finally:
        began = time.monotonic()
        gateway.stop()
        if mode != "away":
            collector.stop()
    assert time.monotonic() - began < 15, "the end does not wait for the collector for ever"


def test_a_collector_that_comes_back_hears_of_what_was_dropped(tmp_path, witnesses):
    collector = Collector()
    collector.mode = "nonsense"
    otlp = {"endpoint": collector.url, **OFTEN}
    config = {"servers": {"new_pipe": witnesses["new_pipe"]}, "telemetry": {"otlp": otlp}}
    gateway = Gateway(tmp_path, config)
    try:
        gateway.wait_for_tools({"new_pipe_witness"}, 30)
        run_client("py2", [{"do": "call", "name": "new_pipe_witness"}], url=gateway.mcp)
        wait_for("spans that are refused", lambda: "/v1/traces" in collector.refused, 30)
        collector.mode = "well"

        def dropped():
            metric = collector.metrics().get("tollgate.telemetry.spans.dropped")
            return metric and metric.sum.data_points[0].as_int > 0

        wait_for("a count of what was dropped", dropped, 30)
    finally:
        gateway.stop()
        collector.stop()


def test_the_log_of_a_call_says_where_it_is_in_a_trace(tmp_path, witnesses):
    variables = {"TOLLGATE_LOG": "warn,tollgate_engine=debug", "TOLLGATE_LOG_FORMAT": "json"}
    gateway = Gateway(tmp_path, {"servers": {"new_pipe": witnesses["new_pipe"]}}, env=variables)
    try:
        gateway.wait_for_tools({"new_pipe_witness"}, 30)
        parent, trace, span = new_parent()
        run_client("py1", [{"do": "call", "name": "new_pipe_witness", "meta": {"traceparent": parent}}], url=gateway.mcp)

        def told() -> dict | None:
            lines = [json.loads(line) for line in list(gateway.process.lines) if line.startswith("{")]
            return next((line for line in lines if line["message"] == "call done" and "trace_id" in line), None)

        line = wait_for("a line of the call", told, 20)
    finally:
        gateway.stop()
    assert {"call_id", "agent", "server", "tool", "exposed_name", "tier", "outcome", "took_us"} <= line.keys()
    assert (line["trace_id"], line["span_id"]) == (trace, span)
    assert (line["server"], line["tool"], line["exposed_name"]) == ("new_pipe", "witness", "new_pipe_witness")


def test_nothing_is_sent_unless_it_is_asked_for(tmp_path, witnesses):
    gateway = Gateway(tmp_path, {"servers": {"new_pipe": witnesses["new_pipe"]}})
    try:
        gateway.wait_for_tools({"new_pipe_witness"}, 30)
        seen = run_client("py2", [{"do": "call", "name": "new_pipe_witness"}], url=gateway.mcp)["steps"][0]
        assert "traceparent" not in json.loads(seen["result"]["content"][0]["text"])["meta"]
    finally:
        gateway.stop()
