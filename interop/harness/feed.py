"""A weather service like the one that the example of `examples/atis` asks."""

from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs, urlsplit

from harness.listening import Listening


class Feed(Listening):
    """Speaks like tafmetar's text form: the reports of the last 24 hours, the newest last, each with `=` at its end."""

    def __init__(self):
        self.reports = {"ENGM": ["20012G24KT 170V230 4000 -SHRA BKN012CB OVC030 M02/M05 Q0998 TEMPO 2000"]}
        self.status = 200
        self.asked = []
        super().__init__()
        self.url = f"{self.address}/weatherapi/tafmetar/1.0/metar.txt?icao={{icao}}"

    def asked_for(self, request) -> None:
        icao = parse_qs(urlsplit(request.path).query)["icao"][0]
        self.asked.append((icao, request.headers["User-Agent"]))
        body = self.text(icao).encode() if self.status == 200 else b"no"
        self.answer(request, self.status, "text/plain; charset=utf-8", body)

    def text(self, icao: str) -> str:
        at = datetime.now(timezone.utc) - timedelta(minutes=30)
        old = f"{icao} {at - timedelta(hours=1):%d%H%M}Z 00000KT CAVOK 01/M01 Q1001=\n"
        return old + "".join(f"{icao} {at:%d%H%M}Z {report}=\n" for report in self.reports.get(icao, []))
