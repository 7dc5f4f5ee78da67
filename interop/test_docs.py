"""Documents say what is so: every block is run (see documents/), every link leads somewhere, every page is in the index."""

import json
import time
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest

from documents import api, configs, console
from documents.blocks import ROOT, Block, anchors, blocks, documents, links
from documents.session import Session
from harness import sdks
from harness.paths import INTEROP

DOCUMENTS = documents()
CONFIG = "tollgate.yaml"
PATIENCE_S = 60
PROGRAMS = ("sh", "python", "js", "ts", "starlark")


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def wrong_with(block: Block, session: Session) -> str | None:
    """Why it is not so, or nothing."""
    match block.language:
        case "rust":
            return stands_in(block)
        case "text" if not block.name:
            return None
        case "json":
            return parsed(block.text)
        case "toml":
            tomllib.loads(block.text)
        case "ini":
            ConfigParser().read_string(block.text)
        case "yaml" if not block.name or block.name == CONFIG:
            if found := configs.wrong_with(block, session):
                return found
        case "console":
            return typed(block, session)
        case language if language in PROGRAMS and not block.name:
            code, came = session.program(language, block.text)
            return came or f"exit code {code}" if code else None
    if block.name == CONFIG:
        session.write(CONFIG, block.text)
    elif block.name and (ROOT / block.name).exists() and (ROOT / block.name).read_text() != block.text:
        return f"{block.name} is another one in the repository"
    return None


def stands_in(block: Block) -> str | None:
    """Line by line, wherever it is indented to there."""
    source = [line.strip() for line in (ROOT / block.name).read_text().splitlines()]
    missing = [line for line in block.text.splitlines() if line.strip() and line.strip() not in source]
    return f"not in {block.name}: {missing[0]}" if missing else None


def parsed(text: str) -> None:
    """One document, or one on each line."""
    try:
        json.loads(text)
    except json.JSONDecodeError:
        for line in text.splitlines():
            json.loads(line)


def typed(block: Block, session: Session) -> str | None:
    for step in console.steps(block.text):
        why = wrong_step(step, session)
        # What only looks may look again: a server that was just added needs a moment.
        end = time.monotonic() + PATIENCE_S
        while why and console.LOOKS.match(step.command) and time.monotonic() < end:
            time.sleep(0.2)
            why = wrong_step(step, session)
        if why:
            return f"line {step.line}: `{step.command}` {why}"
    return None


def wrong_step(step: console.Step, session: Session) -> str | None:
    code, came = session.run(step.command, step.typed, len(step.printed))
    if code and not step.may_fail:
        return f"failed ({code}):\n{came}"
    if step.tells and not console.fits(step.printed, came):
        wanted = "\n".join(step.printed)
        return f"printed\n{came}\nand not\n{wanted}"
    return None


def run(document: Path, folder: Path) -> list[str]:
    """What is wrong with it."""
    session = Session(folder)
    try:
        if document.parent.parent.name == "examples":
            session.example(document.parent.name)
        found = blocks(document)
        # A config may name what is explained below it; which config it is may change on the way.
        for block in found:
            if block.name and block.name != CONFIG and block.language != "rust":
                session.write(block.name, block.text)
        return [f"{block}: {why}" for block in found if (why := tried(block, session))]
    finally:
        session.close()


def tried(block: Block, session: Session) -> str | None:
    try:
        return wrong_with(block, session)
    except (ValueError, AssertionError, OSError) as error:
        return str(error)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_block_runs(document, tmp_path):
    wrong = run(document, tmp_path)
    assert not wrong, "\n\n".join(wrong)


LANGUAGES = {"html", "yaml", "console", "sh", "python", "js", "ts", "starlark", "rust", "json", "toml", "ini", "text"}


def test_every_block_says_what_it_is():
    found = [block for document in DOCUMENTS for block in blocks(document)]
    assert [str(block) for block in found if block.language not in LANGUAGES] == []
    assert [str(block) for block in found if block.language == "rust" and not block.name] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_link_leads_somewhere(document):
    for link in links(document):
        if ":" in link.split("#")[0]:
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: there is no such heading"


def linked_from(page: Path) -> set[Path]:
    return {(page.parent / link.split("#")[0]).resolve() for link in links(page) if ":" not in link}


def test_every_page_is_in_the_index():
    index = ROOT / "docs" / "README.md"
    listed = linked_from(index)
    # A folder may have an index of its own, if that is linked.
    for page in [page for page in listed if page.name == "README.md" and page.is_relative_to(index.parent)]:
        listed |= linked_from(page)
    missing = [name_of(page) for page in (ROOT / "docs").rglob("*.md") if page not in listed | {index}]
    assert missing == []


def test_the_reference_of_the_api_is_made_of_its_document():
    written = (ROOT / "docs" / "api.md").read_text()
    assert written == api.written(api.served()), "run `python -m documents.api > ../docs/api.md` in interop"


def test_the_table_of_libraries_is_what_the_tests_run():
    written = (ROOT / "docs" / "how-to" / "sdks.md").read_text()
    assert sdks.table() in written, "run `python -m harness.sdks` in interop"
    programs = {path.name for path in (INTEROP / "sdks").iterdir() if path.is_file()} - {"story.py", "story.mjs"}
    assert programs == {sdk.program for sdk in sdks.SDKS}
