"""The post-mortem of a range: one look after another at what Prometheus remembers of it, each
judged as a live one is.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from barostat.core.errors import InputError, OutsideError
from barostat.io.bundles import bundle
from barostat.io.prometheus.client import Prometheus
from barostat.io.prometheus.history import PREFIXES
from barostat.io.prometheus.recording import Moment, remembered_if_any
from barostat.judge.advice.tried_steps import advised, with_source
from barostat.judge.diagnosis.diagnose import examine
from barostat.judge.history.cut import between, cut
from barostat.judge.history.steps import Step, step_of
from barostat.judge.history.story import story_of
from barostat.shells.cli.diagnose.past import progress, server_of
from barostat.shells.cli.instants import parse_instant, parse_start
from barostat.shells.reports.review.past import Past, past_document, past_json
from barostat.shells.reports.sheet.blocks import Document

MOST_LOOKS, MOST_STEPS = 480, 48
"""Replicas times steps: a page of metrics takes milliseconds to read, and there are a dozen in each
look at each replica.
"""
LEAST_SCRAPES = 10
"""Smallest number of scrapes per verdict: shorter steps include earlier scrapes."""
LONGEST_RANGE_S = 3 * 86_400.0
_ROUND_S = (30.0, 60.0, 120.0, 180.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 3600.0, 7200.0, 14_400.0)


def span_of(arguments: argparse.Namespace, now: float) -> tuple[float, float]:
    """The range that is meant, unix seconds.

    Errors: InputError for what is no range.
    """
    if arguments.from_at is None:
        raise InputError("needs a --from: where the range begins", "--to")
    try:
        end = parse_instant(arguments.to_at or "now", now)
        start = parse_start(arguments.from_at, end, now)
    except argparse.ArgumentTypeError as error:
        raise InputError(str(error), "--from, --to") from None
    if end - start < 60:
        raise InputError(
            "ends before it begins, or within a minute of it; write --from 02:00 --to "
            "04:00, or both with their dates",
            "--from, --to",
        )
    if end - start > LONGEST_RANGE_S:
        raise InputError(
            "is longer than three days: barostat report --since 7d reviews weeks; a "
            "post-mortem takes the hours around the incident",
            "--from, --to",
        )
    return start, end


def past_of(
    arguments: argparse.Namespace, matchers: str, start: float, end: float
) -> tuple[Document, dict[str, Any]]:
    """The report in its parts, and as data.

    Errors: InputError, OutsideError.
    """
    with progress() as tell:
        steps, problems, target = asyncio.run(
            _steps(Prometheus(server_of(arguments)), matchers, start, end, tell)
        )
    past = Past(target, start, end, steps, story_of(steps), problems)
    return past_document(past), past_json(past)


def past_of_files(paths: Sequence[Path]) -> tuple[Document, dict[str, Any]]:
    """The post-mortem of a bundle, or of files of one engine, in its parts and as data.

    Errors: InputError as `bundle.read`.
    """
    recording = bundle.read(*paths)
    steps = [step_of(examine(part), left, right) for left, right, part in cut(recording)]
    start, end = steps[0].start, steps[-1].end
    source = ("--from", str(paths[0])) if len(paths) == 1 else ()

    def judged(left: float, right: float) -> Step:
        whole = (left, right) == (start, end)  # as `diagnose` judges it
        part = recording if whole else between(recording, left, right)
        return step_of(with_source(advised(part), source), left, right)

    whole_time = [
        "logs and Kubernetes objects are of the whole time: they count in each part of it"
    ]
    has_log = any(one.log or one.previous_log for one in recording.replicas)
    problems = [
        *recording.problems,
        *recording.missing,
        *(whole_time if len(steps) > 1 and (has_log or recording.kubernetes) else []),
    ]
    past = Past(recording.target, start, end, steps, story_of(steps, judged), problems[:12])
    return past_document(past), past_json(past)


async def _steps(
    server: Prometheus, matchers: str, start: float, end: float, tell: Callable[[str], None]
) -> tuple[list[Step], list[str], str]:
    """Every step's examination; steps of which nothing is kept are left out, and that is told."""
    steps: list[Step] = []
    problems: list[str] = []
    target, lost = "", 0.0
    try:
        replicas, interval_s = await _size(server, matchers, start, end)
        step_s = _step_for(end - start, replicas)
        edges = [start + step_s * place for place in range(int((end - start) / step_s) + 1)]
        edges = (
            [*edges[:-1], end] if end - edges[-1] < step_s / 2 and len(edges) > 1 else [*edges, end]
        )
        for place, (left, right) in enumerate(pairwise(edges), 1):
            tell(f"{place} of {len(edges) - 1} steps judged")
            recording = await remembered_if_any(
                server, Moment(right, max(LEAST_SCRAPES * interval_s, right - left), matchers)
            )
            if isinstance(recording, str):
                lost += right - left
                continue
            target = target or matchers or server.access.base
            problems += [one for one in recording.problems if one not in problems]
            steps.append(step_of(examine(recording), left, right))
    finally:
        await server.close()
    if not steps:
        raise OutsideError(
            f"Prometheus at {server.access.base} keeps no series of "
            f"vLLM{f' {{{matchers}}}' if matchers else ''} in that time",
            retryable=False,
        )
    if lost:
        problems.insert(0, f"nothing is kept of {lost / 60:.3g} minutes of the range")
    return steps, problems[:12], target


async def _size(server: Prometheus, matchers: str, start: float, end: float) -> tuple[int, float]:
    """How many replicas there were at most, and the usual time between two scrapes, seconds."""
    chosen, range_s = f"{{{matchers}}}" if matchers else "", end - start
    for prefix in PREFIXES:
        running = f"{prefix}num_requests_running{chosen}"
        counted = await server.over(f"count({running})", start, end, max(15.0, range_s / 200))
        if counted:
            break
    scraped = await server.at(f"max(count_over_time({running}[{range_s:.0f}s]))", end)
    scrapes = max((point.value for one in scraped for point in one.points), default=0.0)
    return max(
        (int(point.value) for one in counted for point in one.points), default=1
    ), range_s / scrapes if scrapes else 60.0


def _step_for(range_s: float, replicas: int) -> float:
    """The time between two looks: round, and so long that there are not too many."""
    most = max(6, min(MOST_STEPS, MOST_LOOKS // max(1, replicas)))
    return next((step for step in _ROUND_S if range_s / step <= most), _ROUND_S[-1])
