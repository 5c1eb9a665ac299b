"""The past as a recording: what Prometheus kept of every replica before one instant, in the form
that a live look has.

Raw samples are asked for (a selector with a range, at one instant), never values at steps in
between: they have the instants of the scrapes, so that what a server said at once is one page
again, and rates are those that a live look would have found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from barostat.catalog import metric_names
from barostat.core.errors import InputError, OutsideError
from barostat.core.units import many
from barostat.io.prometheus.client import Prometheus, together
from barostat.judge.evidence.recording import GpuText, Recording, ReplicaRecording
from barostat.judge.history import pods
from barostat.judge.history.pages import pages, pairs, text_of
from barostat.judge.history.replicas import (
    CLUSTER_LABELS,
    OWN_LABELS,
    RememberedReplica,
    first_of,
    remembered_replicas,
)
from barostat.judge.history.series import Series, named, of_now

MOST_REPLICAS = 400
MOST_SCRAPES = 1_000
"""Scrapes of one replica in one window: more is hours of pages, which `barostat report --from --to`
looks at step by step.
"""
EARLIER_S = 3_600.0
"""Replicas that were there within this time before the window and are gone from it are named."""
STATUS_S = 300.0
"""Largest age of a kube-state-metrics or card sample: Prometheus's own lookback."""
FRESH_S = 30.0
_PREFIXES = ("vllm:", "vllm_", "ray_vllm_")
_RUNNING = "|".join(
    name.replace("vllm:", prefix, 1) for name in metric_names.RUNNING for prefix in _PREFIXES
)
_PAGE = "|".join(
    (
        *(f"{prefix}.+" for prefix in _PREFIXES),
        *(f"{name}_total" for name in metric_names.PROCESS_CPU),
        metric_names.PROCESS_START,
        *(f"{name}_total" for name in metric_names.HTTP_REQUESTS),
        metric_names.HTTP_ANSWERED,
    )
)
_POD_AND_SPACE = (("pod", "namespace"), ("exported_pod", "exported_namespace"))
"""Labels for the pod that an exporter describes, and the names Prometheus gives them if they
collide with those of the exporter's own pod.
"""

Progress = Callable[[str], None]


@dataclass(slots=True)
class Moment:
    """A query. `at`: the instant to judge at, unix seconds; `for_s`: time before it; `matchers`: of
    PromQL, or empty.
    """

    at: float
    for_s: float
    matchers: str = ""

    def selector(self, names: str, within_s: float, more: str = "") -> str:
        """Samples of the metrics whose names match, within so many seconds."""
        inner = ",".join(part for part in (f'__name__=~"{names}"', more or self.matchers) if part)
        return f"{{{inner}}}[{max(1, round(within_s))}s]"


async def remembered(
    server: Prometheus, moment: Moment, on_progress: Progress = lambda _: None
) -> Recording:
    """Record the matching replicas from Prometheus.

    Errors: OutsideError if the server fails or has no vLLM series there; InputError if the window
    is too large.
    """
    found = await remembered_if_any(server, moment, on_progress)
    if isinstance(found, str):
        raise OutsideError(found, retryable=False)
    return found


async def remembered_if_any(
    server: Prometheus, moment: Moment, on_progress: Progress = lambda _: None
) -> Recording | str:
    """The same; where the server answers and holds no series of vLLM there, a sentence that says
    so.

    Errors: OutsideError, InputError.
    """
    gauges = await server.at(moment.selector(_RUNNING, moment.for_s + EARLIER_S), moment.at)
    start = moment.at - moment.for_s
    replicas, problems = remembered_replicas(gauges, start)
    if not replicas:
        return await _nothing_there(server, moment)
    if len(replicas) > MOST_REPLICAS:
        raise InputError(
            f"{len(replicas)} replicas are too many at once (at most {MOST_REPLICAS}); choose some",
            "--selector",
        )
    scrapes = max(sum(at >= start for at in one.at) for one in replicas)
    if scrapes > MOST_SCRAPES:
        raise InputError(
            f"the window holds {scrapes:,} scrapes of a replica (at most "
            f"{MOST_SCRAPES:,}); look at less of it",
            "--for",
        )
    done = 0

    async def one(replica: RememberedReplica) -> _Remembered | None:
        nonlocal done
        found = await _replica(server, moment, replica)
        done += 1
        on_progress(f"{done} of {many(len(replicas), 'replica')} read")
        return found

    read = await together(*(one(replica) for replica in replicas))
    kept = [found for found in read if found is not None]
    gone = [replica.name for replica, found in zip(replicas, read, strict=True) if found is None]
    if gone:
        problems.append(
            "seen in the hour before the window and not in it: "
            f"{', '.join(gone[:5])}{' and more' if len(gone) > 5 else ''}"
        )
    if not kept:
        return await _nothing_there(server, moment)
    newest = max(found.newest for found in kept)
    at = moment.at if moment.at - newest <= FRESH_S else newest
    problems += [sentence for found in kept for sentence in found.problems]
    problems += _about_time(moment, at, replicas)
    documents = _documents(
        [
            (replica, found.pod)
            for replica, found in zip(replicas, read, strict=True)
            if found is not None
        ]
    )
    return Recording(
        target=f"{', '.join(found.recording.name for found in kept[:3])}{f' and {len(kept) - 3} more' if len(kept) > 3 else ''}"
        f" as {server.access.base} remembers",
        at=round(at, 3),
        replicas=tuple(found.recording for found in kept),
        kubernetes={"pods": {"kind": "PodList", "items": documents}} if documents else {},
        problems=tuple(dict.fromkeys((*problems, *server.warnings))),
    )


def _documents(
    read: Sequence[tuple[RememberedReplica, dict[str, object] | None]],
) -> list[dict[str, object]]:
    """Return the documents of the pods, each once; if there are any, pods without series get an
    empty one.
    """
    if not any(document for _, document in read):
        return []
    found = {
        (one.cluster, one.namespace, one.pod): document
        or pods.untold(one.pod, one.namespace, one.cluster)
        for one, document in read
        if one.pod
    }
    return list(found.values())


@dataclass(slots=True)
class _Remembered:
    recording: ReplicaRecording
    newest: float
    pod: dict[str, object] | None = None
    problems: list[str] = field(default_factory=list)


async def _replica(
    server: Prometheus, moment: Moment, replica: RememberedReplica
) -> _Remembered | None:
    """One replica's scrapes, failures, pod and cards; None if nothing of it is in the window."""
    mine = pairs(replica.labels) or moment.matchers
    target = pairs(replica.target) or mine
    series, ups = await asyncio.gather(
        server.at(moment.selector(_PAGE, moment.for_s, mine), moment.at),
        server.at(moment.selector("up", moment.for_s, target), moment.at),
    )
    source = f"{server.access.base} {{{mine}}}"
    scrapes, problems = pages(
        [one for one in series if replica.owns(one)],
        set(replica.labels) - OWN_LABELS,
        source,
    )
    failed = [
        (point.at, "Prometheus could not scrape it (up is 0)")
        for one in named(ups, "up")[:1]
        for point in one.points
        if point.value == 0
    ]
    if not scrapes and not failed:
        return None
    pod, card = None, ""
    if replica.pod:
        pod, card = await asyncio.gather(
            _pod(server, moment, replica), _cards(server, moment, replica)
        )
    texts = (GpuText(moment.at, "dcgm.prom", card, f"{server.access.base} DCGM"),) if card else ()
    node = str(pod["spec"].get("nodeName", "")) if pod is not None else ""  # type: ignore[attr-defined]
    newest = max([scrape.at for scrape in scrapes[-1:]] + [at for at, _ in failed[-1:]])
    recording = ReplicaRecording(
        name=replica.name,
        node=node or None,
        scrapes=tuple(scrapes),
        failed_scrapes=tuple(failed),
        gpu_texts=texts,
    )
    return _Remembered(recording, newest, pod, problems)


async def _pod(
    server: Prometheus, moment: Moment, replica: RememberedReplica
) -> dict[str, object] | None:
    """The pod's document, from kube-state-metrics where it is there; Prometheus may have renamed
    its labels, as any target's.
    """
    names = "|".join(pods.NAMES)
    for pod_label, space_label in _POD_AND_SPACE:
        asked = moment.selector(names, STATUS_S, pairs({pod_label: replica.pod}))
        if found := _only_of(await server.at(asked, moment.at), replica, space_label):
            original = [
                Series(
                    {name.removeprefix("exported_"): text for name, text in _renamed_last(one)},
                    one.points,
                )
                for one in found
            ]
            return pods.pod_of(original, replica.pod, replica.namespace, replica.cluster)
    return None


def _only_of(found: Sequence[Series], replica: RememberedReplica, space_label: str) -> list[Series]:
    """Return the series of this pod, without pods of the same name in another namespace or cluster;
    none if that is ambiguous.
    """
    kept = list(found)
    for wanted, labels in ((replica.namespace, (space_label,)), (replica.cluster, CLUSTER_LABELS)):
        if wanted:
            kept = [one for one in kept if first_of(one.labels, labels) in ("", wanted)]
        elif len({first_of(one.labels, labels) for one in kept}) > 1:
            return []
    return kept


def _renamed_last(one: Series) -> list[tuple[str, str]]:
    """The labels, those that were renamed behind those that took their names."""
    return sorted(one.labels.items(), key=lambda pair: pair[0].startswith("exported_"))


async def _cards(server: Prometheus, moment: Moment, replica: RememberedReplica) -> str:
    """The DCGM exporter's last word on the pod's cards, as its own text; empty if there is
    none.
    """
    for pod_label, space_label in _POD_AND_SPACE:
        asked = moment.selector("DCGM_FI_.+|DCGM_EXP_.+", STATUS_S, pairs({pod_label: replica.pod}))
        if found := _only_of(await server.at(asked, moment.at), replica, space_label):
            return text_of(of_now(found), moment.at, STATUS_S)
    return ""


async def _nothing_there(server: Prometheus, moment: Moment) -> str:
    """Return the message for an empty result, with the series that exist if the selector was too
    narrow.
    """
    chosen = f" {{{moment.matchers}}}" if moment.matchers else ""
    told = f"Prometheus at {server.access.base} holds no series of vLLM{chosen} in that time"
    if moment.matchers:
        others = await server.at(
            f'count by (namespace, job, model_name) ({{__name__=~"{_RUNNING}"}})', moment.at
        )
        known = [
            pairs({name: text for name, text in one.labels.items() if name != "__name__"})
            for one in others
        ]
        if known:
            return (
                f"{told}; it has "
                f"{'; '.join(known[:4])}{f' and {len(known) - 4} more' if len(known) > 4 else ''}"
            )
    oldest = await server.at(f'count({{__name__=~"{_RUNNING}"}})', moment.at + EARLIER_S)
    if oldest:
        return f"{told}, but some an hour later: was it there already?"
    return (
        f"{told}: is the time right (--at, with its zone), does it scrape vLLM, and is what is "
        "that old still kept?"
    )


def _about_time(moment: Moment, at: float, replicas: Sequence[RememberedReplica]) -> list[str]:
    """Return notes on gaps and resolution: the age of the newest sample, and scrapes too far apart
    for the window.
    """
    found = []
    if at < moment.at:
        found.append(
            f"the newest sample is {moment.at - at:.0f} s older than the instant that was "
            "asked for: judged as of that sample"
        )
    start = moment.at - moment.for_s
    paces = [one.interval_s for one in replicas if one.interval_s is not None]
    if paces and (slowest := max(paces)) * 2 > moment.for_s:
        found.append(
            f"scrapes are {slowest:.0f} s apart and the window is {moment.for_s:.0f} s: at "
            "most one step between two of them is seen; "
            "look at more with --for"
        )
    elif paces and (slowest := max(paces)) > 60:
        found.append(
            f"scrapes are {slowest:.0f} s apart: what comes and goes faster is not seen, "
            "and what is older than 90 s counts as stale"
        )
    lone = [
        one.name
        for one in replicas
        if sum(start <= instant <= moment.at for instant in one.at) == 1
    ]
    if lone:
        found.append(
            "only one sample within the window: "
            f"{', '.join(lone[:5])}{' and more' if len(lone) > 5 else ''}; nothing is "
            "known of rates"
        )
    return found
