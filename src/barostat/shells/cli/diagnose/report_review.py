"""The capacity review: weeks of sums over the fleet, and one diagnosis, of the instant that was the
worst.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from barostat.catalog import metric_names
from barostat.core.errors import InputError, OutsideError
from barostat.io.prometheus.client import Prometheus
from barostat.io.prometheus.history import kept, worst_instant
from barostat.io.prometheus.recording import Moment, remembered_if_any
from barostat.judge.diagnosis.diagnose import Examination, examine
from barostat.judge.diagnosis.fleet import badness
from barostat.judge.evidence.recording import Recording
from barostat.judge.history.review import Review, review
from barostat.platform.pods import engine_container, find_pod
from barostat.shells.cli.diagnose.past import progress, server_of
from barostat.shells.reports.review.capacity import Fleet, capacity_document, capacity_json
from barostat.shells.reports.review.words import when
from barostat.shells.reports.sheet.blocks import Document

WINDOW_S = 600.0


def reviewed(
    arguments: argparse.Namespace, matchers: str, since_s: float, now: float
) -> tuple[Document, dict[str, Any]]:
    """The report in its parts, and as data.

    Errors: InputError, OutsideError.
    """
    server = Prometheus(server_of(arguments))
    with progress() as tell:
        tell("asking for the history")
        found, fleet = asyncio.run(
            _asked(server, matchers, since_s, now, arguments.cards_per_replica)
        )
    target = matchers or server.access.base
    return capacity_document(found, fleet, target), capacity_json(found, fleet, target)


async def _asked(
    server: Prometheus, matchers: str, since_s: float, now: float, cards: float | None
) -> tuple[Review, Fleet]:
    try:
        found = review(await kept(server, matchers, since_s, now))
        worst_at = found.harm.worst_at
        at = (
            await worst_instant(server, matchers, worst_at, found.kept.step_s, found.kept.prefix)
            if worst_at is not None
            else found.kept.line("replicas")[-1].at
        )
        try:
            recording = await remembered_if_any(server, Moment(at, WINDOW_S, matchers))
        except (
            OutsideError,
            InputError,
            # the sums are there: what is missing of the engines themselves is said beside them
        ) as error:
            recording = str(error)
        if isinstance(recording, str):
            told = f"nothing is told of the engines themselves at {when(at)}: {recording}"
            return replace(
                found, kept=replace(found.kept, problems=(*found.kept.problems, told))
            ), Fleet(cards_per_replica=cards)
        return found, _fleet(recording, examine(recording), worst_at is not None, at, cards)
    finally:
        await server.close()


def _fleet(
    recording: Recording, seen: Examination, harmful: bool, at: float, cards: float | None
) -> Fleet:
    """What the engines tell of themselves at that instant."""
    windows = [window for by_engine in seen.windows.values() for window in by_engine.values()]
    pools = [
        signal.last
        for window in windows
        if (signal := window.signals.get("kv_pool_tokens")) is not None
    ]
    models = {
        sample.labels["model_name"]
        for replica in recording.replicas
        for scrape in replica.scrapes[-1:]
        for name in metric_names.RUNNING
        for sample in scrape.exposition.named(name)
        if sample.labels.get("model_name")
    }
    ranks = {name: len(by_engine) for name, by_engine in seen.windows.items()}
    worst = max(seen.report.replicas, key=lambda one: badness(one.diagnosis)) if harmful else None
    return Fleet(
        sum(pools) / len(pools) if pools else None,
        cards or _cards_of_one(recording, ranks),
        tuple(sorted({str(window.version) for window in windows if window.version is not None})),
        tuple(sorted(models)),
        worst,
        at if harmful else None,
        max(ranks.values(), default=1),
    )


def _cards_of_one(recording: Recording, ranks: Mapping[str, int]) -> float | None:
    """The cards of one engine: a pod's, shared out among the data-parallel ranks in it, as each of
    these is counted with its own pool.

    No rank has less than one: those above that run in other pods.
    """
    engines: dict[int, int] = {}
    cards: dict[int, float] = {}
    for name, several in ranks.items():
        pod = find_pod(recording.kubernetes, name)
        container = engine_container(pod) if pod is not None else None
        if container is not None and container.gpus:
            engines[id(pod)] = engines.get(id(pod), 0) + several
            cards[id(pod)] = container.gpus
    return max((max(1.0, cards[pod] / engines[pod]) for pod in cards), default=None)
