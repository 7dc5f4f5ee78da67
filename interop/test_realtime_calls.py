"""Calls over WebRTC and SIP through the gateway: OpenAI's official client, a provider as strict as OpenAI's, and tools of a
real MCP server that run without anything to do for the client."""

import asyncio
import base64
import json
import os
import signal
import urllib.error
import urllib.request

import pytest
from openai import AsyncOpenAI, AuthenticationError, BadRequestError, NotFoundError, OpenAI

from harness.gateway import Gateway
from harness.paths import program
from harness.process import wait_for
from provider.live_calls import OpenAiCalls

KEY = "key-of-the-client-0123456789"
OTHER = "key-of-another-0123456789"
GONE = "key-that-goes-0123456789"
SECRET = "secret-of-openai-0123456789"
OFFER = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"


class Line:
    """A gateway with the provider behind it."""

    def __init__(self, folder):
        self.provider = OpenAiCalls(SECRET)
        pace = folder / "pace" / "pace.json"
        pace.parent.mkdir()
        pace.write_text("{}")
        server = {
            "transport": "stdio", "command": [*program("servers", "pace"), "--pace", str(pace)], "trusted": True,
            "calibrate": False,
        }  # fmt: skip
        config = {
            "servers": {"pace": server},
            "budget": {"min_samples": 100, "tiers": {"fast_ms": 2000, "standard_ms": 2500, "deep_ms": 6000}},
            "providers": {"openai": {"kind": "openai", "base_url": self.provider.url, "api_key": SECRET}},
            "models": {"voice": {"provider": "openai", "api": "realtime", "id": "gpt-realtime-2.1--call"}},
            "agents": {"caller": {"models": ["voice"], "tools": ["pace_*"], "auto_execute": ["pace_*"], "prompt": "You are Ada."}},
            "keys": [
                {"name": name, "key": key, "role": "caller"} for name, key in {"app": KEY, "other": OTHER, "gone": GONE}.items()
            ],
        }
        self.folder, self.config = folder, config
        self.start()

    def start(self) -> None:
        self.gateway = Gateway(self.folder, self.config)
        wait_for("tools", lambda: "pace_look_up" in self.get("/v1/tools"), 90)

    def get(self, path: str) -> str:
        request = urllib.request.Request(f"{self.gateway.url}{path}", headers={"authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def client(self, key: str = KEY, kind=OpenAI):
        return kind(api_key=key, base_url=f"{self.gateway.url}/v1", max_retries=0)

    def sideband(self, call: str):
        """The session that the gateway opened by itself."""
        found = []
        wait_for("a sideband", lambda: found.extend(it for it in self.provider.sessions if it.call == call) or found, 30)
        return found[0]

    def kill_and_start(self, without: str) -> None:
        """As after a power loss; meanwhile a key was removed."""
        os.kill(self.gateway.process.pid, signal.SIGKILL)
        self.gateway.stop()
        self.config["keys"] = [key for key in self.config["keys"] if key["name"] != without]
        self.start()

    def stop(self) -> None:
        self.gateway.stop()
        self.provider.stop()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    line = Line(tmp_path_factory.mktemp("calls"))
    yield line
    line.stop()


@pytest.fixture
def line(started):
    started.provider.forget()
    return started


def check_tools_run(session) -> None:
    """The caller asks over the media, which only the provider hears."""
    audio = base64.b64encode(b"What about the moon?").decode()
    session.hear({"type": "input_audio_buffer.append", "audio": audio})
    told = lambda: [text for _, who, text in session.timeline if who == "agent"]  # noqa: E731
    wait_for("an answer", lambda: any("moon: nothing special" in text for text in told()), 30)
    assert {len(answers) for answers in session.answers.values()} == {1}
    assert session.refused == []


def test_a_call_by_the_official_client_runs_tools(line):
    client = line.client()
    session = {"type": "realtime", "model": "voice", "instructions": "Be kind.", "audio": {"output": {"voice": "marin"}}}
    answer = client.realtime.calls.with_raw_response.create(sdp=OFFER, session=session)
    assert answer.status_code == 201 and answer.text.startswith("v=0")
    call = answer.headers["location"].rpartition("/")[2]
    [(verb, sent)] = line.provider.asked
    assert verb == "create" and sent["model"] == "gpt-realtime-2.1--call"
    assert sent["instructions"] == "You are Ada.\n\nBe kind." and sent["audio"]["output"]["voice"] == "marin"
    assert "pace_look_up" in [tool["name"] for tool in sent["tools"]]
    sideband = line.sideband(call)
    check_tools_run(sideband)
    with pytest.raises(NotFoundError):
        line.client(OTHER).realtime.calls.hangup(call)
    client.realtime.calls.hangup(call)
    assert line.provider.asked[-1][0] == "hangup"
    assert sideband.wait(lambda: sideband.closed)
    with pytest.raises(NotFoundError):
        client.realtime.calls.hangup(call)


def test_a_client_secret_by_the_official_client_opens_calls_and_sockets(line):
    session = {"type": "realtime", "model": "voice", "instructions": "Be kind."}
    expires = {"anchor": "created_at", "seconds": 60}
    made = line.client().realtime.client_secrets.create(expires_after=expires, session=session)
    assert made.value.startswith("ek_tg_") and made.session.type == "realtime" and made.session.id.startswith("sess_")
    page = line.client(made.value)
    answer = page.realtime.calls.with_raw_response.create(sdp=OFFER)
    assert line.provider.asked[-1][1]["instructions"] == "You are Ada.\n\nBe kind."
    check_tools_run(line.sideband(answer.headers["location"].rpartition("/")[2]))

    async def over_a_socket() -> str:
        async with line.client(made.value, AsyncOpenAI).realtime.connect(model="voice") as socket:
            async for event in socket:
                if event.type == "session.updated":
                    return event.session.instructions

    assert asyncio.run(asyncio.wait_for(over_a_socket(), 30)) == "Be kind.", "the gateway's part is hidden there"
    for forged in (made.value[:-1] + ("a" if made.value[-1] != "a" else "b"), "ek_tg_"):
        with pytest.raises(AuthenticationError):
            line.client(forged).realtime.calls.create(sdp=OFFER)


def test_secrets_and_owners_of_calls_outlive_a_killed_gateway(tmp_path):
    """What was issued before is good afterwards: as often as it was meant to be, for the key that asked, and no other."""
    line = Line(tmp_path)
    try:
        secrets = line.client().realtime.client_secrets
        once, often = secrets.create(extra_body={"max_uses": 1}).value, secrets.create().value
        used, of_gone = secrets.create(extra_body={"max_uses": 1}).value, line.client(GONE).realtime.client_secrets.create().value
        call = line.client(used).realtime.calls.create(sdp=OFFER).response.headers["location"].rpartition("/")[2]
        line.sideband(call)
        line.kill_and_start(without="gone")
        for secret, count in ((once, 1), (often, 3)):
            for _ in range(count):
                answer = line.client(secret).realtime.calls.with_raw_response.create(sdp=OFFER)
                assert answer.status_code == 201
        for secret, code in ((once, "used_client_secret"), (used, "used_client_secret"), (of_gone, "wrong_key")):
            with pytest.raises(AuthenticationError) as refused:
                line.client(secret).realtime.calls.create(sdp=OFFER)
            assert refused.value.code == code
        with pytest.raises(NotFoundError):
            line.client(OTHER).realtime.calls.hangup(call)
        line.client().realtime.calls.hangup(call)
        assert [verb for verb, _ in line.provider.asked].count("hangup") == 1
        with pytest.raises(NotFoundError):
            line.client().realtime.calls.hangup(call)
        stored = b"".join(path.read_bytes() for path in (tmp_path / "data").glob("tollgate.db*"))
        for text in (once, often, KEY):
            assert text.encode() not in stored
    finally:
        line.stop()


def test_incoming_calls_are_accepted_referred_and_rejected_by_the_official_client(line):
    calls = line.client().realtime.calls
    line.provider.ring("rtc_sip1")
    calls.accept("rtc_sip1", type="realtime", model="voice", instructions="Answer the phone.")
    assert line.provider.asked[-1][1]["instructions"] == "You are Ada.\n\nAnswer the phone."
    check_tools_run(line.sideband("rtc_sip1"))
    calls.refer("rtc_sip1", target_uri="tel:+15550100")
    assert line.provider.asked[-1] == ("refer", {"target_uri": "tel:+15550100"})
    line.provider.ring("rtc_sip2")
    calls.reject("rtc_sip2")
    assert line.provider.asked[-1] == ("reject", {"status_code": 603})
    with pytest.raises(BadRequestError):
        calls.refer("rtc_sip1", target_uri="https://example.com")


def test_what_the_provider_refuses_the_client_is_told(line):
    with pytest.raises(BadRequestError) as refused:
        line.client().realtime.calls.create(sdp=OFFER, session={"type": "realtime", "colour": "red"})
    assert "colour" in str(refused.value) and SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, b"", 401),
        ({"authorization": "Bearer ek_of_a_page", "content-type": "application/sdp"}, OFFER.encode(), 401),
        ({"authorization": f"Bearer {SECRET}", "content-type": "application/sdp"}, OFFER.encode(), 400),
    ],
)
def test_the_provider_alone_refuses_what_openais_refuses(line, headers, body, status):
    request = urllib.request.Request(f"{line.provider.url}/realtime/calls", data=body, headers=headers, method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == status
    assert json.loads(refused.value.read())["error"]["code"]
