"""An OpenID Connect issuer with real keys of every kind that the gateway knows."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

RESOURCE = "https://gate.example/mcp"


def _keys() -> dict:
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return {
        "RS256": rsa_key,
        "PS256": rsa_key,
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }


class Issuer:
    def __init__(self):
        self.keys = _keys()
        self.fetched = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                documents = {"/.well-known/openid-configuration": issuer.metadata, "/keys": issuer.jwks}
                document = documents.get(self.path)
                body = json.dumps(document() if document else {}).encode()
                self.send_response(200 if document else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def metadata(self) -> dict:
        return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}

    def jwks(self) -> dict:
        self.fetched += 1
        return {"keys": [self.public(name) for name in self.keys]}

    def public(self, name: str) -> dict:
        algorithm = jwt.get_algorithm_by_name(name)
        return {**json.loads(algorithm.to_jwk(self.keys[name].public_key())), "kid": name, "alg": name}

    def claims(self, **changes) -> dict:
        now = int(time.time())
        usual = {"iss": self.url, "aud": RESOURCE, "sub": "ada", "exp": now + 300, "scope": "tollgate:execute"}
        return {name: value for name, value in {**usual, **changes}.items() if value is not None}

    def token(self, algorithm: str = "ES256", **changes) -> str:
        headers = {"kid": algorithm}
        return jwt.encode(self.claims(**changes), self.keys[algorithm], algorithm=algorithm, headers=headers)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
