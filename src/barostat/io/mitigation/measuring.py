"""Keeps the measurements of a remedy for its post-mortem. They are only plotted, never used for
decisions, so an error here never stops the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from barostat.io.kubernetes.recording.live import PodRecorder
from barostat.io.mitigation.act_context import ActContext
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import Recording, ReplicaRecording, Scrape
from barostat.judge.mitigation.measurements import OF_ALL, OVER_TIME, Look, When, longer, look
from barostat.judge.mitigation.target_snapshot import TargetSnapshot


def before(ground: ActContext, seen: TargetSnapshot | None) -> None:
    """Add the observation of the target to the measurements before the change."""
    if seen is not None:
        with suppress(Exception):  # a bug in plotted data must not end a remedy
            for replica in seen.recording.replicas:
                _note(ground, _looks("before", seen.recording, replica))


@dataclass(slots=True)
class Following:
    """Follows the engines during one verification. Measurements are added to the ground's looks at
    once, so that an aborted verification keeps them.
    """

    ground: ActContext
    eye: PodRecorder
    _last: dict[str, Scrape] = field(default_factory=dict)
    _looks: dict[tuple[str, str], Look] = field(default_factory=dict)

    def take(self) -> None:
        """Add the scrapes since the last call."""
        with suppress(Exception):  # as above
            for pod, scraper in self.eye.scrapers.items():
                last = self._last.get(pod)
                new = [scrape for scrape in scraper.scrapes if last is None or scrape.at > last.at]
                if new:
                    self._add(pod, [*([last] if last is not None else []), *new], OVER_TIME)
                    self._last[pod] = new[-1]

    def end(self) -> None:
        """Add the figures of the whole measured period."""
        with suppress(Exception):  # as above
            for pod, scraper in self.eye.scrapers.items():
                if len(scraper.scrapes) > 1:
                    self._add(pod, [scraper.scrapes[0], scraper.scrapes[-1]], OF_ALL)

    def _add(self, pod: str, scrapes: list[Scrape], names: tuple[str, ...]) -> None:
        replica = ReplicaRecording(pod, scrapes=tuple(scrapes))
        recording = Recording("", scrapes[-1].at, (replica,))
        for found in _looks("after", recording, replica, names):
            held = self._looks.get((pod, found.engine))
            self._looks[pod, found.engine] = found if held is None else longer(held, found)
            _note(self.ground, [self._looks[pod, found.engine]])


def _looks(
    when: When,
    recording: Recording,
    replica: ReplicaRecording,
    names: Iterable[str] = (*OVER_TIME, *OF_ALL),
) -> Iterator[Look]:
    made = windows(recording, replica)[0]
    for engine, window in made.items():
        if (
            found := look(
                when, replica.name, engine if len(made) > 1 else "", window.signals, names
            )
        ) is not None:
            yield found


def _note(ground: ActContext, looks: Iterable[Look]) -> None:
    for found in looks:
        ground.looks[found.key] = found
