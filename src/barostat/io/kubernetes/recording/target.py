"""What a person means by a target in a cluster, and the pods that it is: vLLM's, known by command
line, image or metrics.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from barostat.core.errors import InputError, OutsideError
from barostat.engines.vllm.metrics.exposition import names_engine
from barostat.io.engine_http.http import Answer
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import (
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Resource,
    resource_of,
    workload_resource,
)
from barostat.io.kubernetes.recording.pod_route import PodRoute
from barostat.judge.evidence.endpoint import endpoints, serves
from barostat.platform.objects import instant, is_going, name_of, objects, text
from barostat.platform.pods import engine_container, looks_like_vllm
from barostat.platform.workload import belongs_to
from barostat.platform.workloads import (
    WorkloadKind,
    kind_of_plural,
    kind_typed,
    words_to_type,
)

GUESS_S = 4.0
RECENT_S = 1800.0
_NAME = re.compile(r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requested target. Without `targets` and `selector`: every vLLM of the namespace, or of
    all.
    """

    targets: tuple[str, ...] = ()
    selector: str = ""
    all_namespaces: bool = False
    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None

    def spelled(self, namespace: str) -> str:
        """Return the target as typed on the command line."""
        words = [*self.targets] + (["-l", self.selector] if self.selector else [])
        return " ".join([*words, "-A" if self.all_namespaces else f"-n {namespace}"])


@dataclass(slots=True)
class Selection:
    """The pods to look at, and the workloads that they were found by. `lacking`: rights that are
    missing.
    """

    pods: list[Object] = field(default_factory=list)
    workloads: list[Object] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)


def is_workload(target: str) -> bool:
    """True for `deploy/x`, `pod/x` and their like: what is in a cluster and no address."""
    kind, slash, name = target.partition("/")
    return bool(slash) and kind_typed(kind) is not None and bool(name) and "/" not in name


def each_target(words: Sequence[str]) -> list[str]:
    """The targets that were typed: `deployment a b` names two of a kind, as kubectl takes them."""
    kind, *names = words or [""]
    if not names or kind_typed(kind) is None or any("/" in name for name in names):
        return list(words)
    return [f"{kind}/{name}" for name in names]


def parsed(target: str) -> tuple[WorkloadKind, str]:
    """The kind and the name.

    Errors: InputError.
    """
    word, _, name = target.partition("/")
    kind = kind_typed(word)
    if kind is None or not is_workload(target) or not _NAME.match(name):
        raise InputError(
            f"is no target in a cluster; write {words_to_type()}, -l app=vllm or -A", target
        )
    return kind, name


async def require_namespace(cluster: Cluster, namespace: str) -> None:
    """Check that the namespace exists, as far as permitted. Errors: InputError if it does not."""
    found = await cluster.get(NAMESPACES, namespace)
    if isinstance(found, RequestFailed) and found.kind == "not-found":
        raise InputError("there is no such namespace in this cluster", f"namespace {namespace}")


async def select(cluster: Cluster, wanted: Wanted, now: float) -> Selection:
    """Return the selected pods.

    Errors: InputError if they do not exist or run no vLLM; OutsideError if pods cannot be read.
    """
    namespace = wanted.namespace or cluster.access.namespace
    found = Selection()
    for target in wanted.targets:
        await _named(cluster, target, namespace, found)
    if wanted.selector or not wanted.targets:
        scope = None if wanted.all_namespaces else namespace
        listed = await cluster.list(PODS, scope, labels=wanted.selector)
        if isinstance(listed, RequestFailed):
            if wanted.all_namespaces and listed.kind == "forbidden":
                why = f"{listed.why}; for one namespace: -n NAMESPACE"
                raise OutsideError(why, retryable=False)
            raise InputError(listed.why, "-l") if listed.kind == "invalid" else listed.error()
        sure = [pod for pod in listed.items if looks_like_vllm(pod)]
        rest = [
            pod
            for pod in listed.items
            if not looks_like_vllm(pod) and (wanted.selector or might_serve(pod))
        ]
        found.pods += sure + await _by_metrics(cluster, rest)
        if not found.pods:
            if not wanted.all_namespaces and not listed.items:
                await require_namespace(cluster, namespace)
            where = "in all namespaces" if wanted.all_namespaces else f"in namespace {namespace}"
            seen = (
                f"{len(listed.items)} pods "
                f"{f'match {wanted.selector}' if wanted.selector else 'are there'}, none runs "
                "vLLM"
            )
            raise InputError(
                f"no vLLM pod {where}: "
                f"{seen if listed.items else 'no pod ' + ('matches' if wanted.selector else 'is there')}"
            )
    found.pods = _standing(
        list({text(pod, "metadata", "uid") or id(pod): pod for pod in found.pods}.values()),
        found,
        wanted,
        now,
    )
    return found


async def _named(cluster: Cluster, target: str, namespace: str, found: Selection) -> None:
    kind, name = parsed(target)
    resource = resource_of(kind)
    item = await cluster.get(resource, name, namespace)
    if isinstance(item, RequestFailed) and item.kind == "not-found":
        await require_namespace(cluster, namespace)
        raise InputError(
            f"there is no such {resource.kind} in namespace "
            f"{namespace}{await _others(cluster, resource, namespace)}",
            target,
        )
    if resource is PODS:
        if isinstance(item, RequestFailed):
            raise item.error()
        found.pods.append(item)
        return
    known: Object | None = None
    if not isinstance(item, RequestFailed):
        known = item
        found.workloads.append(item)
    elif item.kind == "forbidden":
        found.lacking.append(item.right)
    else:
        raise item.error()
    pods = await _pods_of(cluster, kind, name, namespace, known)
    answering = [pod for pod in pods if kind.answers(pod)]
    found.pods += answering + await _by_metrics(
        cluster, [pod for pod in pods if not kind.answers(pod)]
    )


async def _pods_of(
    cluster: Cluster, kind: WorkloadKind, name: str, namespace: str, item: Object | None
) -> list[Object]:
    """The pods of the workload, those of a group included. Errors: OutsideError."""
    labels = kind.query(name, item) if item is not None or kind.name_label else ""
    listed = await cluster.list(PODS, namespace, labels=labels)
    if isinstance(listed, RequestFailed):
        raise listed.error()
    if kind.name_label:
        return list(listed.items)
    documents: dict[str, Any] = {"pods": list(listed.items)}
    between = (REPLICA_SETS,) if labels else (REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS)
    above = [workload_resource(plural) for plural in kind.reads if kind_of_plural(plural)]
    for resource in dict.fromkeys((*between, *above)):
        owners = await cluster.list(resource, namespace, labels=labels)
        documents[resource.plural] = [] if isinstance(owners, RequestFailed) else list(owners.items)
    return [pod for pod in listed.items if belongs_to(documents, pod, kind, name)]


async def _others(cluster: Cluster, resource: Resource, namespace: str) -> str:
    """Names that are there, for whoever mistyped one."""
    listed = await cluster.list(resource, namespace, within_s=3.0)
    if isinstance(listed, RequestFailed) or not listed.items:
        return "" if isinstance(listed, RequestFailed) else f"; there is no {resource.kind} at all"
    names = sorted(name_of(item) for item in listed.items)
    return f"; there are: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"


def might_serve(pod: Object) -> bool:
    """True for a pod that could be an engine under a name of its own: it has a card, or vLLM's
    port, or metrics to be scraped.
    """
    container = engine_container(pod)
    annotated = text(pod, "metadata", "annotations", "prometheus.io/scrape") == "true"
    return (
        text(pod, "status", "phase") == "Running"
        and container is not None
        and (container.gpus > 0 or 8000 in container.ports or annotated)
    )


async def _by_metrics(cluster: Cluster, pods: Iterable[Object]) -> list[Object]:
    """Those of the pods whose metrics are vLLM's."""

    async def is_vllm(pod: Object) -> bool:
        door = PodRoute(
            cluster,
            text(pod, "metadata", "namespace"),
            name_of(pod),
            name_of(pod),
            endpoints(pod),
            may_forward=False,
        )
        answer = await door.ask("/metrics", within_s=GUESS_S)
        return isinstance(answer, Answer) and answer.status == 200 and names_engine(answer.body)

    running = [pod for pod in pods if text(pod, "status", "phase") == "Running"]
    answers = await asyncio.gather(*(is_vllm(pod) for pod in running))
    return [pod for pod, yes in zip(running, answers, strict=True) if yes]


def _standing(pods: list[Object], found: Selection, wanted: Wanted, now: float) -> list[Object]:
    """Without pods that are done: deleted, succeeded, failed a while ago; and without workers whose
    head serves for them.
    """
    if wanted.targets and all(target.lower().startswith("po") for target in wanted.targets):
        return pods
    kept = []
    ended = workers = 0
    for pod in pods:
        phase = text(pod, "status", "phase")
        if not serves(pod):
            workers += 1
        elif (
            phase == "Succeeded"
            or is_going(pod)
            or (phase == "Failed" and now - _ended_at(pod) > RECENT_S)
        ):
            ended += 1
        else:
            kept.append(pod)
    if workers:
        found.problems.append(
            f"{workers} pods are workers of an engine whose head serves for them: not asked"
        )
    if ended:
        found.problems.append(f"{ended} pods that have ended or are being deleted were left out")
    return kept or pods


def _ended_at(pod: Object) -> float:
    ends = [
        instant(status, "state", "terminated", "finishedAt")
        for status in objects(pod, "status", "containerStatuses")
    ]
    known = [end for end in ends if end is not None] or [
        instant(pod, "status", "startTime") or instant(pod, "metadata", "creationTimestamp") or 0.0
    ]
    return max(known)
