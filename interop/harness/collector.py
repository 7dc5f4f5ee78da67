"""A collector that speaks OTLP over HTTP, in both forms, and keeps what it hears. It can also behave badly."""

import base64
import json
import time

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from harness.listening import Listening

REQUESTS = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}
IDS = {"traceId", "spanId", "parentSpanId"}


def with_bytes(value):
    """OTLP writes ids as hexadecimal, protobuf's own JSON wants Base64."""
    if isinstance(value, dict):
        encode = lambda text: base64.b64encode(bytes.fromhex(text)).decode()
        return {key: encode(it) if key in IDS else with_bytes(it) for key, it in value.items()}
    return [with_bytes(item) for item in value] if isinstance(value, list) else value


def attributes(pairs) -> dict:
    def plain(value):
        kind = value.WhichOneof("value")
        return [plain(it) for it in value.array_value.values] if kind == "array_value" else getattr(value, kind)

    return {pair.key: plain(pair.value) for pair in pairs}


class Collector(Listening):
    protocol = "HTTP/1.1"

    def __init__(self):
        self.requests: list = []
        self.headers: list = []
        self.broken: list = []
        self.refused: list[str] = []
        self.mode = "well"
        super().__init__()
        self.url = self.address

    def posted(self, handler) -> None:
        body = handler.rfile.read(int(handler.headers["content-length"]))
        status, answer = 200, b""
        if self.mode == "slow":
            time.sleep(20)
        elif self.mode == "unavailable":
            status = 503
        elif self.mode == "garbage":
            handler.wfile.write(b"\x00\xff no HTTP at all\r\n\r\n")
            handler.close_connection = True
            return
        elif self.mode == "nonsense":
            status, answer = 400, b"{" * 1000
            self.refused.append(handler.path)
        else:
            self.keep(handler, body)
        self.answer(handler, status, "application/json", answer)

    def keep(self, handler, body: bytes) -> None:
        self.headers.append(dict(handler.headers))
        try:
            message = REQUESTS[handler.path]()
            if handler.headers["content-type"] == "application/json":
                json_format.ParseDict(with_bytes(json.loads(body)), message)
            else:
                assert handler.headers["content-type"] == "application/x-protobuf"
                message.ParseFromString(body)
                assert message.SerializeToString(deterministic=True), "there is something in it"
            self.requests.append(message)
        except Exception as error:  # noqa: BLE001 - whatever it is, a test has to see it
            self.broken.append(f"{handler.path}: {error!r}")

    def spans(self) -> list[Span]:
        assert not self.broken, self.broken
        traces = [it for it in self.requests if isinstance(it, ExportTraceServiceRequest)]
        scopes = [scope for it in traces for resource in it.resource_spans for scope in resource.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    def metrics(self) -> dict:
        """The newest of each, by name."""
        assert not self.broken, self.broken
        sent = [it for it in self.requests if isinstance(it, ExportMetricsServiceRequest)]
        scopes = [scope for it in sent for resource in it.resource_metrics for scope in resource.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def resource(self) -> dict:
        return attributes(self.requests[-1].resource_spans[0].resource.attributes)

    def forget(self) -> None:
        self.requests.clear()
        self.headers.clear()
