#!/usr/bin/env python3
"""An MCP server on standard input and output with one tool, `get_atis(icao)`. It needs Python 3.9 and nothing else.

    python3 server.py                       serves
    python3 server.py EDDF                  says one ATIS, to try it by hand
    python3 server.py --config FILE …       another config than `aerodromes.ini` beside this file
"""

import argparse
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from difflib import get_close_matches
from pathlib import Path

import metar
from aerodromes import Aerodromes, BadConfig
from source import Reports, SourceDown

INFO = {"name": "atis", "version": "1.0.0"}
MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
META = "io.modelcontextprotocol/"
LONGEST_LINE = 1024 * 1024
CALLS_AT_ONCE = 8

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
TOOL = {
    "name": "get_atis",
    "title": "ATIS of an aerodrome",
    "description": "Gives the current ATIS of an aerodrome: runway in use, wind, visibility, weather, clouds, "
    "temperature, pressure. `atis_text` can be read aloud.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "icao": {
                "type": "string",
                "description": "ICAO code, four letters, for example EDDF",
                "examples": ["EDDF"],
                "maxLength": 8,
            },
        },
        "required": ["icao"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {
            "icao": TEXT,
            "name": TEXT,
            "information": {"type": "string", "description": "The letter, as a word"},
            "observed": {"type": "string", "description": "When the weather was observed, in UTC"},
            "runway_in_use": TEXT,
            "wind": {"type": "object"},
            "visibility_m": NUMBER,
            "weather": {"type": "array", "items": TEXT},
            "clouds": {"type": "array", "items": {"type": "object"}},
            "temperature_c": NUMBER,
            "dew_point_c": NUMBER,
            "qnh_hpa": NUMBER,
            "frequencies": {"type": "array", "items": {"type": "object"}},
            "remarks": TEXT,
            "metar": TEXT,
            "age_seconds": {"type": "integer", "description": "How long ago the report was fetched"},
            "stale": {"type": "boolean", "description": "True if the source is down and this is the last that it gave"},
            "atis_text": TEXT,
        },
        "required": ["icao", "name", "information", "observed", "metar", "atis_text"],
    },
    "annotations": {
        "title": "ATIS of an aerodrome",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": True,
    },
    "_meta": {
        "dev.tollgate/latency": {"estimatedDurationMs": 200, "maxDurationMs": 4000},
        "dev.tollgate/cache": {"cacheableSeconds": 60, "scope": "public"},
    },
}


class ToolFailed(Exception):
    """An answer that says what went wrong and what to do."""


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: dict = None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


class Atis:
    """The tool itself."""

    def __init__(self, config: Path):
        self.aerodromes = Aerodromes(config)
        self.reports = Reports(self.aerodromes)

    def get(self, icao) -> dict:
        if not isinstance(icao, str):
            raise ToolFailed("`icao` is required and must be a string, for example EDDF")
        try:
            known = self.aerodromes.now()["aerodromes"]
            icao = icao.strip().upper()
            if icao not in known:
                raise ToolFailed(self.unknown(icao, known))
            found = self.reports.get(icao)
            report = metar.decode(found["report"], datetime.now(timezone.utc))
        except BadConfig as problem:
            raise ToolFailed(f"the config of this server is wrong: {problem}") from None
        except (SourceDown, metar.Unreadable) as problem:
            raise ToolFailed(f"there is no ATIS of {icao} now: {problem}") from None
        return self.tell(icao, known[icao], found, report)

    @staticmethod
    def unknown(icao: str, known: dict) -> str:
        near = get_close_matches(icao, known, 1, 0.5)
        meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
        return f"there is no aerodrome `{icao[:16]}` here; {meant}"

    @staticmethod
    def tell(icao: str, aerodrome: dict, found: dict, report: dict) -> dict:
        text = metar.spoken(report, aerodrome)
        if found["problem"]:
            text = f"Caution, the weather source is down and this is its last report. {text}"
        told = {
            **report,
            "name": aerodrome["name"],
            "information": metar.letter(report),
            "runway_in_use": metar.runway_in_use(report, aerodrome["runways"]),
            "frequencies": aerodrome["frequencies"],
            "remarks": aerodrome["remarks"],
            "metar": found["report"],
            "age_seconds": found["age_seconds"],
            "stale": bool(found["problem"]),
            "atis_text": text,
        }
        return {key: value for key, value in told.items() if value is not None}


class Server:
    """Speaks MCP: the stateless revision of 2026-07-28, and those before it, which begin with `initialize`."""

    def __init__(self, atis: Atis, output):
        self.atis, self.output = atis, output
        self.writing = threading.Lock()
        # Requests that are not answered yet, by their ids; those that nobody waits for any more are taken out.
        self.open = set()
        self.pool = ThreadPoolExecutor(CALLS_AT_ONCE)

    def run(self, lines) -> None:
        """Until the input ends. Calls that wait for the weather do not hold up others."""
        while line := lines.readline(LONGEST_LINE):
            if line.strip():
                self.hear(line)
        self.pool.shutdown(cancel_futures=True)

    def hear(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self.send({"id": None, "error": {"code": -32700, "message": "this is no JSON"}})
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            self.send({"id": None, "error": {"code": -32600, "message": "this is no request"}})
        elif "id" not in message:
            self.note(message)
        else:
            self.open.add(self.key(message["id"]))
            self.pool.submit(self.answer, message)

    def note(self, message: dict) -> None:
        if message["method"] == "notifications/cancelled" and isinstance(message.get("params"), dict):
            self.open.discard(self.key(message["params"].get("requestId")))

    @staticmethod
    def key(request_id) -> str:
        return json.dumps(request_id)

    def answer(self, message: dict) -> None:
        try:
            answer = {"result": self.result(message)}
        except Refused as refused:
            answer = {"error": refused.error}
        except Exception as error:  # A fault here fails one call, not the server.
            print(f"atis: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            answer = {"error": {"code": -32603, "message": "the server ran into a fault"}}
        key = self.key(message["id"])
        if key in self.open and answer.get("result", True) is not None:
            self.open.discard(key)
            self.send({"id": message["id"], **answer})

    def send(self, message: dict) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"
        with self.writing:
            self.output.write(line)
            self.output.flush()

    def result(self, message: dict):
        params = message.get("params", {})
        if not isinstance(params, dict):
            raise Refused(-32602, "`params` must be an object")
        method, meta = message["method"], params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        if META + "protocolVersion" in meta or method == "server/discover":
            return self.modern(method, params, meta, message["id"])
        if method == "initialize":
            wanted = params.get("protocolVersion")
            version = wanted if wanted in LEGACY else LEGACY[0]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": INFO}
        if method == "ping":
            return {}
        return self.shared(method, params)

    def modern(self, method: str, params: dict, meta: dict, request_id):
        version = meta.get(META + "protocolVersion")
        if version != MODERN:
            supported = {"supported": [MODERN], "requested": version}
            raise Refused(-32022, f"the protocol version {version} is not spoken here", supported)
        if not isinstance(meta.get(META + "clientCapabilities"), dict):
            raise Refused(-32602, f"`_meta` has no `{META}clientCapabilities`")
        if method == "subscriptions/listen":
            told = {"notifications": {}, "_meta": {META + "subscriptionId": request_id}}
            self.send({"method": "notifications/subscriptions/acknowledged", "params": told})
            return None
        cached = {"ttlMs": 3600000, "cacheScope": "public"} if method in ("server/discover", "tools/list") else {}
        if method == "server/discover":
            result = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
        else:
            result = self.shared(method, params)
        return {"resultType": "complete", **result, **cached, "_meta": {META + "serverInfo": INFO}}

    def shared(self, method: str, params: dict) -> dict:
        """What means the same in both eras."""
        if method == "tools/list":
            if params.get("cursor") is not None:
                raise Refused(-32602, "there is no such page")
            return {"tools": [TOOL]}
        if method != "tools/call":
            raise Refused(-32601, f"there is no method `{method[:64]}`")
        if params.get("name") != TOOL["name"]:
            raise Refused(-32602, f"there is no tool `{str(params.get('name'))[:64]}`")
        arguments = params.get("arguments", {})
        try:
            if not isinstance(arguments, dict) or set(arguments) - {"icao"}:
                raise ToolFailed("the only argument is `icao`, for example EDDF")
            told = self.atis.get(arguments.get("icao"))
        except ToolFailed as problem:
            return {"content": [{"type": "text", "text": str(problem)}], "isError": True}
        return {"content": [{"type": "text", "text": told["atis_text"]}], "structuredContent": told}


def main() -> int:
    parser = argparse.ArgumentParser(description="ATIS of aerodromes as an MCP server")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("aerodromes.ini"))
    parser.add_argument("icao", nargs="?", help="say one ATIS and end")
    options = parser.parse_args()
    atis = Atis(options.config)
    if options.icao:
        try:
            print(atis.get(options.icao)["atis_text"])
            return 0
        except ToolFailed as problem:
            print(problem, file=sys.stderr)
            return 1
    atis.reports.keep_fresh()
    Server(atis, sys.stdout.buffer).run(sys.stdin.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
