"""A server on a free port of this machine, in a thread of its own."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Listening:
    # Each answer ends its connection: whoever is stopped is gone at once.
    protocol = "HTTP/1.0"

    def __init__(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = self.protocol

            def do_GET(self):
                outer.asked_for(self)

            def do_POST(self):
                outer.posted(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def asked_for(self, request: BaseHTTPRequestHandler) -> None:
        request.send_error(405)

    def posted(self, request: BaseHTTPRequestHandler) -> None:
        request.send_error(405)

    def answer(self, request: BaseHTTPRequestHandler, status: int, kind: str, body: bytes) -> None:
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
