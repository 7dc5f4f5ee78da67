"""The example server of `examples/atis`: alone in both eras, and through the gateway, with a feed like the real one."""

import json
import subprocess
import sys
from datetime import datetime, timezone

import pytest
import yaml

from harness import rpc
from harness.feed import Feed
from harness.gateway import Gateway
from harness.paths import INTEROP
from harness.process import wait_for

EXAMPLE = INTEROP.parent / "examples" / "atis"
sys.path.insert(0, str(EXAMPLE))

import metar  # noqa: E402
from aerodromes import Aerodromes, BadConfig, read  # noqa: E402
from source import Reports, SourceDown  # noqa: E402

NOW = datetime(2026, 11, 15, 21, 0, tzinfo=timezone.utc)
OSLO = {"name": "Oslo", "runways": ["01L", "19R"], "frequencies": [], "remarks": ""}
CONFIG = """\
[source]
url = {url}
user_agent = test
[ENGM]
name = Oslo Gardermoen
runways = 01L, 19R
frequencies = Tower 118.300
remarks = Birds near the field.
"""


@pytest.fixture
def feed():
    feed = Feed()
    yield feed
    feed.stop()


@pytest.fixture
def config(feed, tmp_path):
    file = tmp_path / "aerodromes.ini"
    file.write_text(CONFIG.format(url=feed.url))
    return file


def say(report: str, aerodrome: dict = OSLO) -> str:
    return metar.spoken(metar.decode(f"ENGM 152050Z {report}", NOW), aerodrome)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            "20012G24KT 9999 FEW020 12/08 Q1013",
            "Runway in use one niner right. Wind two zero zero degrees, one two knots, gusting two four.",
        ),
        ("36005KT 9999 NSC 12/08 Q1013", "Runway in use zero one left."),
        (
            "00000KT CAVOK 12/08 Q1013",
            "Wind calm. Ceiling and visibility okay. Temperature 12, dew point 8. Q N H one zero one three.",
        ),
        (
            "VRB02KT 0300 R01L/0600N FZFG VV001 M05/M05 Q1030",
            "Visibility 300 meters. Freezing fog. Sky obscured, vertical visibility 100 feet. "
            "Temperature minus 5, dew point minus 5.",
        ),
        (
            "31015KT 1 1/2SM +TSRA BR FEW020 BKN040CB 18/16 A2992 RMK Q0900",
            "Visibility 2414 meters. Heavy thunderstorm with rain, mist. Clouds few at 2000 feet, broken cumulonimbus "
            "at 4000 feet. Temperature 18, dew point 16. Altimeter two niner niner two.",
        ),
        (
            "AUTO 25010MPS 220V280 6000 VCSH NCD 03/// Q0987",
            "Wind two five zero degrees, one niner knots, varying between two two zero and two eight zero degrees. "
            "Visibility 6 kilometers. Rain showers in the vicinity. No significant clouds. Temperature 3.",
        ),
        ("/////KT //// // ////// Q1013", "Wind not available. Q N H one zero one three."),
    ],
)
def test_reports_are_said_in_words(report, expected):
    assert expected in say(report)


def test_the_newest_report_of_the_right_aerodrome_counts():
    text = (
        "ENGM 152020Z 00000KT CAVOK 01/01 Q1001=\nENZV 152050Z 00000KT CAVOK 02/01 Q1002=\n"
        "METAR COR ENGM 152050Z 00000KT\n CAVOK 03/01 Q1003="
    )
    assert metar.latest(text, "ENGM").endswith("Q1003")
    with pytest.raises(metar.Unreadable, match="no report of EDDF"):
        metar.latest(text, "EDDF")
    for junk in ["ENGM", "ENGM 999999Z 00000KT", "ENGM x y z", "ENGM 152050 00000KT"]:
        with pytest.raises(metar.Unreadable):
            metar.decode(junk, NOW)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("[source]", "[sauce]"), r"the section `\[source\]` with its `url` is missing"),
        (("url = http", "url = ftp"), "line 2: `url` must begin with http"),
        (("ENGM", "engm"), "line 4: `engm` is no ICAO code"),
        (("01L, 19R", "01L, 40"), "line 6: `40` is no runway"),
        (("Tower 118.300", "Tower"), "line 7: `Tower` is no frequency"),
        (("runways", "runway"), "line 6: there is no key `runway` here"),
        (("name = Oslo Gardermoen", ""), r"line 4: `\[ENGM\]` has no `name`"),
        (("name = Oslo Gardermoen", "name"), "line 5: this is neither"),
        (("[ENGM]", "[ENGM]\n[ENGM]"), "line 5: this is here twice"),
        (("user_agent = test", "cache_seconds = soon"), "line 3: `cache_seconds` must be a number"),
    ],
)
def test_a_bad_config_is_told_with_its_line(config, change, expected):
    config.write_text(config.read_text().replace(*change, 1))
    with pytest.raises(BadConfig, match=expected):
        read(config)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_reports_are_kept_refreshed_and_outlive_the_source(feed, config):
    clock = Clock()
    reports = Reports(Aerodromes(config), clock)
    assert "Q0998" in reports.get("ENGM")["report"]
    reports.get("ENGM")
    assert feed.asked == [("ENGM", "test")], "a fresh report is not asked for again"

    clock.now += 295
    feed.reports["ENGM"].append("20012KT 9999 NSC 01/M01 Q1005")
    reports.refresh()
    assert "Q1005" in reports.get("ENGM")["report"]
    assert len(feed.asked) == 2

    feed.status = 503
    clock.now += 600
    reports.refresh()
    kept = reports.get("ENGM")
    assert "Q1005" in kept["report"] and kept["age_seconds"] == 600
    assert kept["problem"] == "the weather source answered 503"

    clock.now += 3 * 3600
    with pytest.raises(SourceDown, match="answered 503"):
        reports.get("ENGM")
    asked = len(feed.asked)
    clock.now += 20
    reports.refresh()
    assert len(feed.asked) == asked + 1, "somebody just asked for it"
    clock.now += 3600
    reports.refresh()
    assert len(feed.asked) == asked + 1, "nobody did for a long time"


class Alone:
    """The server on a pipe, without any SDK."""

    def __init__(self, config):
        command = [sys.executable, str(EXAMPLE / "server.py"), "--config", str(config)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **message) -> dict:
        self.say(json.dumps({"jsonrpc": "2.0", **message}))
        return json.loads(self.child.stdout.readline())

    def say(self, line: str) -> None:
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()

    def end(self) -> int:
        self.child.stdin.close()
        return self.child.wait(10)


META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def test_both_eras_are_spoken_on_one_pipe(config):
    server = Alone(config)
    found = server.ask(id=1, method="server/discover", params={"_meta": META})["result"]
    assert found["resultType"] == "complete" and found["supportedVersions"] == ["2026-07-28"]
    call = {"name": "get_atis", "arguments": {"icao": "engm"}}
    modern = server.ask(id="a", method="tools/call", params={"_meta": META, **call})["result"]
    assert modern["resultType"] == "complete"

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    begun = server.ask(id=2, method="initialize", params=hello)["result"]
    assert begun["protocolVersion"] == "2025-06-18"
    server.say('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    legacy = server.ask(id=3, method="tools/call", params=call)["result"]
    age = {"age_seconds": legacy["structuredContent"]["age_seconds"]}
    assert legacy["structuredContent"] == modern["structuredContent"] | age
    assert server.ask(id=4, method="ping")["result"] == {}
    tools = server.ask(id=5, method="tools/list")["result"]["tools"]
    assert tools[0]["_meta"]["dev.tollgate/latency"] == {"estimatedDurationMs": 200, "maxDurationMs": 4000}

    wrong = {**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    refused = server.ask(id=6, method="tools/list", params={"_meta": wrong})["error"]
    assert refused["code"] == -32022 and refused["data"]["supported"] == ["2026-07-28"]
    assert server.ask(id=7, method="tools/call", params={"name": "x"})["error"]["code"] == -32602
    assert server.ask(id=8, method="nothing")["error"]["code"] == -32601
    for line, code in [("{", -32700), ("[]", -32600), ("7", -32600), ("[" * 100_000, -32700)]:
        server.say(line)
        assert json.loads(server.child.stdout.readline())["error"]["code"] == code
    for arguments in [{}, {"icao": 7}, {"icao": "EDDF", "x": 1}, {"icao": "🎲\0"}, [], {"icao": "E" * 100_000}]:
        answer = server.ask(id=9, method="tools/call", params={"name": "get_atis", "arguments": arguments})
        assert answer["result"]["isError"] and len(answer["result"]["content"][0]["text"]) < 200
    assert server.end() == 0


@pytest.fixture
def gateway(config, tmp_path):
    """The example's own config, with another feed and a file of aerodromes."""
    example = yaml.safe_load((EXAMPLE / "tollgate.yaml").read_text())
    example["servers"]["atis"]["command"] = ["python3", str(EXAMPLE / "server.py"), "--config", str(config)]
    # Each call is to reach the server, and no other one.
    example["servers"]["atis"]["calibrate"] = False
    example["servers"]["atis"]["tools"]["get_atis"] |= {"cacheable_seconds": 0, "rate_limit": "1000/min"}
    gateway = Gateway(tmp_path, example)
    gateway.wait_for_tools({"atis"})
    yield gateway
    gateway.stop()


def test_the_gateway_says_what_the_server_found(gateway):
    told = rpc.call(gateway.mcp, "atis", {"icao": "ENGM"})
    data = told["structuredContent"]
    assert data["runway_in_use"] == "19R" and data["qnh_hpa"] == 998 and data["stale"] is False
    assert data["weather"] == ["light rain showers"]
    assert data["wind"] == {"degrees": 200, "knots": 12, "gust_knots": 24, "from_to_degrees": [170, 230]}
    assert data["frequencies"] == [{"service": "Tower", "mhz": "118.300"}]
    assert data["atis_text"].startswith("Oslo Gardermoen information ")
    assert "Q N H niner niner eight. Birds near the field." in data["atis_text"]


def test_the_config_is_read_again_when_it_changes(gateway, config):
    unknown = rpc.call(gateway.mcp, "atis", {"icao": "ENZV"})
    assert unknown["isError"] and "there is no aerodrome `ENZV` here" in rpc.text(unknown)
    good = config.read_text()
    config.write_text(good + "[ENZV]\nname = Stavanger\n")
    # The feed has no newer report of it than an hour ago.
    assert rpc.call(gateway.mcp, "atis", {"icao": "ENZV"})["structuredContent"]["name"] == "Stavanger"
    config.write_text("nonsense")
    assert rpc.call(gateway.mcp, "atis", {"icao": "ENGM"})["structuredContent"]["icao"] == "ENGM"


def test_a_source_that_is_down_is_told(gateway, feed):
    feed.status = 403
    told = rpc.call(gateway.mcp, "atis", {"icao": "ENGM"})
    assert told["isError"]
    assert "there is no ATIS of ENGM now: the weather source answered 403" in rpc.text(told)
    feed.status = 200
    wait_for("the source again", lambda: not rpc.call(gateway.mcp, "atis", {"icao": "ENGM"}).get("isError"), 30)
