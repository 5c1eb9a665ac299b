"""The rules as text: a rule file, the operator's object, Thanos, Mimir, and Alertmanager's
inhibitions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from barostat.alerts.alert import Alert
from barostat.alerts.groups import Rules
from barostat.alerts.inhibitions import inhibit_rules
from barostat.core.release import __version__


def rendered(rules: Rules, among: Sequence[Alert], form: str, workload: str) -> str:
    """The text in that form."""
    if form == "alertmanager":
        return _HOW_TO_INHIBIT + _yaml({"inhibit_rules": inhibit_rules(among)})
    about = f" for {workload}" if workload else ""
    head = f"# Made by `barostat rules`{about}, {__version__}. Made anew, not edited.\n"
    left = "".join(f"# Left out: {name}: {why}\n" for name, why in rules.left_out.items())
    return head + left + _yaml(_document(rules, form, workload))


_HOW_TO_INHIBIT = (
    "# Into alertmanager.yml: within a workload of a cluster the cause pages, and its "
    "consequences do not.\n"
)


def _document(rules: Rules, form: str, workload: str) -> Mapping[str, Any]:
    groups = [dict(group) for group in rules.groups]
    match form:
        case "prometheusrule":
            name = "barostat" + (f"-{_kubernetes_name(workload)}" if workload else "")
            return {
                "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
                "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "barostat"}}, "spec": {"groups": groups},
            }  # fmt: skip
        case (
            "thanos"
        ):  # an answer that is partly missing must not look like engines that are missing
            return {"groups": [{**group, "partial_response_strategy": "abort"} for group in groups]}
        case "mimir":
            return {
                "namespace": "barostat" + (f"-{_kubernetes_name(workload)}" if workload else ""),
                "groups": groups,
            }
        case _:
            return {"groups": groups}


def _kubernetes_name(text: str) -> str:
    return re.sub(r"[^a-z0-9.-]+", "-", text.lower()).strip("-.")[:200] or "vllm"


class _Dumper(yaml.SafeDumper):
    """Long texts in one piece, lists set in."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:  # noqa: ARG002
        return super().increase_indent(flow, False)


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
