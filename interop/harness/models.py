"""Tollgate before the fake provider: every script as a model of each kind, and agents that use them."""

from contextlib import contextmanager
from pathlib import Path

from fronts import FRONTS, params
from harness.gateway import Gateway
from provider import faults, script
from provider.server import Provider, Seen

CLIENT_KEY = "key-of-the-client-0123456789"
SECRETS = {name: f"secret-of-{name}-0123456789" for name in ("openai", "anthropic", "gemini")}
# How a provider is spoken to -> its name and kind.
KINDS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "gemini"}
SCRIPTS = [
    "echo", "instructed", "tool-once", "text-and-tool", "parallel", "without-ids", "same-id", "same-call", "forever",
    "many-500", "many-20", "rounds-3", "unknown-tool", "hidden-tool", "client-tool", "mixed", "mixed-late", "thinking",
    "refusal", "length", "negative-usage", "wordy.slow",
]  # fmt: skip


# Answers with which something is wrong.
FAULTS = [
    *(f"tool-once.{way}" for way in ("odd-chunks", "crlf", "cr", "several-lines", "comments", "bom", "strange-events")),
    *(f"tool-once.{way}" for way in ("end-twice", "index-gaps", "renamed")),
    *(f"echo.{way}" for way in ("no-end", "cut", "error-mid-stream", "silent", "bad-utf8", "mistyped")),
    *(f"echo.{way}" for way in ("no-blank", "huge-event")),
    *(f"echo.{refusal}" for refusal in faults.REFUSALS),
    *(f"echo.{name}" for name in faults.RAW),
    *(f"args-{name}" for name in script.ARGUMENTS),
]
# Models that judge requests as their vendor does (`provider/vendors.py`), and what they do.
STRICT = {
    "chat": ["gpt-4.1", "gpt-5.5", "gpt-6-sol"],
    "responses": ["gpt-4.1", "gpt-5.5", "gpt-6.1-sol"],
    "anthropic": ["claude-haiku-4-5", "claude-opus-4-6", "claude-opus-4-8", "claude-opus-5-5", "claude-fable-5-2"],
    "gemini": ["gemini-2.5-flash", "gemini-3.8-flash", "gemini-4-argon"],
}
STRICT_SCRIPTS = [
    "echo", "instructed", "rounds-2", "parallel", "text-and-tool", "mixed", "wordy", "tool-once", "tool-once.redacted",
    "tool-once.done-only", "tool-once.slow", "breaking-1", "breaking-2", "rounds-3", "same-id", "same-id-twice", "photos",
]  # fmt: skip
# Whoever begins a turn, another one has to end it.
TAKE_OVER = ["responses-gpt-6.1-sol", "anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash"]
# An opener speaks before a strong model, which takes its time.
CASCADE = ["claude-opus-4-6", "claude-opus-4-8", "claude-opus-5-5"]
# The same providers, asked with more or less patience: how their models' names begin -> settings.
MANNERS = {
    "": {"timeout_ms": 15_000, "retries": 0},
    "again-": {"timeout_ms": 15_000, "retries": 1},
    "hasty-": {"timeout_ms": 1500, "idle_timeout_ms": 1500, "retries": 0},
}
IN_MANNER = {
    "again-": ["echo.rate-limited-1", "echo.overloaded-1", "echo.failing-1"],
    "hasty-": ["echo.silent", "echo.comments-only", "echo.endless-line"],
}


def providers(url: str) -> dict:
    bases = {"openai": f"{url}/v1", "anthropic": url, "gemini": url}
    found = {
        f"{manner}{kind}": {"kind": kind, "base_url": base, "api_key": SECRETS[kind], **patience}
        for manner, patience in MANNERS.items()
        for kind, base in bases.items()
    }
    return {**found, "demo": {"kind": "offline"}}


def model(kind: str, id: str, manner: str = "") -> dict:
    found = {
        "provider": f"{manner}{KINDS[kind]}",
        "id": id,
        "context_window": 1_000_000 if id == "args-huge" else 100_000,
    }
    return {**found, "api": "responses"} if kind == "responses" else found


def named_models() -> dict:
    wanted = {"": [*SCRIPTS, *FAULTS], **IN_MANNER}
    found = {
        f"{manner}{kind}-{id}": model(kind, id, manner)
        for manner, ids in wanted.items()
        for id in ids
        for kind in KINDS
    }
    for kind, names in STRICT.items():
        found |= {
            f"{kind}-{name}+{script}": model(kind, f"{name}+{script}") for name in names for script in STRICT_SCRIPTS
        }
    return found


def take_over(first: int) -> list[str]:
    """Models in an order that begins with one of them: each but the last fails after a call."""
    order = [*TAKE_OVER[first:], *TAKE_OVER[:first]]
    return [f"{name}+{script}" for name, script in zip(order, ("breaking-1", "breaking-2", "rounds-3"), strict=True)]


def cascade(opener: str, strong: str) -> dict:
    found = {"engine": "sentence_cascade", "opener_model": opener, "models": [f"anthropic-{strong}+tool-once.slow"]}
    return {**found, "tools": ["roll"], "auto_execute": ["roll"], "max_depth": 4}


def config(url: str) -> dict:
    dice = {"tools": ["roll"], "auto_execute": ["roll"], "max_depth": 4}
    by_schema = {kind: {**model(kind, f"{names[-1]}+echo"), "tool_mode": "schema"} for kind, names in STRICT.items()}
    return {
        "providers": providers(url),
        "models": {
            "small": {"provider": "demo"},
            **named_models(),
            **{f"by-schema-{kind}": found for kind, found in by_schema.items()},
            "stored-by-the-provider": {**model("responses", "gpt-6.1-sol+echo"), "store": True},
        },
        "default_agent": "dicer",
        "agents": {
            "dicer": {**dice, "models": ["chat-echo"], "prompt": "You roll dice for {caller_name}."},
            "careful": {**dice, "models": ["chat-echo"], "auto_execute": []},
            "inline": {**dice, "models": ["chat-mixed"], "mixed_response": "inline"},
            **{f"dice-{kind}": {**dice, "models": [f"{kind}-tool-once"]} for kind in KINDS},
            "dice-offline": {**dice, "models": ["small"]},
            **{f"takes-over-{first}": {**dice, "models": take_over(first)} for first in range(3)},
            **{f"opened-{strong}": cascade("anthropic-claude-haiku-4-5+echo", strong) for strong in CASCADE},
            **{
                f"opened-{strong}-by-{opener}": cascade(f"anthropic-{opener}+echo", strong)
                for strong in CASCADE
                for opener in CASCADE
            },
            "falls-back": {**dice, "models": ["chat-echo.failing", "anthropic-tool-once"]},
        },
        "keys": [{"name": "app", "key": CLIENT_KEY, "role": "caller", "rights": ["execute", "any_model"]}],
    }


class Models:
    def __init__(self, folder: Path, **more):
        self.provider = Provider()
        try:
            self.gateway = Gateway(folder, {**config(self.provider.url), **more})
        except BaseException:
            self.provider.stop()
            raise

    @property
    def url(self) -> str:
        return self.gateway.url

    @property
    def seen(self) -> list[Seen]:
        """What reached the provider."""
        return self.provider.seen

    def check_sent(self) -> None:
        """Holds every request that the provider took against the types of its own client."""
        for seen in self.seen:
            if seen.status == 200:
                params.fits(seen.dialect, seen.body)

    def front(self, name: str, agent: str | None = None, **headers: str):
        given = {"x-tollgate-agent": agent} if agent else {}
        given |= {f"x-tollgate-{name.replace('_', '-')}": value for name, value in headers.items()}
        return FRONTS[name](self.url, CLIENT_KEY, given)

    def stop(self) -> None:
        self.gateway.stop()
        self.provider.stop()


@contextmanager
def started(folder: Path, **more):
    models = Models(folder, **more)
    try:
        yield models
    finally:
        models.stop()
