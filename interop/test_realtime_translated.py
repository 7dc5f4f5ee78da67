"""Clients of one provider's realtime protocol before models of another provider: the official clients of OpenAI before a
Gemini Live model, and those of Google before an OpenAI Realtime model. Both providers are as strict as the vendors."""

import base64
import json
import threading

import pytest
from websockets.sync.client import connect

from harness import realtime, sound, talks
from harness.live_line import LiveLine, check_hidden, say, speak_aloud, trusted
from provider import live_gemini_plays, live_openai_plays
from provider.live_gemini import GeminiLive
from provider.live_openai import SERVER, OpenAiLive

KEY, OTHER_KEY = "key-of-the-client-0123456789", "key-of-the-other-0123456789"
GEMINI = {"2.5": "gemini-2.5-flash-native-audio", "3.1": "gemini-3.1-flash-live", "3.8": "gemini-3.8-live"}
OPENAI_CLIENTS = pytest.mark.parametrize("client", realtime.CLIENTS.values(), ids=realtime.CLIENTS)
GEMINI_CLIENTS = pytest.mark.parametrize("client", talks.CLIENTS.values(), ids=talks.CLIENTS)
# Of the other protocol.
OTHERS = ("serverContent", "setupComplete", "sessionResumption")
FAMILY = pytest.mark.parametrize("family", GEMINI)
CONFIG = {
    "tools": [
        {"functionDeclarations": [
            {"name": "lights", "parameters": {"type": "OBJECT", "properties": {"on": {"type": "BOOLEAN"}}}}
        ]}
    ],
    "responseModalities": ["AUDIO"],
    "inputAudioTranscription": {},
    "outputAudioTranscription": {},
}  # fmt: skip
ANSWERS = {"lights": {"output": "they are on"}}


def models() -> dict:
    gemini = {
        f"gemini-{family}-{play}": {"provider": "google", "api": "realtime", "id": f"{name}--{play}"}
        for family, name in GEMINI.items()
        for play in live_gemini_plays.NAMED
    }
    openai = {
        f"openai-{play}": {"provider": "openai", "api": "realtime", "id": f"gpt-realtime-2.1--{play}"}
        for play in live_openai_plays.NAMED
    }
    return gemini | openai


class Line(LiveLine):
    """With both providers behind it."""

    key = KEY

    def __init__(self, folder):
        super().__init__(folder)
        self.google, self.openai = GeminiLive(), OpenAiLive()
        entry = self.pace_server(
            tools={
                "look_up": {"estimated_duration_ms": 50},
                "weather": {"estimated_duration_ms": 50, "delivery": "when_idle"},
                "write_down": {"estimated_duration_ms": 50, "approval": "never"},
            }
        )
        common = {"tools": ["pace_*"], "auto_execute": ["pace_*"], "prompt": "You speak with {caller_name}.", "budget_tier": "deep"}
        agents = {
            "caller": {**common, "models": list(models())},
            "of_google": {**common, "models": ["gemini-3.8-echo"]},
            "of_openai": {**common, "models": ["openai-echo"]},
        }
        key = {"role": "caller", "rights": ["execute", "override_tier"]}
        config = {
            "servers": {"pace": entry},
            # Time enough, on a busy machine too, for all that is not about being late.
            "budget": {"min_samples": 100, "tiers": {"fast_ms": 2000, "standard_ms": 3500, "deep_ms": 6000}},
            "providers": {
                "google": {"kind": "gemini", "base_url": self.google.url, "api_key": "secret-of-google-0123456789"},
                "openai": {"kind": "openai", "base_url": self.openai.url, "api_key": "secret-of-openai-0123456789"},
            },
            "models": models(),
            "agents": agents,
            "default_agent": "caller",
            "keys": [{"name": "app", "key": KEY, **key}, {"name": "other", "key": OTHER_KEY, **key}],
        }
        self.start(config, "pace_look_up", "--tls")

    def openai_talk(self, client, model: str, *steps, key: str = KEY, **more) -> realtime.Heard:
        return client(self.gateway.url, key, realtime.Talk(model, list(steps), **more))

    def gemini_talk(self, client, model: str, *steps, key: str = KEY) -> talks.Heard:
        return client(self.gateway.url, key, talks.Talk(model, list(steps), CONFIG, ANSWERS))

    def stop(self) -> None:
        super().stop()
        self.google.stop()
        self.openai.stop()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    with trusted(Line(tmp_path_factory.mktemp("translated"))) as line:
        yield line


@pytest.fixture
def line(started):
    started.set()
    started.openai.forget()
    started.google.sessions.clear()
    return started


# An OpenAI client before Gemini.


@OPENAI_CLIENTS
@FAMILY
def test_an_openai_client_writes_and_speaks_to_gemini(line, client, family):
    steps = [say("Good morning.", "Good morning."), speak_aloud("How are you?", "How are you?")]
    heard = line.openai_talk(client, f"gemini-{family}-echo", *steps)
    assert [said.strip() for said in heard.said] == ["You said: Good morning.", "You said: How are you?"]
    check_hidden(heard, *OTHERS)
    [session] = line.google.sessions
    assert [text.strip() for text in session.heard] == ["Good morning.", "How are you?"]
    assert "lights" in session.declared() and "pace_look_up" in session.declared()
    spoken = heard.kinds[heard.kinds.index("input_audio_buffer.speech_started") :]
    order = ["speech_started", "speech_stopped", "committed"]
    assert [kind.rpartition(".")[2] for kind in spoken if kind.startswith("input_audio_buffer")] == order
    assert spoken.index("input_audio_buffer.committed") < spoken.index("response.created")


@OPENAI_CLIENTS
@FAMILY
def test_a_gateway_tool_answers_an_openai_client_of_gemini(line, client, family):
    heard = line.openai_talk(client, f"gemini-{family}-tool", speak_aloud("Look it up.", "moon"), instructions="Be brief.")
    assert "moon: nothing special" in heard.said[-1]
    assert heard.calls == [] and heard.tools == ["lights"]
    check_hidden(heard, *OTHERS)
    [session] = line.google.sessions
    parts = [part["text"] for part in session.setup["systemInstruction"]["parts"]]
    assert parts == ["You speak with there.", "Be brief."]


@OPENAI_CLIENTS
@FAMILY
def test_an_openai_client_answers_its_own_call_of_gemini(line, client, family):
    heard = line.openai_talk(client, f"gemini-{family}-client-tool", say("Light!", "they are on"))
    assert heard.calls == ["lights"] and "they are on" in heard.said[-1]
    check_hidden(heard, *OTHERS)


@OPENAI_CLIENTS
def test_calls_of_both_are_answered_together(line, client):
    heard = line.openai_talk(client, "gemini-3.8-mixed", say("Light, and look it up.", "they are on"))
    assert heard.calls == ["lights"] and "moon: nothing special" in heard.said[-1]
    check_hidden(heard, *OTHERS)


@OPENAI_CLIENTS
def test_a_caller_interrupts_gemini(line, client):
    begun = {"say": "Tell me a story.", "seen": "response.output_audio_transcript.delta"}
    heard = line.openai_talk(client, "gemini-3.8-long", begun, speak_aloud("Wait, hello?", "You said: Wait"))
    assert "interrupt me now" not in "".join(heard.said) and "Wait, hello?" in heard.said[-1]
    started = heard.kinds.index("input_audio_buffer.speech_started")
    assert "response.done" in heard.kinds[started:]
    assert '"reason":"turn_detected"' in heard.raw.replace(" ", "")


@OPENAI_CLIENTS
def test_a_late_result_is_told_to_an_openai_client(line, client):
    line.set(weather={"ms": 1500})
    heard = line.openai_talk(client, "gemini-3.8-aside", say("How is the weather?", "moment"), {"until": "Rome"})
    assert heard.said[0].strip() == "One moment." and "Rome" in heard.said[-1]
    check_hidden(heard, *OTHERS)


def test_a_renewed_connection_is_invisible_to_an_openai_client(line):
    client = realtime.CLIENTS["python"]
    heard = line.openai_talk(client, "gemini-3.8-leave", say("Hello.", "Hello."), {"say": "Again.", "until": "Again."})
    assert len(heard.said) == 2
    check_hidden(heard, *OTHERS)


class Socket:
    """A client of OpenAI that says exactly what it is told to, and holds every event against the official types."""

    def __init__(self, line: Line, query: str, key: str = KEY):
        url = line.gateway.url.replace("http", "ws")
        headers = {"authorization": f"Bearer {key}"}
        self.socket = connect(f"{url}/v1/realtime?{query}", additional_headers=headers, ssl=line.trust(), max_size=None)
        self.events: list[dict] = []

    def send(self, kind: str, **fields) -> None:
        self.socket.send(json.dumps({"type": kind, **fields}))

    def until(self, kind: str) -> dict:
        while True:
            event = json.loads(self.socket.recv(timeout=30))
            SERVER.validate_python(event)
            self.events.append(event)
            if event["type"] == kind:
                return event

    def audio(self, spoken: bytes) -> None:
        self.send("input_audio_buffer.append", audio=base64.b64encode(spoken).decode())


@FAMILY
def test_every_event_is_one_of_openais_and_in_its_order(line, family):
    client = Socket(line, f"model=gemini-{family}-echo")
    client.until("session.created")
    client.send("session.update", session={"type": "realtime", "audio": {"input": {"turn_detection": None, "transcription": {"model": "whisper-1"}}}})
    session = client.until("session.updated")["session"]
    assert session["audio"]["input"]["turn_detection"] is None
    client.audio(sound.encode("Hello, is anybody there?", 24_000))
    client.send("input_audio_buffer.commit")
    client.until("conversation.item.done")
    client.events.clear()
    client.send("response.create")
    done = client.until("response.done")["response"]
    assert done["status"] == "completed" and done["usage"]["input_tokens"] == 10
    [message] = done["output"]
    assert message["content"][0]["transcript"].strip() == "You said: Hello, is anybody there?"
    kinds = [event["type"] for event in client.events if "transcription" not in event["type"]]
    deltas = {"response.output_audio.delta", "response.output_audio_transcript.delta"}
    assert [kind for kind in kinds if kind not in deltas] == [
        "response.created", "response.output_item.added", "conversation.item.added", "response.content_part.added",
        "response.output_audio.done", "response.output_audio_transcript.done", "response.content_part.done",
        "conversation.item.done", "response.output_item.done", "response.done",
    ]  # fmt: skip
    client.send("response.create", event_id="mine", response={"conversation": "none"})
    error = client.until("error")["error"]
    assert (error["event_id"], error["param"]) == ("mine", "response.conversation")
    client.socket.close()


def test_telephone_audio_is_understood(line):
    client = Socket(line, "model=gemini-3.8-echo")
    client.send("session.update", session={"type": "realtime", "audio": {
        "input": {"format": {"type": "audio/pcmu"}}, "output": {"format": {"type": "audio/pcmu"}}}})  # fmt: skip
    client.audio(sound.mu_law(sound.encode("Is this the pub?", 8_000)))
    client.until("response.done")
    assert line.google.sessions[0].heard == ["Is this the pub?"]
    client.socket.close()


# A Gemini client before OpenAI.


@GEMINI_CLIENTS
def test_a_gemini_client_writes_and_speaks_to_openai(line, client):
    heard = line.gemini_talk(client, "openai-echo", {"say": "Good morning."}, {"sound": "How are you?"})
    assert [turn.transcript.strip() for turn in heard.turns] == ["You said: Good morning.", "You said: How are you?"]
    assert [turn.text.strip() for turn in heard.turns] == ["You said: Good morning.", "You said: How are you?"]
    assert heard.turns[1].input.strip() == "How are you?"
    assert (heard.closed, heard.calls) == (None, [])
    assert "usage_metadata" in heard.kinds
    [session] = line.openai.sessions
    assert session.refused == []
    assert {"lights", "pace_look_up"} <= {tool["name"] for tool in session.config["tools"]}


@GEMINI_CLIENTS
def test_a_gateway_tool_answers_a_gemini_client_of_openai(line, client):
    heard = line.gemini_talk(client, "openai-text-and-tool", {"sound": "Look it up."})
    [turn] = heard.turns
    assert "One moment." in turn.transcript and "moon: nothing special" in turn.transcript
    assert heard.calls == [] and heard.closed is None
    assert line.openai.sessions[0].refused == []


@GEMINI_CLIENTS
def test_a_gemini_client_answers_its_own_call_of_openai(line, client):
    heard = line.gemini_talk(client, "openai-client-tool", {"say": "Light!"})
    assert heard.calls == [{"name": "lights", "args": {"on": True}}]
    [turn] = heard.turns
    assert "they are on" in turn.transcript
    assert line.openai.sessions[0].refused == []


@GEMINI_CLIENTS
def test_calls_of_both_in_one_turn_of_openai(line, client):
    heard = line.gemini_talk(client, "openai-mixed", {"say": "Light, and look it up."})
    assert [call["name"] for call in heard.calls] == ["lights"]
    [turn] = heard.turns
    assert "they are on" in turn.transcript and "moon: nothing special" in turn.transcript
    assert line.openai.sessions[0].refused == []


def test_a_caller_interrupts_openai(line):
    """Speaks as soon as the model does."""
    url = line.gateway.url.replace("http", "ws")
    path = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    with connect(f"{url}{path}?key={KEY}", ssl=line.trust(), max_size=None) as socket:
        said = ""

        def until(kind: str) -> None:
            nonlocal said
            while True:
                message = json.loads(socket.recv(timeout=30))
                content = message.get("serverContent", {})
                said += content.get("outputTranscription", {}).get("text", "")
                if kind in content or kind in message:
                    return

        socket.send(json.dumps({"setup": {"model": "models/openai-long", "outputAudioTranscription": {}}}))
        until("setupComplete")
        socket.send(json.dumps({"realtimeInput": {"text": "Tell me a story."}}))
        until("outputTranscription")
        data = base64.b64encode(sound.encode("Wait, hello?", 16_000)).decode()
        socket.send(json.dumps({"realtimeInput": {"audio": {"data": data, "mimeType": "audio/pcm;rate=16000"}}}))
        until("interrupted")
        until("turnComplete")
        said = ""
        until("turnComplete")
        assert said.strip() == "You said: Wait, hello?"


@GEMINI_CLIENTS
def test_a_late_result_is_told_to_a_gemini_client(line, client):
    line.set(weather={"ms": 1500})
    heard = line.gemini_talk(client, "openai-aside", {"say": "How is the weather?", "turns": 2})
    asked, told = heard.turns
    assert asked.transcript == "" and "Rome" in told.transcript
    assert line.openai.sessions[0].refused == []


def test_what_openai_cannot_do_is_refused_by_name(line):
    url = line.gateway.url.replace("http", "ws")
    path = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    with connect(f"{url}{path}?key={KEY}", ssl=line.trust()) as socket:
        socket.send(json.dumps({"setup": {"model": "models/openai-echo", "tools": [{"googleSearch": {}}]}}))
        with pytest.raises(Exception, match="setup.tools.0..googleSearch"):
            socket.recv(timeout=30)


# Both.


def test_an_agent_of_another_protocol_answers_without_a_named_model(line):
    client = Socket(line, "agent=of_google")
    client.until("session.created")
    client.send("conversation.item.create", item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]})
    client.send("response.create")
    assert "You said: Hi." in client.until("response.done")["response"]["output"][0]["content"][0]["transcript"]
    client.socket.close()


def test_two_callers_at_once_hear_their_own_answers(line):
    heard = {}

    def talk(key: str, words: str) -> None:
        heard[key] = line.openai_talk(realtime.CLIENTS["python"], "gemini-3.8-echo", speak_aloud(words, words), key=key)
        heard[key, "gemini"] = line.gemini_talk(talks.CLIENTS["python"], "openai-echo", {"sound": words}, key=key)

    threads = [
        threading.Thread(target=talk, args=(KEY, "I am the one.")),
        threading.Thread(target=talk, args=(OTHER_KEY, "I am the other.")),
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for key, words in ((KEY, "I am the one."), (OTHER_KEY, "I am the other.")):
        assert [said.strip() for said in heard[key].said] == [f"You said: {words}"]
        assert [turn.transcript.strip() for turn in heard[key, "gemini"].turns] == [f"You said: {words}"]
