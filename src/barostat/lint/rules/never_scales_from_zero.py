"""A workload that is scaled to zero on a metric that only it shows.

Meaning: KEDA takes the replicas to minReplicaCount (0 unless set) when no trigger is active. The
trigger reads `vllm:` metrics, which the engine itself shows: with no replica there are none, so the
trigger is never active again. (A router's own metrics may begin with `vllm:` too; one that no
engine shows is taken for such.)
Impact: the first quiet quarter of an hour takes the model out of service until it is scaled up by
hand.

Bad:

    {kind: ScaledObject, apiVersion: keda.sh/v1alpha1, metadata: {name: a}, spec: {scaleTargetRef:
    {name: vllm}, minReplicaCount: 0,
      triggers: [{type: prometheus, metadata: {query: "sum(vllm:num_requests_waiting)", threshold:
      "5"}}]}}

Good:

    {kind: ScaledObject, apiVersion: keda.sh/v1alpha1, metadata: {name: a}, spec: {scaleTargetRef:
    {name: vllm}, minReplicaCount: 1,
      triggers: [{type: prometheus, metadata: {query: "sum(vllm:num_requests_waiting)", threshold:
      "5"}}]}}

Fix: minReplicaCount: 1; or a trigger on what the gateway or router counts.
Source: KEDA 2.17 ScaledObject (minReplicaCount, activation); vLLM's /metrics is the engine's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import changed
from barostat.lint.facts import Scene
from barostat.lint.promql import base_name, known_names, metrics_in
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every ScaledObject that goes to zero and can only come back by what is then gone."""
    known = known_names()
    for scaler in scene.scalers:
        if (
            scaler.kind != "ScaledObject"
            or scaler.least != 0
            or not scaler.queries
            or scaler.other_triggers
        ):
            continue
        if all(
            names and all(name.startswith("vllm:") and base_name(name) in known for name in names)
            for names in (metrics_in(query.expression) for query in scaler.queries)
        ):
            said = (
                "minReplicaCount is 0"
                if scaler.least_place is not None
                else "minReplicaCount is 0 unless set"
            )
            yield Found(
                scaler.least_place or scaler.place,
                f"{said}, and every trigger reads metrics of the engine itself: once at "
                "zero it never scales up again",
                "minReplicaCount: 1, or a trigger on the gateway's requests",
                changed(scaler.least_place, "1") if scaler.least_place is not None else (),
            )


RULE = Rule("never-scales-from-zero", "scaled to zero and never back", judge, "error")
