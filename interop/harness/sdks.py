"""The libraries that are tried before the gateway: what runs them, what they must get, and the table that documents show.

`python -m harness.sdks` prints the table.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from harness.paths import INTEROP, NODE, PYTHON_V2

PYTHON_SDKS = INTEROP / ".venv-sdks" / "bin" / "python"
APIS = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
}
COLUMNS = ("library", "packages", "APIs", "lists models", "own tools", "reasoning kept", "structured output")


@dataclass(frozen=True)
class Sdk:
    name: str
    packages: tuple[str, ...]
    apis: tuple[str, ...]
    errors: dict[str, str]
    """For each API, its own error for a model that does not exist."""
    program: str
    """In `sdks/`."""
    python: Path = PYTHON_SDKS
    lists: bool = False
    tools: bool = True
    structured: bool = True
    keeps_reasoning: bool = True
    """In a history of its own tools: that of every model that wants it back."""

    history_is_text: bool = False
    """Calls and results of earlier turns too."""

    @property
    def command(self) -> list[str]:
        interpreter = NODE if self.program.endswith(".mjs") else self.python
        return [str(interpreter), str(INTEROP / "sdks" / self.program)]


def for_all(apis: tuple[str, ...], error: str) -> dict[str, str]:
    return dict.fromkeys(apis, error)


ALL = tuple(APIS)
OPENAI = ("chat", "responses")
SDKS = [
    Sdk(
        "LiteLLM", ("litellm", "mcp"), ALL, for_all(ALL, "litellm.exceptions.NotFoundError"), "litellm_py.py", lists=True,
    ),
    Sdk(
        "LangChain", ("langchain-openai", "langchain-anthropic", "langchain-google-genai"), ALL,
        {
            **for_all(OPENAI, "langchain_openai.chat_models.base.OpenAIModelNotFoundError"),
            "anthropic": "langchain_anthropic.chat_models.AnthropicModelNotFoundError",
            "gemini": "langchain_google_genai.chat_models.GoogleModelNotFoundError",
        },
        "langchain_py.py",
    ),
    Sdk(
        "Pydantic AI", ("pydantic-ai-slim",), ALL, for_all(ALL, "pydantic_ai.exceptions.ModelNotFoundError"),
        "pydantic_ai_py.py", PYTHON_V2,
    ),
    Sdk(
        "Instructor", ("instructor",), ALL, for_all(ALL, "instructor.v2.core.errors.InstructorRetryException"),
        "instructor_py.py", tools=False, keeps_reasoning=False,
    ),
    Sdk(
        "LlamaIndex", ("llama-index-llms-openai-like", "llama-index-llms-openai"), OPENAI,
        for_all(OPENAI, "openai.NotFoundError"), "llama_index_py.py", keeps_reasoning=False,
    ),
    Sdk(
        "smolagents", ("smolagents",), ("chat",), {"chat": "smolagents.utils.AgentGenerationError"}, "smolagents_py.py",
        keeps_reasoning=False, history_is_text=True,
    ),
    Sdk(
        "Vercel AI SDK",
        ("ai", "@ai-sdk/openai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "@ai-sdk/google"),
        ("responses", "chat", "chat, compatible", "anthropic", "gemini"),
        for_all((*ALL, "chat, compatible"), "AI_APICallError"), "ai_sdk.mjs",
    ),
    Sdk(
        "LangChain for JavaScript", ("@langchain/core", "@langchain/openai"), OPENAI, for_all(OPENAI, "NotFoundError"),
        "langchain.mjs",
    ),
]  # fmt: skip


def versions() -> dict[str, str]:
    """Of everything that is installed for the tests, by the files that pin it."""
    found: dict[str, str] = {}
    for name in ("requirements-sdks.txt", "requirements.txt"):
        for line in (INTEROP / name).read_text().splitlines():
            if pinned := re.match(r"([\w.-]+)==([^\s;]+)", line):
                found[pinned[1]] = pinned[2]
    npm = json.loads((INTEROP / "package.json").read_text())["dependencies"]
    return {**npm, **found}


def table() -> str:
    known = versions()

    def row(sdk: Sdk) -> str:
        packages = ", ".join(f"`{name}` {known[name]}" for name in sdk.packages)
        apis = ", ".join(name for api, name in APIS.items() if api in sdk.apis)
        marks = " | ".join("yes" if has else "" for has in (sdk.lists, sdk.tools, sdk.keeps_reasoning, sdk.structured))
        return f"| {sdk.name} | {packages} | {apis} | {marks} |\n"

    head = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
    return head + "".join(row(sdk) for sdk in SDKS)


if __name__ == "__main__":
    print(table(), end="")
