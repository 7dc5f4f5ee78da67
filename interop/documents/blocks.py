"""Fenced blocks, links and headings of a document."""

import re
from dataclasses import dataclass
from pathlib import Path

from harness.paths import INTEROP

ROOT = INTEROP.parent
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ +(.*?) *#*$", re.MULTILINE)
CODE = re.compile(r"(?ms)^ *```.*?^ *```$|`[^`\n]*`")


@dataclass
class Block:
    document: Path
    line: int
    language: str
    name: str
    """Of the file that it is to be, if it is one."""
    text: str

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def documents() -> list[Path]:
    root = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = [*root, *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*/README.md")]
    return sorted(found)


def blocks(document: Path) -> list[Block]:
    found: list[Block] = []
    opened: re.Match | None = None
    lines: list[str] = []
    start = 0
    for number, line in enumerate(document.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if fence and opened is None:
            opened, lines, start = fence, [], number
        elif fence:
            words = [*opened["info"].split(), "", ""]
            found.append(Block(document, start, words[0], words[1], "\n".join(lines) + "\n"))
            opened = None
        elif opened is not None:
            lines.append(line.removeprefix(opened["indent"]))
    assert opened is None, f"{document}:{start}: the block does not end"
    return found


def links(document: Path) -> list[str]:
    text = CODE.sub("", document.read_text())
    return [one or two for one, two in LINK.findall(text)]


def anchors(document: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    text = re.sub(r"(?ms)^ *```.*?^ *```$", "", document.read_text())
    found: set[str] = set()
    for heading in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        while anchor in found:
            anchor += "-1"
        found.add(anchor)
    return found
