"""Trials of the twin on all cores, their outlooks in the order asked. Ctrl-C ends it with what there is."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.pool import Pool

from barostat.judge.outlook import Outlook
from barostat.judge.trials import Load, MadeOnce, Trial, run_trial
from barostat.twin.summary import Slo

Progress = Callable[[int, int], None]
"""Told after each trial: how many of this batch are done, of how many."""

_WORK: list[tuple[Load, Slo]] = []  # a worker's own: what each of its trials is run on


class Cores:
    """Runs batches of trials. Mutable: `stopped` once somebody pressed Ctrl-C; from then on nothing is run."""

    def __init__(self, load: Load, slo: Slo, cores: int | None = None, on_progress: Progress | None = None) -> None:
        self.stopped = False
        self.cores = cores or _usable_cores()
        self._load, self._slo = MadeOnce(load), slo
        self._tell = on_progress or (lambda *_: None)
        self._pool: Pool | None = None

    def run(self, trials: Sequence[Trial]) -> list[Outlook | None]:
        """The outlook of each trial; None for those that were not run."""
        found: list[Outlook | None] = [None] * len(trials)
        if self.stopped:
            return found
        try:
            for place, outlook in enumerate(self._each(trials)):
                found[place] = outlook
                self._tell(place + 1, len(trials))
        except KeyboardInterrupt:
            self.stopped = True
            self.close()
        return found

    def _each(self, trials: Sequence[Trial]) -> Iterator[Outlook]:
        if self.cores == 1 or len(trials) == 1:
            return (run_trial(self._load, self._slo, trial) for trial in trials)
        if self._pool is None:
            method = "fork" if sys.platform == "linux" else "spawn"
            self._pool = multiprocessing.get_context(method).Pool(self.cores, _begin, (self._load, self._slo))
        return self._pool.imap(_one, trials)

    def close(self) -> None:
        """No process of it is left."""
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()
            self._pool = None


def _begin(load: Load, slo: Slo) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides what Ctrl-C means
    _WORK[:] = [(load, slo)]


def _one(trial: Trial) -> Outlook:
    load, slo = _WORK[0]
    return run_trial(load, slo, trial)


def _usable_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
