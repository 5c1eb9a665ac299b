"""An autoscaler on how full the KV cache is.

Meaning: a full cache is how a busy engine works well; and an engine whose prompts are many and
short is saturated with a cache a third full.
Impact: replicas where none are needed, and none where they are.

Bad:

    {kind: ScaledObject, apiVersion: keda.sh/v1alpha1, metadata: {name: a}, spec: {scaleTargetRef:
    {name: vllm}, minReplicaCount: 1,
      triggers: [{type: prometheus, metadata: {query: "avg(vllm:kv_cache_usage_perc)", threshold:
      "0.8"}}]}}

Good:

    {kind: ScaledObject, apiVersion: keda.sh/v1alpha1, metadata: {name: a}, spec: {scaleTargetRef:
    {name: vllm}, minReplicaCount: 1,
      triggers: [{type: prometheus, metadata: {query: "avg(vllm:num_requests_waiting)", threshold:
      "2"}}]}}

Fix: requests that wait first, usage at most as a second trigger.
Source: llm-d/llm-d-autoscaling#662 (32 % usage while saturated), #1517, #1249.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.metric_names import CPU_USAGE_V0, KV_USAGE, WAITING
from barostat.lint.facts import Scene
from barostat.lint.promql import metrics_in
from barostat.lint.rule import Found, Rule

_USAGE = tuple(name.removeprefix("vllm:") for name in (*KV_USAGE, *CPU_USAGE_V0))
"""How the names of a cache's usage end, whatever an adapter puts before them."""


def judge(scene: Scene) -> Iterator[Found]:
    """Every scaler that reads usage and nothing that waits."""
    for scaler in scene.scalers:
        read = [(metrics_in(query.expression), query.place) for query in scaler.queries]
        read += [([name.replace("vllm_", "vllm:", 1)], place) for name, place, _ in scaler.metrics]
        if not read or any(
            "waiting" in name or "queue" in name for names, _ in read for name in names
        ):
            continue
        for names, place in read:
            if any(name.endswith(_USAGE) for name in names):
                yield Found(place, f"{scaler.kind} {scaler.name} scales on the cache's usage alone, which is high in a healthy engine too",
                            WAITING[0])  # fmt: skip


RULE = Rule(
    "scaled-on-cache-usage", "scaled on how full the cache is", judge, "note", "medium", "pedant"
)
