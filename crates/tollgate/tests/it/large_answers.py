# Answers of 7.5 MB. With `stdio` an MCP server on its pipes; with `http` one on a port that it prints, which
# is also a model provider: model `huge` answers as much, model `tiny` little.
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGE = "x" * 7_500_000
ANY = {"type": "object"}
RESULTS = {
    "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "large", "version": "1"},
                   "capabilities": {"tools": {}, "resources": {}, "prompts": {}}},
    "tools/list": {"tools": [{"name": name, "inputSchema": ANY} for name in ("large", "small")]},
    "resources/list": {"resources": [{"uri": "test://large", "name": "large"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": [{"name": "large"}]},
    "resources/read": {"contents": [{"uri": "test://large", "text": LARGE}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": LARGE}}]},
}
CALLS = {name: json.dumps({"content": [{"type": "text", "text": text}]})
         for name, text in (("large", LARGE), ("small", "little"))}
OTHERS = {method: json.dumps(result) for method, result in RESULTS.items()}

def answer(request):
    if "id" not in request:
        return None
    method, params = request["method"], request.get("params") or {}
    result = CALLS[params["name"]] if method == "tools/call" else OTHERS.get(method)
    outcome = '"result":' + result if result else '"error":{"code":-32601,"message":"unknown"}'
    return '{"jsonrpc":"2.0","id":%s,%s}' % (json.dumps(request["id"]), outcome)

def serve_pipes():
    for line in sys.stdin:
        text = answer(json.loads(line))
        if text:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

def completion(request):
    text = LARGE if request["model"] == "huge" else "little"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "c", "created": 1, "model": request["model"]}
    if request.get("stream"):
        def chunk(delta, end, **more):
            choices = [{"index": 0, "delta": delta, "finish_reason": end}]
            return "data: " + json.dumps({**head, "object": "chat.completion.chunk", "choices": choices, **more}) + "\n\n"
        parts = [chunk({"role": "assistant", "content": text}, None), chunk({}, "stop", usage=usage), "data: [DONE]\n\n"]
        return "text/event-stream", "".join(parts)
    choices = [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
    return "application/json", json.dumps({**head, "object": "chat.completion", "choices": choices, "usage": usage})

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply(405, "text/plain", "")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            if self.path.endswith("/chat/completions"):
                return self.reply(200, *completion(request))
            text = answer(request)
            if not text:
                return self.reply(202, "text/plain", "")
            if self.path.startswith("/sse"):
                return self.reply(200, "text/event-stream", "data: " + text + "\n\n")
            self.reply(200, "application/json", text)
        except OSError:
            self.close_connection = True

    def reply(self, status, kind, text):
        data = text.encode()
        lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {len(data)}", "", ""]
        self.wfile.write("\r\n".join(lines).encode())
        self.wfile.write(data)

    def log_message(self, *_):
        pass

class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

if sys.argv[1] == "stdio":
    serve_pipes()
else:
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
