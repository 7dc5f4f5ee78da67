# An MCP server that says its own secrets wherever a server can say something.
import base64, json, os, sys, urllib.parse

SECRETS = [os.environ["LEAKY_VALUE"], os.environ["LEAKY_FILE"], sys.argv[2]]
PLAIN = " ".join(SECRETS)
ENCODED = " ".join(form for secret in SECRETS for form in (
    base64.b64encode(secret.encode()).decode(), base64.b64encode(b"user:" + secret.encode()).decode(),
    base64.urlsafe_b64encode(b"x" + secret.encode() + b"yz").decode(), urllib.parse.quote(secret, safe=""),
    secret.encode().hex(), json.dumps({"inner": secret})))
SAID = PLAIN + " " + ENCODED
SERVER = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "leaky " + PLAIN, "version": "1"},
          "instructions": SAID, "capabilities": {"tools": {}, "logging": {}, "prompts": {}, "resources": {}}}
TOOLS = [{"name": name, "description": "says " + SAID,
          "inputSchema": {"type": "object", "properties": {"how": {"type": "string", "description": SAID},
                                                           "pin_code": {"type": "string"}}}}
         for name in ("say", "fail")]

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def call(request, params):
    how = (params.get("arguments") or {}).get("how", "")
    token = (params.get("_meta") or {}).get("progressToken")
    print("stderr:", SAID, file=sys.stderr, flush=True)
    if token is not None:
        send({"method": "notifications/progress", "params": {
            "progressToken": token, "progress": 1, "message": SAID}})
    send({"method": "notifications/message", "params": {"level": "error", "logger": PLAIN, "data": {"said": SAID}}})
    if how == "error":
        return {"error": {"code": -32000, "message": "failed with " + SAID, "data": {"env": SECRETS, "said": SAID}}}
    if how == "die":
        print("dying with", SAID, file=sys.stderr, flush=True)
        os._exit(3)
    if how == "garbage":
        print("no JSON: " + SAID, flush=True)
    return {"result": {"content": [{"type": "text", "text": SAID}], "structuredContent": {"secrets": SECRETS, SECRETS[0]: 1},
                       "isError": how == "tool error"}}

print("begins with", SAID, file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    method, params = request.get("method"), request.get("params") or {}
    if "id" not in request:
        continue
    answers = {"initialize": SERVER, "tools/list": {"tools": TOOLS}, "ping": {},
               "prompts/list": {"prompts": [{"name": "p", "description": SAID}]},
               "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": SAID}}]},
               "resources/list": {"resources": [{"uri": "leaky://r", "name": "r", "description": SAID}]},
               "resources/read": {"contents": [{"uri": "leaky://r", "text": SAID}]}}
    result = answers.get(method)
    if method == "tools/call":
        answer = call(request, params)
    else:
        answer = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no " + SAID}}
    send({"id": request["id"], **answer})
