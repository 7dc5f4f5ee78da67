"""Deepgram's Voice Agent on a port. What a caller says comes as `InjectUserMessage`; the first word says what happens:

- `roll` and `lamp` call the function of that name, `both` calls the two in one request.
- `resume` calls `pace_look_up` and takes it back, as if the caller had spoken on.
- anything else is answered without a function.

Whatever the real one would refuse, or could not make sense of, is remembered in `complaints`.
"""

import itertools
import json
import threading
import time

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

PATH = "/v1/agent/converse"
FUNCTION = {"name", "description", "parameters", "endpoint", "defer_until_eot"}
BREATH_S = 0.5
"""Between two halves of a sentence."""
AUDIO = b"\x01\x02" * 320


class Session:
    """One connection."""

    def __init__(self, provider: "Deepgram", socket: ServerConnection):
        self.provider, self.socket = provider, socket
        self.settings: dict | None = None
        self.thinks: list[dict] = []
        """Every think block that it had."""
        self.called: dict[str, str] = {}
        self.answers: dict[str, list[str]] = {}
        self.withdrawn: set[str] = set()
        self.audio = 0
        self.ids = itertools.count(1)

    @property
    def functions(self) -> dict[str, dict]:
        return {function["name"]: function for function in self.thinks[-1].get("functions", [])}

    def send(self, type: str, **fields) -> None:
        self.socket.send(json.dumps({"type": type, **fields}))

    def complain(self, what: str) -> None:
        self.provider.complaints.append(what)

    def run(self) -> None:
        self.send("Welcome", request_id="r-1")
        for message in self.socket:
            if isinstance(message, bytes):
                self.audio += len(message)
            else:
                self.heard(json.loads(message))

    def heard(self, message: dict) -> None:
        match message.get("type"):
            case "Settings" if self.settings is None:
                self.settings = message
                self.think(message["agent"]["think"])
                self.send("SettingsApplied")
            case "UpdateThink":
                self.think(message["think"])
                self.send("ThinkUpdated")
            case "InjectUserMessage":
                self.say("user", message["content"])
                self.turn(message["content"])
            case "FunctionCallResponse":
                self.answered(message)
            case "KeepAlive" | "UpdatePrompt" | "InjectAgentMessage":
                pass
            case other:
                self.complain(f"a message of the type {other} at this time")

    def think(self, block: dict) -> None:
        if not block.get("provider", {}).get("model"):
            self.complain("a think block without a model")
        for function in block.get("functions", []):
            if unknown := function.keys() - FUNCTION:
                self.complain(f"function {function['name']} has {unknown}")
        self.thinks.append(block)

    def say(self, role: str, text: str) -> None:
        self.send("ConversationText", role=role, content=text, conversational_behavior="default")

    def speak(self, text: str) -> None:
        self.say("assistant", text)
        self.socket.send(AUDIO)
        self.send("AgentAudioDone")

    def turn(self, said: str) -> None:
        wanted = {"roll": ["roll"], "lamp": ["lamp"], "both": ["roll", "lamp"], "resume": ["pace_look_up"]}
        names = wanted.get(said.split()[0])
        if names is None:
            return self.speak(f"You said: {said}")
        calls = [self.call(name) for name in names if name in self.functions]
        if not calls:
            return self.speak(f"There is no {names[0]}")
        self.send("FunctionCallRequest", functions=calls)
        if said.startswith("resume"):
            time.sleep(BREATH_S)
            self.withdrawn |= {call["id"] for call in calls}
            self.send("UserStartedSpeaking")
            taken = [{"id": call["id"], "name": call["name"]} for call in calls]
            self.send("FunctionCallCancelled", functions=taken)

    def call(self, name: str) -> dict:
        id = f"call-{next(self.ids)}"
        self.called[id] = name
        arguments = json.dumps({"roll": {"expression": "1d1+41"}, "pace_look_up": {"key": "x"}}.get(name, {}))
        return {"id": id, "name": name, "arguments": arguments, "client_side": True}

    def answered(self, message: dict) -> None:
        id = message.get("id")
        if self.called.get(id) != message.get("name"):
            self.complain(f"an answer for {id}, which is no call of {message.get('name')}")
        if id in self.withdrawn:
            self.complain(f"an answer for {id}, which was taken back")
        before = self.answers.setdefault(id, [])
        if before:
            self.complain(f"a second answer for {id}")
        before.append(message["content"])
        if all(id in self.answers or id in self.withdrawn for id in self.called):
            self.speak(" and ".join(str(answers[0]) for answers in self.answers.values()))


class Deepgram:
    """Runs in a thread of the test."""

    def __init__(self):
        self.sessions: list[Session] = []
        self.complaints: list[str] = []
        self.keys: list[str | None] = []
        self.server = serve(self.talk, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.socket.getsockname()[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def talk(self, socket: ServerConnection) -> None:
        if socket.request.path != PATH:
            self.complaints.append(f"a session at {socket.request.path}")
        self.keys.append(socket.request.headers.get("authorization"))
        session = Session(self, socket)
        self.sessions.append(session)
        try:
            session.run()
        except ConnectionClosed:
            pass

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
