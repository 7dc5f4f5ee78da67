"""Helm's own engine on a chart: lints and renders it with the values on standard input; runs in `.venv-packaging`.

`chart.py FOLDER` prints `{"messages": […], "files": {template: [objects]}, "wrong": […]}`: what the linter said, what
was rendered, and what the API schemas of Kubernetes have against it. A chart that refuses its values: `{"refused": …}`.
"""

import json
import sys

import helm_python
import kubernetes_validate
import yaml

# Kinds that are no part of Kubernetes itself; it has no schema for them.
FOREIGN = {"ServiceMonitor"}


def wrong_with(thing: dict) -> str | None:
    if thing["kind"] in FOREIGN:
        return None
    try:
        kubernetes_validate.validate(thing, "1.37", strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{thing['kind']}: {error.message} at {list(error.path)}"
    return None


def looked_at(folder: str, values: dict) -> dict:
    linted = helm_python.lint(folder, values, strict=True)
    with helm_python.Chart.load(folder) as chart:
        try:
            chart.validate_schema(values)
            rendered = chart.render(values, name="gate", namespace="tools")
        except helm_python.HelmError as error:
            return {"refused": str(error)}
    files = {}
    for path, text in rendered.items():
        name = path.rsplit("/", 1)[-1]
        if not name.endswith((".txt", ".tpl")):
            files[name] = [thing for thing in yaml.safe_load_all(text) if thing]
    wrong = [found for things in files.values() for thing in things if (found := wrong_with(thing))]
    return {"messages": linted["messages"], "errors": linted["errors"], "files": files, "wrong": wrong}


print(json.dumps(looked_at(sys.argv[1], json.load(sys.stdin))))
