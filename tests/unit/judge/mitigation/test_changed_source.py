"""A workload with one change: made to its templates, or a former revision of it."""

from __future__ import annotations

from typing import Any

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.flag_surgery import NotChanged
from barostat.judge.mitigation.changed_source import changed_source
from barostat.platform.workloads import kind_named
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT

SLOTS = ConfigChange("argument", "--max-num-seqs", "64", "32")


def template(slots: str = "64", command: str = "vllm serve m") -> dict[str, Any]:
    args = [*command.split(), "--max-num-seqs", slots]
    container = {"name": "vllm", "image": "vllm/vllm-openai:v0.32.0", "args": args}
    return {"metadata": {"labels": {"app": "vllm"}}, "spec": {"containers": [container]}}


def test_a_change_is_made_to_the_template_and_to_nothing_else() -> None:
    spec: dict[str, Any] = {"replicas": 2, "template": template()}
    home = {"kind": "Deployment", "spec": spec}
    assert changed_source(DEPLOYMENT, home, SLOTS) == template("32")
    assert spec["template"] == template()


def test_a_former_revision_comes_back_without_the_label_of_its_replica_set() -> None:
    before = template("32")
    before["metadata"]["labels"]["pod-template-hash"] = "abc"
    change = ConfigChange("revision", "revision", "3", "2")
    assert changed_source(DEPLOYMENT, {}, change, revision=before) == template("32")
    assert isinstance(changed_source(DEPLOYMENT, {}, change), NotChanged)


def test_every_template_of_a_group_that_takes_the_change_gets_it() -> None:
    kind = kind_named("LeaderWorkerSet")
    assert kind is not None
    group = {"size": 2, "leaderTemplate": template(), "workerTemplate": template()}
    made = changed_source(kind, {"spec": {"leaderWorkerTemplate": group}}, SLOTS)
    assert made == {
        "size": 2, "leaderTemplate": template("32"), "workerTemplate": template("32"),
    }  # fmt: skip
    ray = {"spec": {"containers": [{"name": "w", "args": ["ray", "start", "--block"]}]}}
    remove = ConfigChange("argument", "--max-num-seqs", "64", None)
    made = changed_source(
        kind, {"spec": {"leaderWorkerTemplate": {**group, "workerTemplate": ray}}}, remove
    )
    assert not isinstance(made, NotChanged)
    assert made["workerTemplate"] == ray
