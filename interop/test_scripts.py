"""`scripts/setup` and `scripts/quick` on machines that lack something: programs are hidden from PATH, and a stand-in for
apt-get or cargo only writes down how it was called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# What the scripts themselves need.
BASICS = ["bash", "cat", "cut", "dirname", "env", "git", "grep", "head", "id", "sed", "sort"]
CARGO = "cargo 1.95.0 (f2d3ce0bd 2026-03-21)"
FOR_BUILD = ["cc", "make", "node", "npm"]
FOR_TEST = ["promtool", "chromium-headless-shell", "unshare", "setpriv", "ip", "initdb"]


class Machine:
    """A PATH with some programs in it, and what they were called with."""

    def __init__(self, folder: Path):
        self.path = folder / "bin"
        self.path.mkdir()
        self.calls = folder / "calls"
        self.calls.touch()
        for name in BASICS:
            (self.path / name).symlink_to(shutil.which(name))

    def add(self, *names: str, says: str = "") -> None:
        for name in names:
            program = self.path / name
            program.write_text(f"#!/bin/sh\necho {name} \"$@\" >>{self.calls}\necho '{says}'\n")
            program.chmod(0o755)

    def run(self, *command: str | Path, **environment: str) -> subprocess.CompletedProcess:
        env = {"PATH": str(self.path), "HOME": os.environ.get("HOME", "/"), **environment}
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)

    def called(self, name: str) -> list[str]:
        calls = self.calls.read_text().splitlines()
        return [call.removeprefix(name + " ") for call in calls if call.startswith(name + " ")]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def installed(machine: Machine) -> set[str]:
    calls = [call.split() for call in machine.called("apt-get")]
    return {word for call in calls if call[0] == "install" for word in call[1:] if not word.startswith("-")}


@pytest.mark.parametrize("what", ["build", "test"])
def test_without_cargo_nothing_is_installed(machine, what):
    machine.add("apt-get", "sudo")
    done = machine.run(ROOT / "scripts/setup", what)
    assert done.returncode == 1
    assert "cargo is missing: install Rust 1.95 or newer" in done.stderr
    assert machine.calls.read_text() == ""


def test_an_old_cargo_is_as_good_as_none(machine):
    machine.add("cargo", says="cargo 1.63.0 (fd9c4297c 2022-07-01)")
    machine.add("apt-get", "sudo")
    done = machine.run(ROOT / "scripts/setup", "build")
    assert done.returncode == 1
    assert "cargo 1.63.0 is too old" in done.stderr
    assert machine.called("apt-get") == []


def test_building_installs_only_what_building_needs(machine):
    machine.add("cargo", says=CARGO)
    machine.add("apt-get")
    # A user who is not root installs by sudo, which is to run what it is given.
    (machine.path / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (machine.path / "sudo").chmod(0o755)
    done = machine.run(ROOT / "scripts/setup", "build")
    assert done.returncode == 0, done.stderr
    assert installed(machine) == {"build-essential", "make", "nodejs", "npm"}
    machine.calls.write_text("")
    assert machine.run(ROOT / "scripts/setup", "build", UI="0").returncode == 0
    assert installed(machine) == {"build-essential", "make"}
    machine.calls.write_text("")
    assert machine.run(ROOT / "scripts/setup", "test").returncode == 0
    assert installed(machine) >= {"build-essential", "nodejs", "python3", "prometheus", "chromium-headless-shell"}


def test_where_everything_is_there_nothing_is_installed(machine):
    machine.add("cargo", says=CARGO)
    machine.add("apt-get", "sudo", "python3", *FOR_BUILD, *FOR_TEST)
    for what in ("build", "test"):
        done = machine.run(ROOT / "scripts/setup", what)
        assert (done.returncode, done.stderr) == (0, "")
    assert machine.called("apt-get") == []


def test_without_apt_the_missing_packages_are_named(machine):
    machine.add("cargo", says=CARGO)
    machine.add("make", "node", "npm")
    done = machine.run(ROOT / "scripts/setup", "build")
    assert done.returncode == 1
    assert "missing: build-essential" in done.stderr


@pytest.fixture
def repository(machine, tmp_path):
    """One commit with some crates in it, and a copy of `scripts/quick`."""
    folder = tmp_path / "repository"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/quick", folder / "scripts/quick")
    for crate, source in [("one", "lib.rs"), ("two", "lib.rs"), ("program", "main.rs"), ("tollgate-worker", "lib.rs")]:
        (folder / "crates" / crate / "src").mkdir(parents=True)
        (folder / "crates" / crate / "Cargo.toml").touch()
        (folder / "crates" / crate / "src" / source).touch()
    (folder / "README.md").touch()
    git(machine, folder, "init", "--quiet")
    commit(machine, folder)
    machine.add("cargo")
    return folder


def git(machine: Machine, folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
    done = machine.run("git", "-C", str(folder), *identity, *words)
    assert done.returncode == 0, done.stderr


def commit(machine: Machine, folder: Path) -> None:
    git(machine, folder, "add", "--all")
    git(machine, folder, "commit", "--quiet", "--message", "x")


def quick(machine: Machine, folder: Path, *base: str) -> list[str]:
    """The calls of cargo, without those that only look for nextest."""
    machine.calls.write_text("")
    done = machine.run(folder / "scripts/quick", *base)
    assert done.returncode == 0, done.stderr
    return [call for call in machine.called("cargo") if call != "nextest --version"]


def test_quick_looks_at_changed_crates_only(machine, repository):
    assert quick(machine, repository) == []
    (repository / "README.md").write_text("changed")
    assert quick(machine, repository) == []
    (repository / "crates/one/src/lib.rs").write_text("// changed")
    # A new file counts before git knows it.
    (repository / "crates/program/src/new.rs").touch()
    fmt, clippy, library, program = quick(machine, repository)
    assert fmt == "fmt --all --check"
    assert clippy.startswith("clippy -p one -p program ")
    assert " -p one " in library and library.endswith(" --lib") and "program" not in library
    assert " -p program " in program and program.endswith(" --bins")


def test_quick_compares_with_main_or_what_is_named(machine, repository):
    git(machine, repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    (repository / "crates/two/src/lib.rs").write_text("// changed")
    commit(machine, repository)
    assert any(" -p two " in call for call in quick(machine, repository))
    assert quick(machine, repository, "HEAD") == []


def test_quick_leaves_the_worker_in_its_own_workspace(machine, repository):
    (repository / "crates/tollgate-worker/src/lib.rs").write_text("// changed")
    calls = quick(machine, repository)
    assert not any("-p " in call for call in calls)
    assert any(call.startswith("clippy --manifest-path crates/tollgate-worker/Cargo.toml") for call in calls)


def test_quick_fails_with_what_it_runs(machine, repository):
    (repository / "crates/one/src/lib.rs").write_text("// changed")
    (machine.path / "cargo").write_text("#!/bin/sh\n[ \"$1\" != clippy ]\n")
    assert machine.run(repository / "scripts/quick").returncode != 0
