"""Tokens signed by another implementation, keys by command, and metadata that a real SDK understands."""

import hashlib
import hmac
import json
import subprocess
import time
import urllib.error
import urllib.request
from base64 import urlsafe_b64encode

import jwt
import pytest
from mcp.shared.auth import ProtectedResourceMetadata

from harness.gateway import Gateway, clean_environment
from harness.issuer import RESOURCE, Issuer


@pytest.fixture(scope="module")
def issuer():
    started = Issuer()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def gateway(issuer, tmp_path_factory):
    auth = {"issuer": issuer.url, "resource": RESOURCE}
    started = Gateway(tmp_path_factory.mktemp("auth"), {"auth": auth})
    yield started
    started.stop()


def get(url: str, token: str | None = None) -> tuple[int, dict, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_operating_needs_the_token_of_the_data_directory(gateway, issuer):
    status = f"{gateway.url}/mcp/status"
    assert [get(status, token)[0] for token in (None, issuer.token(), gateway.admin_token())] == [401, 403, 200]


def tools(gateway, token: str | None) -> int:
    return get(f"{gateway.url}/v1/tools", token)[0]


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
def test_a_token_of_each_kind_lets_in(gateway, issuer, algorithm):
    assert tools(gateway, issuer.token(algorithm)) == 200


def forged(issuer) -> dict[str, str]:
    now = int(time.time())
    public = json.dumps(issuer.public("RS256")).encode()
    header = urlsafe_b64encode(b'{"alg":"HS256","kid":"RS256"}').rstrip(b"=")
    signed = header + b"." + urlsafe_b64encode(json.dumps(issuer.claims()).encode()).rstrip(b"=")
    digest = hmac.new(public, signed, hashlib.sha256).digest()
    stranger = Issuer()
    stranger.stop()
    rsa_as_pss = jwt.encode(issuer.claims(), issuer.keys["RS256"], algorithm="RS256", headers={"kid": "PS256"})
    return {
        "alg none": jwt.encode(issuer.claims(), None, algorithm="none", headers={"kid": "RS256"}),
        "shared secret": (signed + b"." + urlsafe_b64encode(digest).rstrip(b"=")).decode(),
        "another's key": jwt.encode(issuer.claims(), stranger.keys["ES256"], "ES256", headers={"kid": "ES256"}),
        "key of another kind": rsa_as_pss,
        "expired": issuer.token(exp=now - 61),
        "not yet": issuer.token(nbf=now + 90),
        "other audience": issuer.token(aud="https://other.example"),
        "no audience": issuer.token(aud=None),
        "other issuer": issuer.token(iss="https://other.example"),
        "no end": issuer.token(exp=None),
        "nobody": issuer.token(sub=None),
        "kid path": jwt.encode(issuer.claims(), issuer.keys["ES256"], "ES256", headers={"kid": "../ES256"}),
    }


def test_forged_tokens_do_not(gateway, issuer):
    assert tools(gateway, None) == 401
    for name, token in forged(issuer).items():
        status, headers, _ = get(f"{gateway.url}/v1/tools", token)
        assert (name, status) == (name, 401)
        assert 'error="invalid_token"' in headers["WWW-Authenticate"]
    assert tools(gateway, issuer.token()) == 200
    assert issuer.fetched <= 2, "forged tokens do not make the gateway ask its issuer"


def test_an_sdk_reads_where_tokens_come_from(gateway, issuer):
    status, headers, _ = get(f"{gateway.url}/v1/tools")
    assert status == 401
    assert 'resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp"' in headers["WWW-Authenticate"]
    for path, resource in {"": RESOURCE, "/mcp": RESOURCE, "/mcp/sage": f"{RESOURCE}/sage"}.items():
        status, _, body = get(f"{gateway.url}/.well-known/oauth-protected-resource{path}")
        assert status == 200
        metadata = ProtectedResourceMetadata.model_validate_json(body)
        assert str(metadata.resource) == resource
        assert [str(server).rstrip("/") for server in metadata.authorization_servers] == [issuer.url]


def test_keys_are_made_and_taken_back_while_it_runs(gateway):
    address = gateway.url.removeprefix("http://")

    def keys(*words: str) -> str:
        command = [*gateway.command, "keys", *words, "--listen", address]
        done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=30, check=True)
        return done.stdout.strip()

    first = keys("create", "phone", "--expires", "1h")
    assert tools(gateway, first) == 200
    second = keys("rotate", "phone")
    assert (tools(gateway, first), tools(gateway, second)) == (401, 200)
    keys("revoke", "phone")
    assert tools(gateway, second) == 401
    assert second not in keys("list", "--json")
