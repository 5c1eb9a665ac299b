"""Pages of Ray's metrics agent, which shows the series of every process on its node.

A replica of Ray Serve that runs an engine adds its id to each series. Several replicas on a node are
several engines, although each calls its own `engine="0"`. Ray drops the gauges of a replica that has
ended, and keeps its counters. A counter of vLLM is exported from its first event on.

Source: vLLM 0.11 to 0.33 v1/metrics/ray_wrappers.py (ReplicaId; RayCounterWrapper.inc returns at 0);
Ray 2.60 _private/telemetry/open_telemetry_metric_recorder.py.
"""

from __future__ import annotations

from barostat.catalog.metric_names import GENERATION_TOKENS, KV_USAGE, PREEMPTIONS, RUNNING
from barostat.engines.vllm.metrics.sample import Sample

REPLICA = "ReplicaId"


def of_living_replicas(by_name: dict[str, list[Sample]]) -> dict[str, list[Sample]]:
    """The samples of replicas that have gauges, with an engine index for each if there are several,
    and with the counter of preemptions. A page without replicas of Ray is returned as it is.
    """
    gauges = [sample for name in (*RUNNING, *KV_USAGE) for sample in by_name.get(name, ())]
    living = {sample.labels[REPLICA] for sample in gauges if sample.labels.get(REPLICA)}
    if not living:
        return by_name
    found: dict[str, list[Sample]] = {}
    for name, samples in by_name.items():
        kept = [
            _apart(sample) if len(living) > 1 else sample
            for sample in samples
            if sample.labels.get(REPLICA, "") in ("", *living)
        ]
        if kept:
            found[name] = kept
    _with_preemptions(found)
    return found


def _apart(sample: Sample) -> Sample:
    replica = sample.labels.get(REPLICA)
    if not replica:
        return sample
    engine = f"{sample.labels.get('engine', '0')}@{replica}"
    return Sample(sample.name, {**sample.labels, "engine": engine}, sample.value)


def _with_preemptions(by_name: dict[str, list[Sample]]) -> None:
    """An engine that has generated tokens and shows no preemption has had none."""
    counter, generated = PREEMPTIONS[0], GENERATION_TOKENS[0]
    for ending in ("_total", ""):
        shown = by_name.get(f"{counter}{ending}", [])
        known = {sample.labels.get("engine") for sample in shown}
        missing = [
            Sample(f"{counter}{ending}", sample.labels, 0.0)
            for sample in by_name.get(f"{generated}{ending}", [])
            if sample.labels.get("engine") not in known
        ]
        if missing:
            by_name[f"{counter}{ending}"] = [*shown, *missing]
