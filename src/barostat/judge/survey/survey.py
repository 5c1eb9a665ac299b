"""From an examination of a cluster and the findings on its workloads to one row for each engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from barostat.catalog.cards import find_card
from barostat.catalog.instance_types import card_of_instance
from barostat.core.diagnosis import NOTHING_WRONG, ReplicaReport
from barostat.core.object_reference import ObjectReference
from barostat.core.verdict import Present
from barostat.core.window import Window
from barostat.judge.advice.remedy_text import remedy_words
from barostat.judge.diagnosis.diagnose import Examination
from barostat.judge.diagnosis.fleet import badness
from barostat.judge.survey.rollout import NOT_READ, Rollout, Room, rollout
from barostat.lint.rule import Finding
from barostat.platform.objects import items, mapping, name_of, text
from barostat.platform.pods import engine_container, pod_finder
from barostat.platform.workload import workload_of
from barostat.platform.workloads import kind_named

GpuNote = Literal["", "idle", "slow"]


@dataclass(frozen=True, slots=True)
class SurveyedEngine:
    """One engine: the replica's report and what stands around it.

    `used_ratio`: the highest share of the KV pool in the window; `pool_tokens`, `free_tokens`: its
    size, and what is left at that share. `unsafe`, `missing_limits`: findings of `check` on its
    workload. `gpus`: requested by its pod. `gpu`: the catalogue's name, empty if nothing tells.
    `cost_per_hour`: None without a price for the GPU. None elsewhere: not measured.
    """

    report: ReplicaReport
    workload: ObjectReference | None
    used_ratio: float | None = None
    pool_tokens: float | None = None
    running: float | None = None
    waiting: float | None = None
    rollout: Rollout = NOT_READ
    unsafe: tuple[Finding, ...] = ()
    missing_limits: tuple[Finding, ...] = ()
    is_checked: bool = False
    gpus: int = 0
    gpu: str = ""
    gpu_note: GpuNote = ""
    cost_per_hour: float | None = None

    @property
    def free_tokens(self) -> float | None:
        """KV tokens left at the highest use in the window."""
        if self.used_ratio is None or self.pool_tokens is None:
            return None
        return self.pool_tokens * max(0.0, 1.0 - self.used_ratio)

    @property
    def is_harmed(self) -> bool:
        """True if a cause is named, or harm is forecast."""
        return (
            self.report.diagnosis.cause not in NOTHING_WRONG
            or self.report.forecast.exhaustion_in_s is not None
        )


@dataclass(frozen=True, slots=True)
class Survey:
    """All engines, the worst first. `at`: unix seconds. `not_read`: what could not be read or
    checked, a sentence each.
    """

    at: float
    target: str
    engines: tuple[SurveyedEngine, ...]
    not_read: tuple[str, ...] = ()

    @property
    def cost_per_hour(self) -> float | None:
        """Of all engines whose GPUs have a price; None if none has."""
        known = [one.cost_per_hour for one in self.engines if one.cost_per_hour is not None]
        return sum(known) if known else None


def survey(
    examination: Examination,
    kubernetes: Mapping[str, Any],
    findings: Mapping[ObjectReference, Sequence[Finding]],
    room: Room | None,
    prices: Mapping[str, float],
    not_read: Iterable[str] = (),
) -> Survey:
    """The survey. `findings`: of each workload that was checked. `prices`: of one GPU for an hour,
    by the catalogue's name.
    """
    nodes = {name_of(node): node for node in (*items(kubernetes.get("nodes")), *_nodes(room))}
    rollouts: dict[ObjectReference, Rollout] = {}
    pod_named = pod_finder(kubernetes)
    engines = []
    for report in examination.report.replicas:
        pod = pod_named(report.name)
        owner = workload_of(kubernetes, pod) if pod is not None else None
        reference = None
        if owner is not None:
            namespace = owner.namespace or text(pod, "metadata", "namespace")
            reference = ObjectReference(owner.kind.lower(), owner.name, namespace)
            kind = kind_named(owner.kind)
            if reference not in rollouts and kind is not None and owner.document is not None:
                rollouts[reference] = rollout(kind, owner.document, room)
        container = engine_container(pod) if pod is not None else None
        node = nodes.get(text(pod, "spec", "nodeName"), {}) if pod is not None else {}
        found = findings.get(reference, ()) if reference is not None else ()
        windows = examination.windows.get(report.name, {})
        gpus, gpu = int(container.gpus) if container is not None else 0, _gpu_of(node)
        price = prices.get(gpu)
        engines.append(
            SurveyedEngine(
                report,
                reference,
                _over(windows, "kv_usage_ratio", "most"),
                _over(windows, "kv_pool_tokens", "sum"),
                _over(windows, "running_requests", "sum"),
                _over(windows, "waiting_requests", "sum"),
                rollouts.get(reference, NOT_READ) if reference is not None else NOT_READ,
                tuple(one for one in found if not one.topic and one.severity != "note"),
                tuple(one for one in found if one.topic == "limits"),
                reference in findings,
                gpus,
                gpu,
                _gpu_note(report),
                price * gpus if price is not None else None,
            )
        )
    told = [
        *map(remedy_words, examination.report.remedies),
        *examination.report.problems,
        *not_read,
    ]
    return Survey(
        examination.report.at,
        examination.report.target,
        tuple(sorted(engines, key=_worst_first)),
        tuple(dict.fromkeys(told)),
    )


def _nodes(room: Room | None) -> Sequence[Any]:
    return room.nodes if room is not None else ()


def _worst_first(engine: SurveyedEngine) -> tuple[Any, ...]:
    severity, confidence = badness(engine.report.diagnosis)
    at_risk = engine.rollout.outcome in ("outage", "stuck")
    used = engine.used_ratio if engine.used_ratio is not None else 0.0
    order = (not engine.report.unreachable, -severity, not engine.is_harmed, -confidence)
    return (*order, not at_risk, -len(engine.unsafe), -used, engine.report.name)


def _over(
    windows: Mapping[str, Window], name: str, together: Literal["most", "sum"]
) -> float | None:
    """Over the engines of a replica: the highest value in the window, or the sum of the last."""
    found = [signal for window in windows.values() if (signal := window.fresh(name)) is not None]
    if not found:
        return None
    return (
        max(signal.high for signal in found)
        if together == "most"
        else sum(signal.last for signal in found)
    )


def _gpu_note(report: ReplicaReport) -> GpuNote:
    if any(
        finding.name == "slower-than-card" and isinstance(finding.verdict, Present)
        for finding in report.symptoms
    ):
        return "slow"
    return "idle" if report.diagnosis.cause == "healthy-idle" else ""


def _gpu_of(node: Mapping[str, Any]) -> str:
    """The GPU that the node's labels name: the device plugin's product, or the machine type."""
    labels = mapping(node, "metadata", "labels")
    for key in sorted(labels, key=lambda key: ("instance-type" in key, key)):
        if not key.endswith(("gpu.product", "gke-accelerator", "instance-type", "product-name")):
            continue
        card = find_card(card_of_instance(str(labels[key])) or str(labels[key]))
        if card is not None:
            return card.name
    return ""
