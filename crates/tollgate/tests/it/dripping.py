# An MCP server over HTTP whose tools answer byte by byte, for half a minute; with `everything` the
# handshake does so, too. Prints its port.
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = ["headers", "body", "events", "comments", "progress"]
STEPS, PAUSE = 600, 0.05

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.begin(405, "content-length: 0")

    def begin(self, status, *headers):
        lines = [f"HTTP/1.1 {status} X", *headers, "", ""]
        self.wfile.write("\r\n".join(lines).encode())

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def drip(self, how, token):
        stream = "content-type: text/event-stream"
        if how == "headers":
            self.wfile.write(b"HTTP/1.1 200 X\r\nx-slow: ")
            step = lambda _: self.wfile.write(b"x")
        elif how == "body":
            self.begin(200, "content-type: application/json", "content-length: 100000")
            step = lambda _: self.wfile.write(b" ")
        else:
            self.begin(200, stream, "transfer-encoding: chunked")
            progress = {"jsonrpc": "2.0", "method": "notifications/progress"}
            step = {
                "events": lambda _: self.chunk("d" if _ == 0 else " "),
                "comments": lambda _: self.chunk(": still here\n\n"),
                "progress": lambda n: self.chunk("data: " + json.dumps(
                    {**progress, "params": {"progressToken": token, "progress": n}}) + "\n\n"),
            }[how]
        for number in range(STEPS):
            step(number)
            self.wfile.flush()
            time.sleep(PAUSE)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        params = request.get("params") or {}
        try:
            if sys.argv[1] == "everything":
                return self.drip("headers", None)
            if request["method"] == "tools/call":
                token = (params.get("_meta") or {}).get("progressToken")
                return self.drip(params["name"], token)
        except OSError:
            self.close_connection = True
            return
        results = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "far", "version": "1"}},
            "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]},
        }
        if "id" not in request:
            return self.begin(202, "content-length: 0")
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": results.get(request["method"], {})}
        body = json.dumps(answer)
        self.begin(200, "content-type: application/json", f"content-length: {len(body)}")
        self.wfile.write(body.encode())

    def log_message(self, *_): pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
