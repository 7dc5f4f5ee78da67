"""The models that the vendors have, and what each of them takes.

`gpt-6.1-sol`, `claude-opus-4-8`, `gemini-3.8-flash` are judged by the rules of their vendor; what they answer stands
behind a plus sign, as in `claude-opus-4-8+tool-once` (`plans.py`). Any other name is a model without such rules.
"""

import re
from dataclasses import dataclass, replace

ALL_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
LOW_TO_MAX = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class Gpt:
    name: str
    efforts: tuple[str, ...] = ()
    """None: it does not reason."""
    default_effort: str = "medium"
    chat_tools: str = "any"
    """`any`; `without effort`: function tools only with effort `none`; `none`: no tools in Chat Completions."""
    bills_writes: bool = False
    """Tokens that are written into the cache are counted (5.6 and later)."""
    dialects: tuple[str, ...] = ("chat", "responses")

    def thinks(self, effort: str | None) -> bool:
        return bool(self.efforts) and (effort or self.default_effort) != "none"


GPT = [
    Gpt("gpt-6-astra", LOW_TO_MAX, chat_tools="none", bills_writes=True),
    Gpt("gpt-6.1-sol", LOW_TO_MAX, chat_tools="none", bills_writes=True),
    Gpt("gpt-6.1-terra", LOW_TO_MAX, chat_tools="without effort", bills_writes=True),
    Gpt("gpt-6-sol", ("none", *LOW_TO_MAX), chat_tools="without effort", bills_writes=True),
    Gpt("gpt-6-luna", ("none", *LOW_TO_MAX), chat_tools="without effort", bills_writes=True),
    Gpt("gpt-5.6-sol", ("none", *LOW_TO_MAX), "none", "without effort", bills_writes=True),
    Gpt("gpt-5.6-terra", ("none", *LOW_TO_MAX), "none", "without effort", bills_writes=True),
    Gpt("gpt-5.6-luna", ("none", *LOW_TO_MAX), "none", "without effort", bills_writes=True),
    Gpt("gpt-5.6", ("none", *LOW_TO_MAX), "none", "without effort", bills_writes=True),
    Gpt("gpt-5.5", ("none", "low", "medium", "high", "xhigh"), "none", "without effort"),
    Gpt("gpt-5.4", ("none", "low", "medium", "high", "xhigh"), "none", "without effort"),
    Gpt("gpt-5.4-mini", ("none", "low", "medium", "high", "xhigh"), "none", "without effort"),
    Gpt("gpt-5", ("minimal", "low", "medium", "high")),
    Gpt("gpt-4.1"),
]


@dataclass(frozen=True)
class Claude:
    name: str
    thinks: bool
    """Where the request does not say."""
    thinking: tuple[str, ...]
    efforts: tuple[str, ...] = LOW_TO_MAX
    default_effort: str = "high"
    sampling: bool = False
    forced: bool = True
    """Takes `tool_choice` `any` and `tool`; with thinking enabled by hand no model does."""
    system_role: bool = True
    prefill: bool = False
    bound: bool = False
    """Thinking blocks belong to the conversation in which they were made."""
    display: str = "omitted"
    cache_minimum: int = 4096
    dialects: tuple[str, ...] = ("anthropic",)


FABLE = Claude("claude-fable-5", True, ("adaptive",), forced=False, cache_minimum=2048)
OPUS_4_6 = Claude(
    "claude-opus-4-6", False, ("adaptive", "enabled", "disabled"), ("low", "medium", "high", "max"),
    sampling=True, system_role=False, display="summarized",
)  # fmt: skip
OPUS_4_5 = replace(
    OPUS_4_6,
    name="claude-opus-4-5",
    thinking=("enabled", "disabled"),
    efforts=("low", "medium", "high"),
    prefill=True,
)
CLAUDE = [
    *(replace(FABLE, name=f"claude-{name}-5-2", bound=True) for name in ("fable", "mythos")),
    *(replace(FABLE, name=f"claude-{name}-5-1", bound=True) for name in ("fable", "mythos")),
    *(replace(FABLE, name=f"claude-{name}-5") for name in ("fable", "mythos")),
    replace(FABLE, name="claude-opus-5-5", default_effort="medium", bound=True, cache_minimum=512),
    replace(FABLE, name="claude-sonnet-5-5", thinking=("adaptive", "between_tools"), bound=True, cache_minimum=1024),
    # Whether it takes forced tools was not found, so it does here.
    replace(FABLE, name="claude-haiku-5-5", default_effort="medium", forced=True, cache_minimum=4096),
    Claude("claude-opus-5", True, ("adaptive", "disabled"), cache_minimum=512),
    Claude("claude-sonnet-5", True, ("adaptive", "disabled"), cache_minimum=1024),
    Claude("claude-opus-4-8", False, ("adaptive", "disabled")),
    Claude("claude-opus-4-7", False, ("adaptive", "disabled"), system_role=False),
    OPUS_4_6,
    replace(OPUS_4_6, name="claude-sonnet-4-6", cache_minimum=2048),
    OPUS_4_5,
    replace(OPUS_4_5, name="claude-sonnet-4-5", efforts=(), cache_minimum=1024),
    replace(OPUS_4_5, name="claude-haiku-4-5", efforts=()),
]


@dataclass(frozen=True)
class Gemini:
    name: str
    levels: tuple[str, ...] = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
    budget: bool = True
    """Takes `thinkingBudget`."""
    signs: bool = True
    """Function calls of the current turn have to come back with their signature."""
    cache_minimum: int = 4096
    dialects: tuple[str, ...] = ("gemini",)


GEMINI = [
    Gemini("gemini-4-argon", ("LOW", "MEDIUM", "HIGH"), budget=False, cache_minimum=6144),
    *(
        Gemini(f"gemini-{name}")
        for name in (
            "3.8-flash", "3.7-flash", "3.6-flash", "3.5-flash", "3.5-flash-lite", "3.1-flash-lite",
            "3.1-pro-preview", "3.1-pro-preview-customtools", "3-flash-preview",
        )
    ),
    *(Gemini(f"gemini-{name}", (), signs=False, cache_minimum=2048) for name in ("2.5-pro", "2.5-flash")),
]  # fmt: skip
MODELS = {model.name: model for model in (*GPT, *CLAUDE, *GEMINI)}


def find(model: str) -> tuple[Gpt | Claude | Gemini | None, str]:
    """The model of a vendor, if it is one, and what it is to do."""
    name, _, script = model.partition("+")
    name = re.sub(r"-20\d{2}-?\d{2}-?\d{2}$", "", name)
    return MODELS.get(name), script
