"""A weather service like the one that the example of `examples/atis` asks."""

import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Feed:
    """Speaks like tafmetar's text form: the reports of the last 24 hours, the newest last, each with `=` at its end."""

    def __init__(self):
        self.reports = {"ENGM": ["20012G24KT 170V230 4000 -SHRA BKN012CB OVC030 M02/M05 Q0998 TEMPO 2000"]}
        self.status = 200
        self.asked = []
        feed = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                query = parse_qs(urlsplit(self.path).query)
                feed.asked.append((query["icao"][0], self.headers["User-Agent"]))
                body = feed.text(query["icao"][0]).encode() if feed.status == 200 else b"no"
                self.send_response(feed.status)
                self.send_header("Content-Type", "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/weatherapi/tafmetar/1.0/metar.txt?icao={{icao}}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def text(self, icao: str) -> str:
        at = datetime.now(timezone.utc) - timedelta(minutes=30)
        old = f"{icao} {at - timedelta(hours=1):%d%H%M}Z 00000KT CAVOK 01/M01 Q1001=\n"
        return old + "".join(f"{icao} {at:%d%H%M}Z {report}=\n" for report in self.reports.get(icao, []))

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
