"""Reasoning and an answer of a given form, in the words of each API, and models that judge them as their vendors do."""

MODELS = ["chat-gpt-6-sol", "responses-gpt-6.1-sol", "anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash"]
SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "integer"}},
    "required": ["total"],
    "additionalProperties": False,
}
NAMED = {"name": "answer", "schema": SCHEMA, "strict": True}
ALL_AT_ONCE = {
    "chat": {"reasoning_effort": "low", "response_format": {"type": "json_schema", "json_schema": NAMED}},
    "responses": {
        "reasoning": {"summary": "auto", "effort": "low"},
        "text": {"format": {"type": "json_schema", **NAMED}},
    },
    "anthropic": {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        "max_tokens": 4096,
    },
    "gemini": {
        "thinking_config": {"include_thoughts": True, "thinking_level": "LOW"},
        "response_mime_type": "application/json",
        "response_json_schema": SCHEMA,
    },
}
