"""A recording cut into steps in time, each judged as a look of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barostat.judge.evidence.recording import Recording, ReplicaRecording

MOST_STEPS = 48
SCRAPES_OF_STEP = 4
"""Scrapes that one step rests on at least: a rate takes two, and whether it lasts takes more."""


def cut(recording: Recording) -> Iterator[tuple[float, float, Recording]]:
    """Yield start, end and recording of each step; neighbours share the scrape between them.

    Metrics, readings of cards and of the host are of that step alone. Logs and Kubernetes objects
    are of the whole time, so they are in every step. Without metrics there is one step.
    """
    instants = sorted({scrape.at for replica in recording.replicas for scrape in replica.scrapes})
    if len(instants) < 2:
        yield recording.at, recording.at, recording
        return
    each = max(SCRAPES_OF_STEP - 1, -(-(len(instants) - 1) // MOST_STEPS))
    steps = max(1, (len(instants) - 1) // each)
    for step in range(steps):
        left = instants[step * each]
        right = instants[-1] if step == steps - 1 else instants[(step + 1) * each]
        yield left, right, between(recording, left, right)


def between(recording: Recording, left: float, right: float) -> Recording:
    """Return the recording of that time alone, unix seconds; both ends are in it."""
    return replace(
        recording,
        at=right,
        replicas=tuple(_within(one, left, right) for one in recording.replicas),
    )


def _within(replica: ReplicaRecording, left: float, right: float) -> ReplicaRecording:
    return replace(
        replica,
        scrapes=tuple(one for one in replica.scrapes if left <= one.at <= right),
        failed_scrapes=tuple(one for one in replica.failed_scrapes if left <= one[0] <= right),
        gpu_texts=tuple(one for one in replica.gpu_texts if left <= one.at <= right),
        host=tuple(one for one in replica.host if left <= one.at <= right),
    )
