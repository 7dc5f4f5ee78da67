"""Consoles as documents show them: what is typed, and whether what came fits to what is printed there."""

import re
from dataclasses import dataclass, field

ANYTHING = "\0"
LOOKS = re.compile(r"^tollgate (tools|servers (list|test)|approvals list|audit)\b")


@dataclass
class Step:
    line: int
    """Within the block."""
    command: str
    typed: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)

    @property
    def tells(self) -> bool:
        """Whether the document says what is printed, and not only what is typed."""
        return any(not line.startswith("> ") for line in self.printed)

    @property
    def may_fail(self) -> bool:
        return any(line.startswith(("error", "denied")) for line in self.printed)


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if line.startswith("$ "):
            command = line[2:]
            document = re.search(r"<<-?'?(\w+)'?", command)
            while command.endswith("\\") or (document and not command.endswith("\n" + document[1])):
                command += "\n" + next(lines)[1]
            found.append(Step(number, command))
        elif line.startswith("> ") and found:
            found[-1].typed.append(line[2:])
            found[-1].printed.append(line)
        else:
            assert found, f"line {number}: a console begins with `$ `"
            found[-1].printed.append(line)
    return found


def plain(text: str) -> str:
    """Without what differs from run to run: numbers, spans of time, spacing."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    # Documents show what a terminal does; elsewhere the token is not printed.
    text = re.sub(r"(?m)^(admin: \S+/) with the token in \S+$", r"\1#token=tga_0", text)
    text = re.sub(r"#token=tga_\S*", "#token=tga_0", text)
    text = re.sub(r"\d+(?:[.,]\d+)*", "0", text)
    text = re.sub(r"(?:less than )?\b0 (?:µs|ms|s)\b", "0 ms", text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def fits(printed: list[str], came: str) -> bool:
    """`…` is the rest of a line, or alone on a line any lines."""
    pattern = ""
    for line in plain("\n".join(printed).replace("…", ANYTHING)).splitlines():
        parts = ".*".join(re.escape(part) for part in line.split(ANYTHING))
        pattern += "(?:.*\n)*?" if line == ANYTHING else f"{parts}\n"
    return re.fullmatch(pattern, plain(came) + "\n") is not None
