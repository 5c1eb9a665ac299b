"""Trials of the twin on all cores, their outlooks in the order asked. Ctrl-C ends it with what
there is.

Each worker has a pipe of its own and nothing is shared between them: one can be killed at any
moment and no lock stays held (`multiprocessing.Pool` waits for ever in `terminate` where it kills a
worker that is just answering).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from barostat.core.errors import OutsideError
from barostat.io.cores import usable_cores
from barostat.judge.experiments.outlook import Outlook
from barostat.judge.experiments.trials import Load, MadeOnce, Trial, run_trial
from barostat.twin.summary import Slo

Progress = Callable[[int, int], None]
"""Told after each trial: how many of this batch are done, of how many."""


class Cores:
    """Runs batches of trials. Mutable: `stopped` once somebody pressed Ctrl-C; from then on nothing
    is run.
    """

    def __init__(
        self, load: Load, slo: Slo, cores: int | None = None, on_progress: Progress | None = None
    ) -> None:
        self.stopped = False
        self.cores = cores or usable_cores()
        self._load, self._slo = MadeOnce(load), slo
        self._tell = on_progress or (lambda *_: None)
        self._workers: dict[Connection, BaseProcess] = {}

    def run(self, trials: Sequence[Trial]) -> list[Outlook | None]:
        """The outlook of each trial; None for those that were not run."""
        found: list[Outlook | None] = [None] * len(trials)
        if self.stopped:
            return found
        try:
            for done, (place, outlook) in enumerate(self._each(trials), 1):
                found[place] = outlook
                self._tell(done, len(trials))
        except KeyboardInterrupt:
            self.stopped = True
            self.close()
        return found

    def _each(self, trials: Sequence[Trial]) -> Iterator[tuple[int, Outlook]]:
        """Each trial's place and outlook, as they come."""
        if self.cores == 1 or len(trials) == 1:
            yield from (
                (place, run_trial(self._load, self._slo, trial))
                for place, trial in enumerate(trials)
            )
            return
        if not self._workers:
            self._workers = dict(self._begun() for _ in range(self.cores))
        left, busy = list(enumerate(trials))[::-1], set[Connection]()
        for pipe in list(self._workers)[: len(left)]:
            _ask(pipe, left.pop())
            busy.add(pipe)
        while busy:
            ready = wait(busy)
            for pipe in [one for one in busy if one in ready]:
                place, outlook = _answer_of(pipe)
                busy.discard(pipe)
                if left:
                    _ask(pipe, left.pop())
                    busy.add(pipe)
                yield place, outlook

    def _begun(self) -> tuple[Connection, BaseProcess]:
        context = get_context("fork") if sys.platform == "linux" else get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._load, self._slo), daemon=True)
        process.start()
        theirs.close()
        return ours, process

    def close(self) -> None:
        """No process of it is left."""
        for pipe, process in self._workers.items():
            process.kill()
            process.join()
            pipe.close()
        self._workers = {}


def _ask(pipe: Connection, what: tuple[int, Trial]) -> None:
    try:
        pipe.send(what)
    except OSError:
        raise _ended() from None


def _answer_of(pipe: Connection) -> tuple[int, Outlook]:
    try:
        place, found = pipe.recv()
    except (EOFError, OSError):
        raise _ended() from None
    if isinstance(found, Exception):
        raise found
    return place, found


def _ended() -> OutsideError:
    return OutsideError(
        "a process that ran trials was ended from outside (out of memory?): try again with "
        "more memory",
        retryable=True,
    )


def _work(pipe: Connection, load: Load, slo: Slo) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides what Ctrl-C means
    while True:
        try:
            place, trial = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((place, run_trial(load, slo, trial)))
        except Exception as error:
            pipe.send((place, error))
