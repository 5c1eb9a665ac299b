"""A replica judged with what is near it is judged as with the whole cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.wide_cluster import Wide

from barostat.judge.diagnosis.diagnose import examine
from barostat.judge.evidence import namespace_objects
from barostat.judge.evidence.recording import Recording, ReplicaRecording, Scrape
from barostat.platform.objects import name_of

AT = 1_800_000_000.0


def event(kind: str, name: str, reason: str, namespace: str) -> dict[str, Any]:
    about = {"kind": kind, "name": name, "namespace": namespace}
    stamp = "2027-01-15T07:59:00Z"
    whole = {"involvedObject": about, "reason": reason, "message": reason, "type": "Warning"}
    return {**whole, "metadata": {"namespace": namespace}, "lastTimestamp": stamp, "count": 3}


@pytest.fixture
def recording() -> Recording:
    wide = Wide(24, 4)
    pods = wide.lists["pods"]
    events = [
        event("Pod", name_of(pods[3]), "Unhealthy", "team-0"),
        event("Pod", name_of(pods[9]), "BackOff", "team-2"),
        event("Node", "node-1", "NodeNotReady", "default"),
        event("Deployment", "w-1", "ScalingReplicaSet", "team-1"),
    ]
    replicas = tuple(
        ReplicaRecording(
            name=f"{pod['metadata']['namespace']}/{name_of(pod)}",
            node=pod["spec"]["nodeName"],
            scrapes=(Scrape(AT - 5, wide.metrics(i), "m"), Scrape(AT, wide.metrics(i), "m")),
        )
        for i, pod in enumerate(pods)
    )
    documents = {kind: {"kind": "List", "items": found} for kind, found in wide.lists.items()}
    around = {**documents, "events": {"kind": "List", "items": events}, "hpas": "no list"}
    return Recording("-A", AT, replicas, kubernetes=around)


def test_the_report_is_the_same(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    near = examine(recording)
    monkeypatch.setattr(namespace_objects, "FEW", 10_000)
    whole = examine(recording)
    assert near.report == whole.report
    assert near.windows == whole.windows


def test_a_replica_sees_its_own_workloads_pods_and_events(recording: Recording) -> None:
    near = namespace_objects.nearby(recording)(recording.replicas[9]).kubernetes
    assert [name_of(pod) for pod in near["pods"]] == [f"w-2-7f9c-{i}" for i in range(8, 12)]
    told = [found["reason"] for found in near["events"]]
    assert told == ["BackOff", "NodeNotReady", "ScalingReplicaSet"]
    assert near["hpas"] == "no list"


def test_few_replicas_and_unknown_names_see_everything(recording: Recording) -> None:
    few = replace(recording, replicas=recording.replicas[:2])
    assert namespace_objects.nearby(few)(few.replicas[0]) is few
    stranger = replace(recording.replicas[0], name="http://a:8000")
    assert namespace_objects.nearby(recording)(stranger) is recording
