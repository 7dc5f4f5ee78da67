#!/usr/bin/env python3
"""Stands in for `npx`, `uvx` and `cargo` while documents are run: nothing is fetched and nothing is compiled. What they
would run is run for real, from what is installed here, if it is the version that the document says."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

INTEROP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(INTEROP))

from harness.paths import NODE, PACKAGES, PYTHON_V2, example  # noqa: E402


def fail(why: str) -> None:
    sys.exit(f"the stand-in says: {why}")


def become(*command: str) -> None:
    os.execv(command[0], command)


def npx(words: list[str]) -> None:
    words = [word for word in words if word not in ("-y", "--yes")]
    name, _, version = words[0].rpartition("@") if "@" in words[0][1:] else (words[0], "", "")
    folder = PACKAGES / name
    if not folder.is_dir():
        fail(f"{name} is not installed")
    package = json.loads((folder / "package.json").read_text())
    if version != package["version"]:
        fail(f"{name}@{version}: say @{package['version']}, which is what is tested")
    programs = package["bin"]
    program = programs if isinstance(programs, str) else next(iter(programs.values()))
    become(str(NODE), str(folder / program), *words[1:])


def uvx(words: list[str]) -> None:
    program = PYTHON_V2.parent / words[0].split("==")[0].split("@")[0]
    if not program.exists():
        fail(f"{words[0]} is not installed")
    become(str(program), *words[1:])


def cargo(words: list[str]) -> None:
    said = " ".join(words)
    if found := re.fullmatch(r"run (?:--quiet )?-p (\S+) --example (\S+)", said):
        become(example(*found.groups()))
    if found := re.fullmatch(r"install (?:--locked )?--path (\S+)(?: --locked)?", said):
        manifest = INTEROP.parent / found[1] / "Cargo.toml"
        real = shutil.which("cargo", path=rest_of_path())
        command = [real, "metadata", "--manifest-path", str(manifest), "--locked", "--no-deps", "--format-version=1"]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        kinds = {kind for package in told["packages"] for target in package["targets"] for kind in target["kind"]}
        sys.exit(0 if "bin" in kinds else f"{found[1]} has no program")
    fail(f"`cargo {said}` is not known here")


def rest_of_path() -> str:
    own = str(Path(sys.argv[0]).parent)
    return os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if part != own)


{"npx": npx, "uvx": uvx, "cargo": cargo}[Path(sys.argv[0]).name](sys.argv[1:])
