"""What is in `packaging/`, read by the tools of its users: Helm's engine, the API schemas of Kubernetes, a linter of
Dockerfiles, the Compose specification, systemd. There is no Docker and no cluster here: images are not built, but every
file that a build copies has to be there, and every config that is shipped has to be one that the gateway takes."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from harness.gateway import clean_environment
from harness.paths import INTEROP, tollgate

ROOT = INTEROP.parent
PACKAGING = ROOT / "packaging"
CHART = PACKAGING / "helm" / "tollgate"
BIN = INTEROP / ".venv-packaging" / "bin"
# What the shipped configs ask the environment for.
SECRETS = {"TOLLGATE_ADMIN_KEY": "a" * 32, "TOLLGATE_METRICS_KEY": "b" * 32}


def run(*command, **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **more)


def said(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def takes(config: Path | str, folder: Path) -> None:
    """The gateway reads it without a word of warning."""
    if isinstance(config, str):
        config, text = folder / "tollgate.yaml", config
        config.write_text(text)
    done = run(tollgate(), "check", config, cwd=folder, env={**clean_environment(), **SECRETS})
    assert "warning" not in said(done) + done.stderr, done.stdout + done.stderr


# ── Dockerfile ──


def instructions(path: Path) -> list[list[str]]:
    text = re.sub(r"(?m)^\s*#.*\n", "", path.read_text()).replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line.strip()]


def stages() -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    name = ""
    for line in instructions(PACKAGING / "Dockerfile"):
        if line[0] == "FROM":
            name = line[-1]
        found.setdefault(name, []).append(line)
    return found


def test_the_dockerfile_is_clean():
    assert said(run(BIN / "hadolint", "--failure-threshold", "style", PACKAGING / "Dockerfile")) == ""


def test_everything_that_is_copied_is_there():
    kept = {line.removeprefix("!") for line in (PACKAGING / "Dockerfile.dockerignore").read_text().splitlines()}
    known = stages()
    for lines in known.values():
        for line in (line for line in lines if line[0] == "COPY"):
            options = [word for word in line[1:] if word.startswith("--")]
            source = next((word.removeprefix("--from=") for word in options if word.startswith("--from=")), None)
            if source:
                assert source in known, line
                continue
            for path in line[1 + len(options) : -1]:
                assert (ROOT / path).exists(), f"`{path}` is copied and not there"
                assert any(path == keep or path.startswith(f"{keep}/") for keep in kept), f"`{path}` is ignored"


def test_the_build_has_all_that_cargo_wants(tmp_path):
    """Copied as the Dockerfile says, both workspaces are whole and their lock files fit."""
    listed = run("git", "ls-files", "-z", "Cargo.toml", "Cargo.lock", "crates", "examples/tool-rust", cwd=ROOT).stdout
    for name in filter(None, listed.split("\0")):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    for manifest in ("Cargo.toml", "crates/tollgate-worker/Cargo.toml"):
        command = ["cargo", "metadata", "--locked", "--format-version=1", "--manifest-path", tmp_path / manifest]
        told = json.loads(said(run(*command, cwd=tmp_path)))
        assert told["packages"]


@pytest.mark.parametrize("stage", ["runtime", "full"])
def test_images_run_as_nobody_in_particular_and_can_be_probed(stage):
    lines = {line[0]: " ".join(line[1:]) for line in stages()[stage]}
    assert lines["USER"] == "65532:65532"
    assert lines["EXPOSE"] == "8655"
    assert '["tollgate", "doctor", "--probe"]' in lines["HEALTHCHECK"]
    assert lines["ENTRYPOINT"].endswith('"tollgate"]') and lines["CMD"] == '["serve"]'
    assert "TOLLGATE_CONFIG=/etc/tollgate/tollgate.yaml TOLLGATE_DATA=/data" in lines["ENV"]


def test_the_default_image_is_the_small_one():
    assert list(stages())[-1] == "runtime"


def test_versions_are_those_of_the_repository():
    text = (PACKAGING / "Dockerfile").read_text()
    toolchain = re.search(r'channel = "(\d+\.\d+)', (ROOT / "rust-toolchain.toml").read_text()).group(1)
    assert f"ARG RUST_VERSION={toolchain}\n" in text
    version = re.search(r'(?m)^version = "(.+)"', (ROOT / "Cargo.toml").read_text()).group(1)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == version == chart["version"]


def test_the_config_of_the_image_is_taken(tmp_path):
    takes(PACKAGING / "tollgate.yaml", tmp_path)
    takes(PACKAGING / "compose" / "tollgate.yaml", tmp_path)
    takes(PACKAGING / "systemd" / "tollgate.yaml", tmp_path)


def test_the_image_does_not_start_without_a_key(tmp_path):
    done = run(tollgate(), "check", PACKAGING / "tollgate.yaml", cwd=tmp_path, env=clean_environment())
    assert done.returncode != 0
    assert "TOLLGATE_ADMIN_KEY" in done.stdout + done.stderr


# ── Compose ──


def test_the_compose_file_follows_the_specification():
    services = json.loads(said(run(BIN / "python", "shipped/compose.py", PACKAGING / "compose.yaml", cwd=INTEROP)))
    assert set(services["services"]) == {"tollgate", "postgres", "redis", "prometheus", "grafana"}


def test_what_compose_mounts_is_there_and_what_it_publishes_is_for_this_machine():
    compose = yaml.safe_load((PACKAGING / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name} is open to everybody: {port}"
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            there = (PACKAGING / source).exists() if source.startswith(".") else source in compose["volumes"]
            assert there, f"{name} mounts `{source}`"
        if name != "tollgate":
            assert service["profiles"], f"{name} starts unasked"


# ── Helm ──

CASES = {
    "usual": {},
    "everything": {
        "config": {"tls": {"cert": "/tls/cert.pem", "key": "/tls/key.pem"}, "hosts": ["gate.example.com"]},
        "secretEnv": {"OPENAI_API_KEY": {"secret": "models", "key": "openai"}},
        "env": {"TOLLGATE_LOG": "debug"},
        "imagePullSecrets": [{"name": "registry"}],
        "podAnnotations": {"a": "b"},
        "service": {"type": "LoadBalancer", "annotations": {"a": "b"}},
        "persistence": {"storageClass": "fast"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "serviceAccount": {"annotations": {"a": "b"}},
        "networkPolicy": {"from": [{"podSelector": {}}], "egress": [{"to": [{"podSelector": {}}]}]},
        "podDisruptionBudget": {"enabled": True, "minAvailable": "50%"},
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    },
    "several": {"replicas": 3, "persistence": {"enabled": False}, "podDisruptionBudget": {"enabled": True}},
    "least": {"networkPolicy": {"enabled": False}, "persistence": {"existingClaim": "mine"}, "resources": {}},
}


def chart(values: dict) -> dict:
    done = run(BIN / "python", "shipped/chart.py", CHART, cwd=INTEROP, input=json.dumps(values))
    return json.loads(said(done))


@pytest.mark.parametrize("case", CASES)
def test_the_chart_renders_what_kubernetes_takes(case, tmp_path):
    values = CASES[case]
    got = chart(values)
    assert got.get("refused") is None and got["errors"] == [], got
    # Helm would like an icon for its catalogue.
    assert [m for m in got["messages"] if m["severity"] > 1] == [], got["messages"]
    assert got["wrong"] == []
    files = {name: things for name, things in got["files"].items() if things}
    expected = {"configmap.yaml", "deployment.yaml", "service.yaml", "serviceaccount.yaml"}
    assert expected <= set(files)
    assert ("pvc.yaml" in files) == (case in ("usual", "everything"))
    assert ("networkpolicy.yaml" in files) == (case != "least")
    assert ("servicemonitor.yaml" in files) == (case == "everything")
    assert ("poddisruptionbudget.yaml" in files) == (case in ("everything", "several"))

    config = files["configmap.yaml"][0]["data"]["tollgate.yaml"]
    assert {"gate-tollgate", "gate-tollgate.tools.svc"} <= set(yaml.safe_load(config)["hosts"])
    takes(config, tmp_path)

    pod = files["deployment.yaml"][0]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] and container["securityContext"]["readOnlyRootFilesystem"]
    scheme = "HTTPS" if case == "everything" else "HTTP"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["scheme"] == scheme
        assert container[probe]["httpGet"]["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"replicas": 2}, "one data directory is one gateway's"),
        ({"replica": 1}, "replica"),
        ({"config": {"data": "/elsewhere"}}, "data"),
        ({"config": {"listen": "0.0.0.0:80"}}, "listen"),
        ({"secretEnv": {"KEY": "the secret itself"}}, "secretEnv"),
        ({"service": {"port": 0}}, "port"),
        ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ],
)
def test_the_chart_refuses_wrong_values(values, expected):
    assert expected in chart(values)["refused"]


# ── systemd, `make install` ──


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """As `make install` leaves it, by the binary under test."""
    built, prefix = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("prefix")
    link_or_copy(tollgate(), built / "tollgate")
    # Which worker it is does not matter here.
    (built / "tollgate-worker").write_text("#!/bin/sh\n")
    (built / "tollgate-worker").chmod(0o755)
    said(run(PACKAGING / "install", built, prefix))
    return prefix


def link_or_copy(source, target: Path):
    """One disk may be mounted twice, so that only the attempt tells whether a link is possible."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)


def test_everything_is_installed(installed):
    found = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    assert "share/man/man1/tollgate-serve.1" in found
    assert {name for name in found if not name.startswith("share/man/man1/tollgate-")} == {
        "bin/tollgate",
        "bin/tollgate-worker",
        "lib/systemd/system/tollgate.service",
        "share/bash-completion/completions/tollgate",
        "share/doc/tollgate/LICENSE",
        "share/doc/tollgate/NOTICE",
        "share/doc/tollgate/tollgate.example.yaml",
        "share/fish/vendor_completions.d/tollgate.fish",
        "share/man/man1/tollgate.1",
        "share/zsh/site-functions/_tollgate",
    }


def test_a_staged_install_keeps_to_its_root_and_an_operators_config(tmp_path, installed):
    for _ in range(2):
        said(run(PACKAGING / "install", installed / "bin", "/usr", tmp_path))
        config = tmp_path / "etc/tollgate/tollgate.yaml"
        assert config.read_text().endswith("8655\n")
        config.write_text("# mine, 8655\n")
    unit = (tmp_path / "usr/lib/systemd/system/tollgate.service").read_text()
    assert "ExecStart=/usr/bin/tollgate serve" in unit and "@" not in unit.split("SystemCallFilter")[0]


def test_nothing_is_installed_before_it_is_built(tmp_path):
    done = run(PACKAGING / "install", tmp_path, tmp_path / "prefix")
    assert done.returncode == 1 and "make build" in done.stderr


def test_systemd_takes_the_unit(installed):
    unit = installed / "lib/systemd/system/tollgate.service"
    done = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit)
    assert said(done) + done.stderr == ""
    exposure = said(run("systemd-analyze", "security", "--offline=yes", "--threshold=30", unit))
    assert "Overall exposure level" in exposure


def test_completions_are_scripts(installed):
    said(run("bash", "-n", installed / "share/bash-completion/completions/tollgate"))
    for name in ("zsh/site-functions/_tollgate", "fish/vendor_completions.d/tollgate.fish"):
        assert "calibrate" in (installed / "share" / name).read_text()


def test_man_pages_are_such(installed):
    done = run("mandoc", "-T", "lint", "-W", "error", *(installed / "share/man/man1").iterdir())
    assert said(done) == ""
    page = said(run("mandoc", "-T", "ascii", installed / "share/man/man1/tollgate.1"))
    assert "TOLLGATE(1)" in page.upper() and "serve" in page
