"""The operator's role holds the rights that remedies need and no others; the observer's reads every
kind of workload.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from barostat.io.mitigation.facts import needed
from barostat.judge.mitigation.kept_units import RIGHTS
from barostat.platform.workloads import WorkloadKind, kinds

NEEDED = sorted({right for kind in kinds() if kind.rolls for right in needed(kind)})
RBAC = Path(__file__).resolve().parents[4] / "deploy" / "rbac"


def rights(*files: str) -> set[tuple[str, str, str]]:
    roles = [
        found
        for name in files
        for found in yaml.safe_load_all((RBAC / name).read_text())
        if found["kind"] == "ClusterRole"
    ]
    return {
        (verb, group, resource)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("right", NEEDED, ids=" ".join)
def test_every_needed_right_is_given(right: tuple[str, str, str]) -> None:
    assert right in rights("observer.yaml", "operator.yaml")


def test_nothing_else_is_written() -> None:
    writes = {
        right for right in rights("operator.yaml") if right[0] not in ("get", "list", "watch")
    }
    assert writes - {*NEEDED, *RIGHTS} == {("create", "", "events")}
    assert set(RIGHTS) <= rights("operator.yaml")
    assert not {right for right in rights("operator.yaml") if "*" in right or "secrets" in right}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.api.kind)
@pytest.mark.parametrize("verb", ["get", "list"])
def test_every_kind_of_workload_may_be_read(kind: WorkloadKind, verb: str) -> None:
    assert (verb, kind.api.group, kind.api.plural) in rights("observer.yaml")
