"""Where the body of a request has what was wished for: schema, effort, calls, results and reasoning, by API."""

from provider.strict_gemini import DUMMIES

SCHEMAS = {
    "chat": lambda body: body["response_format"]["json_schema"]["schema"],
    "responses": lambda body: body["text"]["format"]["schema"],
    "anthropic": lambda body: body["output_config"]["format"]["schema"],
    "gemini": lambda body: body["generationConfig"]["responseJsonSchema"],
}
EFFORTS = {
    # It does not take one beside tools.
    "chat": lambda body: "low" if "reasoning_effort" not in body else "refused",
    "responses": lambda body: body["reasoning"]["effort"],
    "anthropic": lambda body: body["output_config"]["effort"],
    "gemini": lambda body: level(body["generationConfig"]["thinkingConfig"]).lower(),
}
# Calls of the turns that have some, and their results, as the second request has them.
CALLS = {
    "chat": lambda body: [len(one["tool_calls"]) for one in body["messages"] if one.get("tool_calls")],
    "responses": lambda body: [len([one for one in body["input"] if one.get("type") == "function_call"])],
    "anthropic": lambda body: [counted for one in body["messages"] if (counted := count(one, "tool_use"))],
    "gemini": lambda body: [
        counted
        for one in body["contents"]
        if (counted := len([part for part in one["parts"] if "functionCall" in part]))
    ],
}
RESULTS = {
    "chat": lambda body: len([one for one in body["messages"] if one["role"] == "tool"]),
    "responses": lambda body: len([one for one in body["input"] if one.get("type") == "function_call_output"]),
    "anthropic": lambda body: count(body["messages"][-1], "tool_result"),
    "gemini": lambda body: len([part for part in body["contents"][-1]["parts"] if "functionResponse" in part]),
}
# Reasoning of the first answer that came back; Chat Completions has none.
THOUGHTS = {
    "chat": lambda body: 1,
    "responses": lambda body: len([one for one in body["input"] if one.get("encrypted_content")]),
    "anthropic": lambda body: sum(count(one, "thinking") for one in body["messages"]),
    "gemini": lambda body: len(
        [
            part
            for one in body["contents"]
            for part in one["parts"]
            if part.get("thoughtSignature") not in (None, *DUMMIES)
        ]
    ),
}


def level(config: dict) -> str:
    """In Google's own spelling, or in that of its client for Python, which passes through."""
    return config.get("thinkingLevel") or config["thinking_level"]


def count(message: dict, kind: str) -> int:
    blocks = message["content"] if isinstance(message["content"], list) else []
    return len([block for block in blocks if block["type"] == kind])
