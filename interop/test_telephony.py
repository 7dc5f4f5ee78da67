"""Phone calls over a Twilio that is as strict as its documents, to a provider as strict as OpenAI's, with tools of a real
MCP server. And the platforms that call tools."""


import pytest
from websockets.exceptions import InvalidStatus

from harness import platforms, twilio
from harness.live_line import LiveLine
from harness.process import wait_for
from provider.live_openai import OpenAiLive

TOKEN = "auth-token-of-twilio-0123456789"
SECRET = "secret-of-the-platforms-0123456789"
HOST = "gate.example"
KEY = "key-of-the-office-0123456789"


class Office(LiveLine):
    """With two phone lines, and the provider behind it."""

    key = KEY

    def __init__(self, folder):
        super().__init__(folder)
        self.provider = OpenAiLive()
        entry = self.pace_server(
            tools={"look_up": {"estimated_duration_ms": 50}, "weather": {"estimated_duration_ms": 50, "delivery": "when_idle"}}
        )
        agent = {"tools": ["pace_*"], "auto_execute": ["pace_*"], "models": ["phone"], "budget_tier": "deep"}
        line = {"auth_token": TOKEN, "transcription": "whisper-1"}
        config = {
            "hosts": [HOST],
            "servers": {"pace": entry},
            "budget": {"min_samples": 100, "tiers": {"fast_ms": 2000, "standard_ms": 2500, "deep_ms": 6000}},
            "providers": {"openai": {"kind": "openai", "base_url": self.provider.url, "api_key": "secret-of-openai"}},
            "models": {"phone": {"provider": "openai", "api": "realtime", "id": "gpt-realtime-2.1--phone"}},
            "agents": {
                "desk": {**agent, "greeting": "Hello {caller_number}!"},
                "tower": {**agent, "greeting": "The tower listens."},
            },
            "telephony": {
                "twilio": {"desk": {**line, "agent": "desk"}, "tower": {**line, "agent": "tower", "require_token": True}},
                "vapi": {"front": {"secret": SECRET, "agent": "desk"}},
                "retell": {"front": {"api_key": SECRET, "agent": "desk"}},
            },
            "keys": [{"name": "office", "key": KEY, "role": "admin"}],
        }
        self.start(config, "pace_look_up")

    def number(self, line: str) -> twilio.Number:
        return twilio.Number(TOKEN, f"https://{HOST}/v1/telephony/twilio/{line}", self.gateway.url, HOST)

    def refused(self) -> int:
        name = 'tollgate_access_refused_total{reason="bad_signature"} '
        return int(next(line for line in self.get("/metrics").splitlines() if line.startswith(name)).removeprefix(name))

    def stop(self) -> None:
        super().stop()
        self.provider.stop()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    office = Office(tmp_path_factory.mktemp("telephony"))
    yield office
    office.stop()


@pytest.fixture
def office(started):
    started.set()
    started.provider.forget()
    return started


def check(call: twilio.Call, session) -> None:
    """Neither Twilio nor the provider had anything to complain of, and the audio was never converted."""
    assert call.errors == []
    assert session.refused == []
    assert {len(answers) for answers in session.answers.values()} <= {1}, session.answers
    audio = session.config["audio"]
    assert [audio[side]["format"] for side in ("input", "output")] == [{"type": "audio/pcmu"}] * 2


def test_a_call_is_greeted_and_asks_a_tool(office):
    call = office.number("desk").ring("+15550001")
    call.hears("Hello +15550001!")
    call.say("Look it up.")
    call.hears("The tool said: moon: nothing special")
    [session] = office.provider.sessions
    assert session.config["audio"]["input"]["transcription"]["model"] == "whisper-1"
    wait_for("all marks", lambda: call.marks >= 2, 30)
    call.hang_up()
    wait_for("the end", lambda: session.closed, 30)
    check(call, session)
    assert '"sessions":[]' in office.get("/api/sessions").replace(" ", "")


def test_two_calls_at_once_are_two_talks(office):
    desk, tower = office.number("desk").ring("+15550001"), office.number("tower").ring("+15550002")
    desk.hears("Hello +15550001!")
    tower.hears("The tower listens.")
    desk.say("Apples.")
    tower.say("Pears.")
    desk.hears("You said: Apples.")
    tower.hears("You said: Pears.")
    assert "Pears" not in desk.heard and "Apples" not in tower.heard
    for call, session in zip((desk, tower), office.provider.sessions, strict=True):
        check(call, session)
        call.hang_up()


def test_who_interrupts_hears_no_more_of_it_and_the_model_knows(office):
    call = office.number("desk").ring("+15550001", speed=5)
    call.hears("Hello +15550001!")
    call.say("Tell me a story.")
    call.hears("Once upon")
    call.say("Stop it now.")
    call.hears("You said: Stop it now.")
    assert call.clears >= 1
    assert "to its end" not in call.heard, call.heard
    [session] = office.provider.sessions
    truncated = [event for event in session.received if event["type"] == "conversation.item.truncate"]
    story = truncated[-1]
    # One character lasts a tenth of a second.
    told = call.heard.split("Hello +15550001!")[1].split("You said")[0]
    assert abs(story["audio_end_ms"] - 100 * len(told)) <= 500, (story, told)
    check(call, session)
    call.hang_up()


def test_a_late_result_is_spoken(office):
    office.set(weather={"ms": 1500})
    call = office.number("desk").ring("+15550001")
    call.hears("Hello +15550001!")
    call.say("The weather?")
    call.hears("The tool said: ")
    call.hears("Rome")
    check(call, office.provider.sessions[0])
    call.hang_up()


@pytest.mark.parametrize("acks", ["twice", "late", "never"])
def test_a_provider_may_acknowledge_as_it_likes(office, acks):
    office.provider.acks = acks
    call = office.number("desk").ring("+15550001")
    call.hears("Hello +15550001!")
    call.say("Look it up.")
    call.hears("The tool said: moon: nothing special")
    check(call, office.provider.sessions[0])
    call.hang_up()


def test_pressed_keys_are_told_and_interrupt(office):
    call = office.number("desk").ring("+15550001", speed=5)
    call.hears("Hello")
    call.press("42#")
    call.hears("You said: DTMF: 42")
    assert call.clears == 1
    assert call.errors == []
    call.hang_up()


def test_only_twilio_gets_in(office):
    number = office.number("desk")
    before = office.refused()
    fields = {"CallSid": "CA1", "From": "+1"}
    assert number.webhook(fields, "AAAA")[0] == 403
    stream = f"wss://{HOST}/v1/telephony/twilio/desk"
    for headers in ({}, {"x-twilio-signature": twilio.sign("another", stream)}):
        with pytest.raises(InvalidStatus) as refused:
            number.open(stream, headers)
        assert refused.value.response.status_code == 403
    assert office.refused() == before + 3
    status, twiml = number.webhook(fields)
    assert status == 200
    token = twiml.split('value="')[1].split('"')[0]
    other = twilio.Call(number, "CA2", stream, {"token": token}, 20)
    other.wait(lambda: other.closed, "refused")
    assert other.closed == 1008
    assert office.provider.sessions == []


def test_vapi_calls_tools(office):
    url = f"{office.gateway.url}/v1/telephony/vapi/front"
    headers = {"authorization": f"Bearer {SECRET}"}
    calls = [("t1", "pace_look_up", {"key": "moon"}), ("t2", "pace_nothing", {})]
    status, answer = platforms.vapi(url, headers, "call-1", *calls)
    assert status == 200
    first, second = answer["results"]
    assert (first["toolCallId"], first["result"]) == ("t1", "moon: nothing special, up to 3")
    assert second["toolCallId"] == "t2" and second["error"]
    count = office.folder / "pace" / "look_up.calls"
    ran = int(count.read_text())
    assert platforms.vapi(url, headers, "call-1", *calls) == (status, answer)
    assert int(count.read_text()) == ran, "it is delivered again, not run again"
    assert platforms.vapi(url, {"x-vapi-secret": "wrong"}, "call-1", *calls)[0] == 403


def test_retell_calls_tools(office):
    url = f"{office.gateway.url}/v1/telephony/retell/front"
    body = {"name": "pace_look_up", "call": {"call_id": "c1", "transcript": "…"}, "args": {"key": "sun"}}
    assert platforms.retell(url, SECRET, body) == (200, {"result": "sun: nothing special, up to 3"})
    assert platforms.retell(f"{url}/pace_look_up", SECRET, {"key": "mars"}) == (200, {"result": "mars: nothing special, up to 3"})
    assert platforms.retell(url, "another", body)[0] == 403
    assert platforms.retell(url, SECRET, body, at_ms=1)[0] == 403
