"""One conversation that uses every feature, and the checks of what the client saw of it.

The same story is told with and without the gateway between: what holds directly has to hold through it.
"""

from dataclasses import dataclass

from harness.clients import CLIENTS, REVISION, run_client

ACCEPT = {"action": "accept", "content": {"answer": "because"}}
DECLINE = {"action": "decline"}


@dataclass(frozen=True)
class Names:
    """How things of one server are called where the client stands."""

    server: str
    prefix: str = ""

    def tool(self, name: str) -> str:
        return self.prefix + name

    def uri(self, path: str) -> str:
        return f"note://{self.server}/{path}"


def script(names: Names) -> dict[str, dict]:
    def call(name: str, arguments: dict | None = None, **more) -> dict:
        return {"do": "call", "name": names.tool(name), "arguments": arguments or {}, **more}

    return {
        "tools": {"do": "list_tools"},
        "echo": call("echo", {"text": "grüß dich ✓"}),
        "add": call("add", {"a": 1, "b": 2}),
        "wrong": call("add", {"a": "one", "b": 2}),
        "unknown": call("no_such_tool"),
        "slow": call("slow", {"ms": 200}),
        "cancel": {
            "do": "count_rises",
            "name": names.tool("cancelled_count"),
            "during": call("slow", {"ms": 9000}, cancel_after_ms=2000),
            "limit_ms": 30_000,
        },
        "ask": call("ask", {"question": "Why?"}, answer=ACCEPT),
        "declined": call("ask", {"question": "And now?"}, answer=DECLINE),
        "resources": {"do": "list_resources"},
        "templates": {"do": "list_templates"},
        "read": {"do": "read", "uri": names.uri("welcome")},
        "read_template": {"do": "read", "uri": names.uri("topics/tea")},
        "prompts": {"do": "list_prompts"},
        "prompt": {"do": "prompt", "name": names.tool("visit"), "arguments": {"city": "rome"}},
        "complete": {
            "do": "complete",
            "prompt": names.tool("visit"),
            "argument": {"name": "city", "value": "pa"},
        },
        "watch": {"do": "watch_tools"},
        "grow": call("grow"),
        "changed": {"do": "wait_tools_changed", "timeout_ms": 20_000, "limit_ms": 25_000},
        "tools_after": {"do": "list_tools"},
    }


class Story:
    def __init__(self, client: str, names: Names, **target):
        self.client = client
        self.names = names
        steps = script(names)
        seen = run_client(client, list(steps.values()), **target)
        self.protocol = seen["protocol"]
        self._seen = dict(zip(steps, seen["steps"], strict=True))

    def __getitem__(self, label: str) -> dict:
        """What a step saw; a step that failed fails the test that looks at it."""
        seen = self._seen[label]
        assert "error" not in seen, f"step {label}: {seen['error']}"
        return seen

    def outcome(self, label: str) -> dict:
        return self._seen[label]

    def text(self, label: str) -> str:
        return self[label]["result"]["content"][0]["text"]


class Checks:
    """The tests of a story; a module that collects them has a fixture `story`."""

    def test_speaks_the_revision_of_the_client(self, story):
        # TypeScript SDK 1.x does not tell it on pipes.
        assert story.protocol in ("", REVISION[CLIENTS[story.client]])

    def test_lists_the_tools(self, story):
        tools = {tool["name"]: tool for tool in story["tools"]["tools"]}
        wanted = ["echo", "add", "slow", "cancelled_count", "pid", "ask", "grow"]
        assert not {story.names.tool(name) for name in wanted} - set(tools)
        add = tools[story.names.tool("add")]
        assert add["description"] == "Adds two numbers"
        assert set(add["inputSchema"]["properties"]) == {"a", "b"}
        assert add["outputSchema"]["properties"]["sum"]["type"] == "number"

    def test_calls_a_tool(self, story):
        assert story.text("echo") == "grüß dich ✓"
        assert not story["echo"]["result"].get("isError")

    def test_structured_content_arrives(self, story):
        result = story["add"]["result"]
        assert result["structuredContent"] == {"sum": 3}
        assert result["content"][0]["type"] == "text"

    def test_wrong_arguments_are_a_result_of_the_tool(self, story):
        assert story["wrong"]["result"]["isError"] is True

    def test_an_unknown_tool_fails(self, story):
        seen = story.outcome("unknown")
        assert "error" in seen or seen["result"]["isError"] is True

    def test_progress_arrives(self, story):
        progress = story["slow"]["progress"]
        # An SDK may drop the report that arrives together with the result.
        assert len(progress) >= 8, progress
        assert [done for done, _ in progress] == sorted(done for done, _ in progress)
        assert {total for _, total in progress} == {10}
        assert story.text("slow") == "Worked for 200 ms"

    def test_cancelling_reaches_the_server(self, story):
        assert story["cancel"]["rose"]

    def test_a_question_reaches_the_user(self, story):
        assert story["ask"]["questions"] == ["Why?"]
        assert story.text("ask") == "You said: because"

    def test_a_declined_question_reaches_the_server(self, story):
        assert story["declined"]["questions"] == ["And now?"]
        assert story.text("declined") == "No answer: decline"

    def test_resources(self, story):
        names = story.names
        assert names.uri("welcome") in [each["uri"] for each in story["resources"]["resources"]]
        assert names.uri("topics/{topic}") in [each["uriTemplate"] for each in story["templates"]["templates"]]
        assert story["read"]["contents"][0]["text"] == f"Welcome to {names.server}"
        assert story["read"]["contents"][0]["uri"] == names.uri("welcome")
        assert story["read_template"]["contents"][0]["text"] == "About tea"

    def test_prompts(self, story):
        prompts = {prompt["name"]: prompt for prompt in story["prompts"]["prompts"]}
        assert prompts[story.names.tool("visit")]["arguments"][0]["name"] == "city"
        assert story["prompt"]["messages"][0]["content"]["text"] == "Plan a visit to rome"

    def test_completion(self, story):
        assert story["complete"]["values"] == ["paris", "parma"]

    def test_a_new_tool_is_announced(self, story):
        assert story["changed"]["heard"]
        grown = story.names.tool(story.text("grow"))
        assert grown in [tool["name"] for tool in story["tools_after"]["tools"]]
