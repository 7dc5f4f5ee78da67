"""What the gateway exports, read by Prometheus' own parsers and by a real Prometheus: the page, the dashboard, the rules."""

import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.parser import text_string_to_metric_families

from harness.gateway import Gateway, free_port
from harness.paths import INTEROP, PYTHON_V2
from harness.process import Process, wait_for

PACKAGING = INTEROP.parent / "packaging"
RULES = PACKAGING / "prometheus" / "alerts.yml"
DASHBOARD = PACKAGING / "grafana" / "dashboards" / "tollgate.json"
SUFFIXES = re.compile(r"_(bucket|sum|count)$")
# As Prometheus itself says whether a target answers.
OWN = {"up"}


def get(url: str, token: str | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
        return answer.read()


def execute(gateway: Gateway, name: str, **more) -> dict:
    body = json.dumps({"name": name, **more}).encode()
    request = urllib.request.Request(gateway.url + "/v1/tools/execute", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def call_everything(gateway: Gateway) -> None:
    names = gateway.tool_names()
    for name in sorted(name for name in names if name.startswith("odd_")):
        execute(gateway, name)
    for _ in range(3):
        execute(gateway, "odd_plain")
    execute(gateway, "odd_slow", tier="fast")
    tier = json.dumps({"text": "hello there"}).encode()
    post = urllib.request.Request(gateway.url + "/v1/tier", tier, {"Content-Type": "application/json"})
    urllib.request.urlopen(post, timeout=20).read()
    chat = json.dumps({"model": "default", "messages": [{"role": "user", "content": "roll 2d6"}]}).encode()
    post = urllib.request.Request(gateway.url + "/v1/chat/completions", chat, {"Content-Type": "application/json"})
    urllib.request.urlopen(post, timeout=20).read()
    execute(gateway, "nothing_of_the_kind")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metrics")
    odd = {"transport": "stdio", "command": [str(PYTHON_V2), str(INTEROP / "servers" / "odd.py")]}
    # It says that it fits into a fast turn, and does not.
    odd["tools"] = {"slow": {"estimated_duration_ms": 100}}
    away = {"transport": "stdio", "command": ["/nowhere/at-all"]}
    started = Gateway(folder, {"servers": {"odd": odd, "away": away}})
    try:
        wait_for("tools", lambda: "odd_plain" in started.tool_names(), 90)
        call_everything(started)
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def page(gateway) -> str:
    return get(gateway.url + "/metrics", gateway.admin_token()).decode()


@pytest.fixture(scope="module")
def prometheus(gateway, page, tmp_path_factory):
    """A real Prometheus that scrapes the gateway each second and has our rules. It calls everything once more: `page` is
    read before that."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "key").write_text(gateway.admin_token())
    config = f"""
global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
rule_files: ["{RULES}"]
scrape_configs:
  - job_name: tollgate
    authorization: {{ credentials_file: {folder / "key"} }}
    static_configs: [{{ targets: ["{urllib.parse.urlparse(gateway.url).netloc}"] }}]
"""
    (folder / "prometheus.yml").write_text(config)
    port = free_port()
    command = ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=info"]
    process = Process(command, r"Server is ready to receive web requests", limit_s=90)
    try:
        asked = Asked(f"http://127.0.0.1:{port}/api/v1/")
        wait_for("scrapes", lambda: len(asked.values("count_over_time(up[1m]) > 3")) > 0, 60)
        # Counters that rose between two scrapes have rates.
        call_everything(gateway)
        wait_for("rates", lambda: asked.values("sum(rate(tollgate_calls_total[30s])) > 0"), 60)
        yield asked
    finally:
        process.stop()


class Asked:
    def __init__(self, url: str):
        self.url = url

    def api(self, path: str, **parameters) -> dict:
        try:
            answer = json.loads(get(f"{self.url}{path}?{urllib.parse.urlencode(parameters)}"))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error
        assert answer["status"] == "success", answer
        return answer["data"]

    def values(self, query: str) -> list:
        return self.api("query", query=query)["result"]


def families(page: str):
    return {family.name: family for family in text_string_to_metric_families(page)}


def sample(page: str, name: str, **labels) -> float:
    for family in text_string_to_metric_families(page):
        for found in family.samples:
            if found.name == name and labels.items() <= found.labels.items():
                return found.value
    raise AssertionError(f"there is no {name} {labels}")


def test_promtool_finds_nothing_wrong_with_the_page(page):
    checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, timeout=60)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_calls_are_counted_by_tool_and_outcome(page):
    def calls(tool: str, status: str) -> float:
        return sample(page, "tollgate_tool_calls_total", server="odd", tool=tool, status=status)

    assert calls("plain", "ok") == 4
    assert calls("broken", "error") == 1
    for tool in ['quo"te', "back\\slash", "two words", "würfel"]:
        assert calls(tool, "ok") == 1, tool
    assert sample(page, "tollgate_calls_total", method="tools/call", outcome="refused") >= 1
    assert sample(page, "tollgate_budget_misses_total", tier="fast") >= 1
    assert sample(page, "tollgate_server_up", server="odd") == 1
    assert sample(page, "tollgate_server_up", server="away") == 0
    assert sample(page, "tollgate_model_tokens_total", direction="output") > 0
    assert sample(page, "tollgate_agent_iterations_count") >= 1
    assert sample(page, "process_resident_memory_bytes") > 1 << 20


def test_every_histogram_is_whole(page):
    seen = 0
    for family in families(page).values():
        if family.type != "histogram":
            continue
        series: dict = {}
        for found in family.samples:
            labels = tuple(sorted((key, value) for key, value in found.labels.items() if key != "le"))
            series.setdefault(labels, []).append(found)
        for samples in series.values():
            buckets = [(float(it.labels["le"]), it.value) for it in samples if it.name.endswith("_bucket")]
            [count] = [it.value for it in samples if it.name.endswith("_count")]
            assert buckets == sorted(buckets) and buckets[-1] == (float("inf"), count), family.name
            assert [value for _, value in buckets] == sorted(value for _, value in buckets), family.name
            seen += 1
    assert seen > 5


def test_nobody_without_the_right_reads_it(gateway):
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(gateway.url + "/metrics")
    assert refused.value.code == 401


def test_the_page_has_every_family_of_the_reference(page):
    reference = (INTEROP.parent / "docs" / "metrics.md").read_text()
    named = set(re.findall(r"^\| `([a-z_]+)` \|", reference, re.MULTILINE))
    exported = set(re.findall(r"^# TYPE (\S+) ", page, re.MULTILINE))
    assert named == exported


def expressions() -> list[tuple[str, str]]:
    """Every expression of the dashboard, as Grafana would send it."""
    dashboard = json.loads(DASHBOARD.read_text())
    found = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel.get("targets", [])]
    found += [(it["name"], it["expr"]) for it in dashboard["annotations"]["list"] if "expr" in it]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            # label_values(METRIC, LABEL) is Grafana's own.
            metric = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            found.append((variable["name"], f"count by ({metric[2]}) ({metric[1]})"))
    return [(title, expression.replace("$__rate_interval", "30s")) for title, expression in found]


def filled(expression: str) -> str:
    return re.sub(r"\$(job|instance|server)\b", ".*", expression)


def metrics_of(expression: str) -> set[str]:
    bare = re.sub(r"\{[^}]*\}|\b(?:by|on|unless|without)\s*\([^)]*\)", " ", expression)
    words = re.findall(r"\b((?:tollgate|mcp|process)_[a-z_]+|up)\b", bare)
    return {SUFFIXES.sub("", word) for word in words}


def test_every_expression_of_the_dashboard_has_an_answer(prometheus):
    for title, expression in expressions():
        assert "$" not in filled(expression), (title, expression)
        prometheus.values(filled(expression))
    shown = {"Calls per second", "Errors", "Servers down", "Calls by outcome", "Calls by tool", "Errors by tool"}
    shown |= {"p50 by tier", "p95 by tier", "p99 by tier", "p99 by tool, the slowest", "Budget misses by tier"}
    shown |= {"State", "Awaiting approval", "Live sessions", "Tokens", "Rounds of agents", "Memory", "Build", "server"}

    def missing() -> set[str]:
        return shown - {title for title, expression in expressions() if prometheus.values(filled(expression))}

    # A scrape that came late leaves a gap.
    wait_for("data for all", lambda: not missing(), 60, every_s=1)


def test_grafana_knows_every_panel():
    written = json.loads(DASHBOARD.read_text())
    read = Dashboard.from_json(written)
    assert (read.uid, len(read.panels)) == ("tollgate", len(written["panels"]))
    assert len({panel["id"] for panel in written["panels"]}) == len(written["panels"])


def test_dashboard_and_rules_name_only_what_is_exported(page):
    exported = set(re.findall(r"^# TYPE (\S+) ", page, re.MULTILINE)) | OWN
    rules = " ".join(line for line in RULES.read_text().splitlines() if "summary:" not in line)
    for title, expression in [*expressions(), ("rules", rules)]:
        named = metrics_of(expression)
        assert named, (title, expression)
        assert named <= exported, (title, named - exported)


def test_the_rules_load_and_mean_what_they_say(prometheus):
    for command in (["promtool", "check", "rules", str(RULES)], ["promtool", "test", "rules", "alerts.test.yml"]):
        run = subprocess.run(command, cwd=RULES.parent, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stdout + run.stderr
    [group] = prometheus.api("rules")["groups"]
    assert group["name"] == "tollgate" and len(group["rules"]) > 5
    healths = {rule["name"]: rule["health"] for rule in group["rules"]}
    assert set(healths.values()) == {"ok"}, healths

    def alerts() -> set[str]:
        return {alert["labels"]["alertname"] for alert in prometheus.api("alerts")["alerts"]}

    wait_for("an alert: one server is away", lambda: "TollgateServerDown" in alerts(), 60)
