"""Render deploy/chart with the real Helm library, and write deploy/operator/operator.yaml, which
`kubectl apply -k deploy/operator` installs; with --check say whether it is current.

Also counts what the roles grant, for the line in docs/guide/operator.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev import setup_helm

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "chart"
PLAIN = ROOT / "deploy" / "operator" / "operator.yaml"
HOME = "barostat"
WRITES = ("create", "update", "patch", "delete", "deletecollection")
HEAD = "# Made by dev/chart.py from deploy/chart with its default values: do not edit.\n"
_OF_HELM = "app.kubernetes.io/managed-by"


def rendered(values: dict[str, Any] | None = None, release: str = "barostat") -> dict[str, str]:
    """The chart's documents by template. Errors: helm_python.HelmError for what Helm refuses."""
    if str(setup_helm.TARGET) not in sys.path:
        sys.path.insert(0, str(setup_helm.TARGET))
    import helm_python

    with helm_python.Chart.load(str(CHART)) as chart:
        found: dict[str, str] = chart.render(values=values or {}, name=release, namespace=HOME)
    return found


def documents(
    values: dict[str, Any] | None = None, release: str = "barostat"
) -> list[dict[str, Any]]:
    """The objects that the chart makes, the tests left out."""
    return [
        one
        for template, text in sorted(rendered(values, release).items())
        if template.endswith(".yaml") and "/tests/" not in template
        for one in yaml.safe_load_all(text)
        if one
    ]


def plain() -> str:
    """The same with default values, as one file without marks of Helm."""
    made = []
    for one in documents():
        for metadata in (one["metadata"], one.get("spec", {}).get("template", {}).get("metadata")):
            if metadata:
                labels = metadata.get("labels", {})
                labels.pop("helm.sh/chart", None)
                if labels.get(_OF_HELM) == "Helm":
                    labels[_OF_HELM] = "kustomize"
        if one["kind"] != "CustomResourceDefinition":
            one["metadata"]["namespace"] = HOME  # so that kustomize changes it in subjects, too
        made.append(one)
    return HEAD + yaml.safe_dump_all(made, sort_keys=False, width=140)


def granted(values: dict[str, Any] | None = None) -> tuple[int, int, int]:
    """(rules, rules that write to objects of others, Secrets) of all roles."""
    rules = [rule for one in documents(values) if "rules" in one for rule in one["rules"]]
    own = {"pressureincidents", "pressureincidents/status", "servinglimits/status", "leases"}
    writes = [
        rule
        for rule in rules
        if {*rule["verbs"]} & {*WRITES} and not {*rule["resources"]} <= own | {"events"}
    ]
    return len(rules), len(writes), sum("secrets" in rule["resources"] for rule in rules)


def main() -> int:
    """Write the file, or check it."""
    made = plain()
    if "--check" in sys.argv:
        current = PLAIN.exists() and PLAIN.read_text() == made
        if not current:
            print(f"{PLAIN.relative_to(ROOT)} is not current: run python dev/chart.py")
        return int(not current)
    PLAIN.parent.mkdir(parents=True, exist_ok=True)
    PLAIN.write_text(made)
    for name, values in (("observer", None), ("actuator", {"actuator": {"enabled": True}})):
        rules, writes, secrets = granted(values)
        print(f"{name}: {rules} rules, {writes} that write to objects of others, {secrets} Secrets")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
