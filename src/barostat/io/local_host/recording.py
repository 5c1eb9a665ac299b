"""A recording of running engines: their servers, their log and their processes, looked at every few
seconds for a while.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from barostat.core.errors import InputError, OutsideError
from barostat.core.redaction.credentials import arguments, environment
from barostat.core.units import many
from barostat.engines.vllm.logs import digest as vllm_logs
from barostat.engines.vllm.logs.digest import LogDigest
from barostat.io.clock import Clock, SteadyClock
from barostat.io.engine_http.address import Address, address
from barostat.io.engine_http.route import DirectRoute
from barostat.io.engine_http.scrape_rounds import ScrapeRounds
from barostat.io.engine_http.scraper import SCRAPE_S, Scraper
from barostat.io.input_files.lines import NotText, lines
from barostat.io.local_host import processes
from barostat.io.local_host.listeners import engine_behind
from barostat.judge.evidence.recording import Recording, ReplicaRecording

LOG_SHARE = 0.2
"""At most this share of the time goes into reading a log again while watching."""
LOCAL_NAME = "local"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of a recording. `log` and `pid` belong to the first URL, or are used alone.
    `log_name`: the display name of a copied log.
    """

    urls: tuple[str, ...] = ()
    log: Path | None = None
    pid: int | None = None
    probe: bool = False
    log_name: str = ""


def record_engines(
    sources: Sources,
    for_s: float,
    interval_s: float,
    clock: Clock | None = None,
    on_progress: Progress | None = None,
) -> Recording:
    """Record the sources for `for_s` seconds; 0 takes a single sample. The first sample is
    immediate, the last at the end.

    Ctrl-C ends it early. A replica that does not respond has failed scrapes and does not stop the
    others.

    Errors: InputError for an invalid address, log or process; OutsideError if nothing can be read.
    """
    watcher = _EngineRecorder(sources, clock or SteadyClock(), on_progress or (lambda _: None))
    with asyncio.Runner() as runner:
        try:
            runner.run(watcher.window(for_s, interval_s))
        except KeyboardInterrupt:
            watcher.interrupted()
        finally:
            runner.run(watcher.close())
    return watcher.recording(final=True)


def follow(
    sources: Sources, window_s: float, interval_s: float, clock: Clock | None = None
) -> Iterator[Recording]:
    """Yield a recording after every interval, over the last `window_s` seconds, until the caller
    stops.

    Errors: as `record_engines`, for the first sample only; later, an engine that ends is part of
    the recording.
    """
    watcher = _EngineRecorder(sources, clock or SteadyClock(), lambda _: None)
    with asyncio.Runner() as runner:
        try:
            turn = watcher.clock.now()
            while True:
                runner.run(watcher.look(min(interval_s, SCRAPE_S)))
                watcher.forget_before(watcher.clock.now() - window_s)
                yield watcher.recording(final=False)
                turn = max(turn + interval_s, watcher.clock.now())
                runner.run(asyncio.sleep(turn - watcher.clock.now()))
        finally:
            runner.run(watcher.close())


@dataclass(slots=True)
class _Log:
    """A growing log file, digested again when that is worth the time."""

    path: Path
    name: str
    digest: LogDigest | None = None
    problem: str = ""
    _seen: tuple[int, int] = (-1, -1)
    _took_s: float = 0.0
    _ended: float = -1e9

    def read(self, *, final: bool) -> None:
        """The digest is that of the file as it is, or (unless `final`) of a moment ago."""
        started = time.monotonic()
        if (
            not final
            and self.digest is not None
            and started - self._ended < self._took_s / LOG_SHARE
        ):
            return
        try:
            state = self.path.stat()
            if (state.st_size, state.st_mtime_ns) == self._seen:
                return
            with self.path.open("rb") as file:
                self.digest = vllm_logs.digest(lines(file), source=self.name)
            self.problem = "" if state.st_size else f"{self.name} is empty"
            self._seen = (state.st_size, state.st_mtime_ns)
        except NotText as error:
            self.problem = f"{self.name} was left out: it is {error.what}"
        except OSError as error:
            self.problem = f"{self.name} cannot be read any more ({error.strerror})"
        self._ended = time.monotonic()
        self._took_s = self._ended - started


@dataclass(slots=True, repr=False)  # asyncio writes it out at every run, with all that it holds
class _EngineRecorder:
    """Everything that is looked at, and what it has shown."""

    sources: Sources
    clock: Clock
    tell: Progress
    scrapers: list[Scraper] = field(default_factory=list)
    log: _Log | None = None
    observer: processes.Observer | None = None
    problems: list[str] = field(default_factory=list)
    _under_way: ScrapeRounds = field(default_factory=ScrapeRounds)
    _looks: int = 0

    def __post_init__(self) -> None:
        wheres: dict[str, Address] = {}
        for url in self.sources.urls:
            where = address(url)
            wheres.setdefault(where.base, where)
        self.scrapers = [Scraper(DirectRoute(where), self.clock) for where in wheres.values()]
        if self.sources.log is not None:
            self.log = _Log(
                _readable(self.sources.log), self.sources.log_name or str(self.sources.log)
            )
        pid = self.sources.pid
        if pid is not None and processes.process(pid) is None:
            if not self.scrapers and self.log is None:
                raise InputError(
                    f"there is no process {pid}; give the one that started the engine", "--pid"
                )
            self.problems.append(f"there is no process {pid} (any more)")
            pid = None
        elif pid is None and len(wheres) == 1 and (only := next(iter(wheres.values()))).is_local:
            pid = engine_behind(only.port)
        self.observer = processes.Observer(pid) if pid is not None else None

    async def window(self, for_s: float, interval_s: float) -> None:
        """Looks at everything from now on until `for_s` seconds have passed."""
        start = self.clock.now()
        end = start + for_s
        turn = start
        while True:
            await self.look(
                SCRAPE_S
                if turn >= end or self._looks == 0
                else max(0.0, min(interval_s, end - turn))
            )
            if turn >= end or self._nothing_comes():
                break
            turn = min(max(turn + interval_s, self.clock.now()), end)
            await asyncio.sleep(turn - self.clock.now())
        await self._under_way.settle()

    async def look(self, within_s: float) -> None:
        """Sample everything once; a server slower than `within_s` continues in the background.

        Errors: OutsideError for the first sample if no server responds and there is nothing else to
        judge by.
        """
        if self.observer is not None:
            self.observer.look(self.clock.now())
        await self._under_way.take(
            ((scraper.where.base, scraper) for scraper in self.scrapers), within_s
        )
        self._looks += 1
        if self._looks == 1:
            self._give_up_early()
            if self.sources.probe:
                self._under_way.send_tokens(self.scrapers)
        scraped = sum(len(scraper.scrapes) for scraper in self.scrapers)
        failed = sum(len(scraper.failed) for scraper in self.scrapers)
        self.tell(many(scraped, "scrape") + (f", {failed} failed" if failed else ""))

    def _give_up_early(self) -> None:
        if not self.scrapers or self.log is not None or self.observer is not None:
            return
        sentences = [
            scraper.not_vllm
            or (f"{scraper.where.base} {scraper.hopeless}" if scraper.hopeless else "")
            for scraper in self.scrapers
        ]
        if all(sentences):
            raise OutsideError(
                "; ".join(sentences), retryable=all(scraper.may_pass for scraper in self.scrapers)
            )

    def _nothing_comes(self) -> bool:
        """True if no server listens and no process of the engine runs: what is there already is all
        there will be.
        """
        running = self.observer is not None and self.observer.ended_at is None
        return not running and all(scraper.hopeless for scraper in self.scrapers)

    def interrupted(self) -> None:
        """Ctrl-C came: what there is will be judged, if there is anything."""
        if (
            not any(scraper.scrapes or scraper.failed for scraper in self.scrapers)
            and self.log is None
        ):
            raise KeyboardInterrupt
        self.problems.append("interrupted before the window was over")

    def forget_before(self, at: float) -> None:
        for scraper in self.scrapers:
            scraper.forget_before(at)
        if self.observer is not None:
            self.observer.forget_before(at)

    async def close(self) -> None:
        """Nothing is open or under way any more."""
        await self._under_way.cancel()
        for scraper in self.scrapers:
            await scraper.close()

    def recording(self, *, final: bool) -> Recording:
        """Return the recording so far.

        Errors: OutsideError if this is the end and nothing answered in all the time.
        """
        if self.log is not None:
            self.log.read(final=final)
            if self.log.digest is None and not self.scrapers and self.observer is None:
                raise InputError(self.log.problem, "--log")
        if final and self.scrapers and self.log is None and self.observer is None:
            silent = [scraper for scraper in self.scrapers if not scraper.answered]
            if len(silent) == len(self.scrapers):
                raise OutsideError(
                    "; ".join(scraper.failed[-1][1] for scraper in silent if scraper.failed),
                    retryable=True,
                )
        at = round(self.clock.now(), 3)
        problems = list(self.problems)
        replicas = [
            self._replica(scraper, first=index == 0) for index, scraper in enumerate(self.scrapers)
        ] or [self._replica(None, first=True)]
        problems += [problem for scraper in self.scrapers for problem in scraper.problems]
        problems += [
            problem
            for problem in (self.clock.problem(), self.log.problem if self.log else "")
            if problem
        ]
        if self.observer is not None and self.observer.ended_at is not None:
            problems.append(
                f"the process {self.observer.pid} ended {at - self.observer.ended_at:.0f} "
                "s before the end of the window"
            )
        target = ", ".join(scraper.where.base for scraper in self.scrapers) or str(
            self.sources.log_name or self.sources.log or f"process {self.sources.pid}"
        )
        return Recording(
            target=target, at=at, replicas=tuple(replicas), problems=tuple(dict.fromkeys(problems))
        )

    def _replica(self, scraper: Scraper | None, *, first: bool) -> ReplicaRecording:
        observer = self.observer if first else None
        log = self.log if first else None
        name = scraper.where.name if scraper else log.path.stem if log else LOCAL_NAME
        return ReplicaRecording(
            name=name,
            args=arguments(observer.args) or None if observer else None,
            env=environment(observer.env) if observer else {},
            scrapes=tuple(scraper.scrapes) if scraper else (),
            failed_scrapes=tuple(scraper.failed) if scraper else (),
            log=log.digest if log else None,
            host=tuple(observer.readings) if observer else (),
            probe=scraper.probe if scraper and scraper.answered else None,
            exit_code=observer.exit_code if observer else None,
        )


def _readable(path: Path) -> Path:
    """The path, if a log can be read there.

    Errors: InputError.
    """
    try:
        if not path.exists():
            raise InputError(
                "there is no such file; give the file that the engine's output goes to", str(path)
            )
        if path.is_dir():
            raise InputError(
                "a directory, not a log; a recorded bundle is read with --bundle", str(path)
            )
        if not path.is_file():
            raise InputError("neither a file nor a directory", str(path))
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path)) from None
    if re.match(rb"# (?:HELP|TYPE) |vllm:\w+[{ ]", head):
        raise InputError("a scrape of /metrics, not a log; it is read with --bundle", str(path))
    if re.match(rb'\{\s*"(?:apiVersion|kind|items)"\s*:', head):
        raise InputError(
            "what kubectl prints, not a log; it is read with --bundle, under the name "
            "pods.json, events.json, ...",
            str(path),
        )
    return path
