"""An OpenID Connect issuer with real keys of every kind that the gateway knows."""

import json
import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from harness.listening import Listening

RESOURCE = "https://gate.example/mcp"


def _keys() -> dict:
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return {
        "RS256": rsa_key,
        "PS256": rsa_key,
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }


class Issuer(Listening):
    def __init__(self):
        self.keys = _keys()
        self.fetched = 0
        super().__init__()
        self.url = self.address

    def asked_for(self, request) -> None:
        documents = {"/.well-known/openid-configuration": self.metadata, "/keys": self.jwks}
        document = documents.get(request.path)
        body = json.dumps(document() if document else {}).encode()
        self.answer(request, 200 if document else 404, "application/json", body)

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
