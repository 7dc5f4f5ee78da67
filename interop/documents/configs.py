"""YAML blocks: configs, parts of configs, and files that configs name."""

import subprocess
from pathlib import Path

import yaml

from documents.blocks import Block
from documents.session import Session

# What parts of configs lean on, as far as they do not say it themselves.
BASE = {
    "providers": {
        "openai": {"kind": "openai", "api_key": "${OPENAI_API_KEY}"},
        "claude": {"kind": "anthropic", "api_key": "${ANTHROPIC_API_KEY}"},
        "google": {"kind": "gemini", "api_key": "${GEMINI_API_KEY}"},
    },
    "models": {"gpt-5-mini": {"provider": "openai"}},
    "servers": {"world_search": {"url": "https://tools.example.com/mcp"}},
}
# What it may say all the same.
SAID = {"/var/lib/models/potion-base-8M` does not exist": "a model that nobody has to have"}


def wrong_with(block: Block, session: Session) -> str | None:
    """Alone if it can stand alone, else with what it leans on."""
    part = yaml.safe_load(block.text)
    return check(session, block.text) and check(session, yaml.safe_dump(merged(BASE, part), sort_keys=False))


def check(session: Session, text: str) -> str | None:
    """What `tollgate check` has against it, warnings too."""
    path: Path = session.folder / ".block.yaml"
    path.write_text(text)
    command = [str(session.bin / "tollgate"), "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=session.folder, env=session.environment, timeout=30)
    said = done.stdout + done.stderr
    expected = any(words in said for words in SAID) and "1 warning in" in said
    return said if done.returncode != 0 or ("warning" in said and not expected) else None


def merged(base: dict, part: dict) -> dict:
    both = {key: merged(base[key], part[key]) for key in base.keys() & part.keys() if isinstance(part[key], dict)}
    return {**base, **part, **both}
