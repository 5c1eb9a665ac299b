"""A recording of engines in a cluster: their servers looked at for a while, then their logs and all
that surrounds them.

What comes out is what a bundle of the same incident would give, so that everything that judges
bundles judges this.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from barostat.catalog.polling import FOR_S, INTERVAL_S
from barostat.core.errors import InputError, OutsideError
from barostat.core.redaction.credentials import arguments, environment
from barostat.core.units import many
from barostat.engines.vllm.logs import digest as vllm_logs
from barostat.engines.vllm.logs.digest import LogDigest
from barostat.io.bundles.bundle_writer import Logs, Recorded
from barostat.io.clock import Clock, SteadyClock
from barostat.io.engine_http.scrape_rounds import ScrapeRounds, whole_round_s
from barostat.io.engine_http.scraper import SCRAPE_S, THRIFTY_S, Scraper
from barostat.io.input_files.lines import NotText, lines
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.recording import gpu_tools
from barostat.io.kubernetes.recording.config_maps import from_config_maps
from barostat.io.kubernetes.recording.gateway_door import GatewayDoors
from barostat.io.kubernetes.recording.gateway_look import GatewayLook
from barostat.io.kubernetes.recording.pod_logs import LOG_S, read_log
from barostat.io.kubernetes.recording.pod_route import PodRoute
from barostat.io.kubernetes.recording.running_remedies import held_at, running_remedies
from barostat.io.kubernetes.recording.surroundings import Surroundings, missing, surroundings
from barostat.io.kubernetes.recording.target import Selection, Wanted, select
from barostat.judge.evidence.endpoint import endpoints
from barostat.judge.evidence.recording import GpuText, Recording, ReplicaRecording
from barostat.judge.mitigation.running_remedies import with_held_limits
from barostat.platform.objects import count, name_of, objects, text
from barostat.platform.pods import engine_container, image_version
from barostat.platform.workloads import kind_typed

LOG_BUDGET_BYTES = 12 << 20
"""Limit for all logs together; an unhealthy pod may use its whole share, however many pods there
are.
"""
SICK_LOG_BYTES = 2 << 20
LEAST_LOG_BYTES = 64 << 10
LOGS_S = 8.0
"""For all logs together: nodes that are gone would cost ten seconds for each of their pods."""
LOGS_AT_ONCE = 8
"""So that logs that hang leave room for all else."""
MANY = 40
"""From this many pods on, less is read from each, and logs are read during the window, because the
user waits for the result.
"""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """Recording options. `keep_logs`: a directory for the raw logs, for a bundle. `gateway`: its
    admin page, if it is not found. `only_sick_logs`: skip the logs of pods that are Ready, respond
    and have not restarted.
    """

    for_s: float = FOR_S
    interval_s: float = INTERVAL_S
    probe: bool = False
    exec_gpu_tools: bool = False
    keep_logs: Path | None = None
    gateway: str = ""
    only_sick_logs: bool = False


def record_pods(
    wanted: Wanted,
    options: Options,
    clock: Clock | None = None,
    on_progress: Progress | None = None,
) -> Recorded:
    """Record the pods and the cluster's state for `for_s` seconds. Read-only.

    Ctrl-C ends the recording early. Unresponsive pods and missing rights do not stop it.

    Errors: InputError for a missing target; OutsideError if the API server is unreachable.
    """
    watcher = PodRecorder(
        Cluster(find_access(wanted.kubeconfig, wanted.context)),
        wanted,
        options,
        clock or SteadyClock(),
        on_progress or (lambda _: None),
    )
    gateways = _gateways(watcher)
    with asyncio.Runner() as runner:
        try:
            runner.run(_both(watcher, gateways))
        except KeyboardInterrupt:
            if not watcher.scrapers:
                raise
            watcher.selection.problems.append("interrupted before the window was over")
        try:
            pages = runner.run(gateways.end()) if gateways is not None else ()
            recorded = runner.run(watcher.recording())
            if gateways is None:
                return recorded
            recording = replace(recorded.recording, gateway_pages=pages)
            held = runner.run(held_at(gateways.doors))
            remedies = with_held_limits(recording.remedies, held, recording.target)
            return Recorded(replace(recording, remedies=remedies), recorded.logs)
        finally:
            runner.run(watcher.close())


def _gateways(watcher: PodRecorder) -> GatewayLook | None:
    """A look at the gateways before the one workload that is meant; None for other targets."""
    wanted = watcher.wanted
    word, _, name = wanted.targets[0].partition("/") if len(wanted.targets) == 1 else ("", "", "")
    kind = kind_typed(word)
    if kind is None or kind.api.kind in ("Pod", "ReplicaSet") or wanted.selector:
        return None
    namespace = wanted.namespace or watcher.cluster.access.namespace
    doors = GatewayDoors(watcher.cluster, namespace, name, watcher.options.gateway)
    return GatewayLook(doors, watcher.clock, watcher.options.interval_s)


async def _both(watcher: PodRecorder, gateways: GatewayLook | None) -> None:
    """The engines' window, with the gateways looked at meanwhile."""
    if gateways is not None:
        await gateways.begin()
    await watcher.window()


def follow(wanted: Wanted, options: Options, clock: Clock | None = None) -> Iterator[Recording]:
    """A recording after every interval, over the last `for_s` seconds, until the caller stops
    asking; pods that come are taken in.
    """
    watcher = PodRecorder(
        Cluster(find_access(wanted.kubeconfig, wanted.context)),
        wanted,
        options,
        clock or SteadyClock(),
        lambda _: None,
    )
    with asyncio.Runner() as runner:
        try:
            turn = watcher.clock.now()
            while True:
                runner.run(watcher.choose_again() if watcher.scrapers else watcher.choose())
                runner.run(watcher.look(min(options.interval_s, SCRAPE_S)))
                for scraper in watcher.scrapers.values():
                    scraper.forget_before(watcher.clock.now() - options.for_s)
                yield runner.run(watcher.recording()).recording
                turn = max(turn + options.interval_s, watcher.clock.now())
                runner.run(asyncio.sleep(turn - watcher.clock.now()))
        finally:
            runner.run(watcher.close())


@dataclass(slots=True, repr=False)  # asyncio writes it out at every run, with all that it holds
class PodRecorder:
    """The pods, their scrapers, and the recording so far."""

    cluster: Cluster
    wanted: Wanted
    options: Options
    clock: Clock
    tell: Progress
    selection: Selection = field(default_factory=Selection)
    scrapers: dict[str, Scraper] = field(default_factory=dict)
    doors: dict[str, PodRoute] = field(default_factory=dict)
    _under_way: ScrapeRounds = field(default_factory=ScrapeRounds)
    _early: asyncio.Task[_Logs] | None = None

    async def choose(self) -> None:
        """The pods meant are those of now; each has what asks it."""
        self.tell("looking for pods")
        self.selection = await select(self.cluster, self.wanted, self.clock.now())
        for pod in self.selection.pods:
            name = self.name_of(pod)
            if name not in self.scrapers:
                door = PodRoute(
                    self.cluster,
                    text(pod, "metadata", "namespace"),
                    name_of(pod),
                    name,
                    endpoints(pod),
                )
                thrifty, known = len(self.selection.pods) >= MANY, image_version(pod) is not None
                self.doors[name], self.scrapers[name] = (
                    door,
                    Scraper(door, self.clock, thrifty=thrifty, version_known=known),
                )
        for gone in set(self.scrapers) - {self.name_of(pod) for pod in self.selection.pods}:
            del self.scrapers[gone], self.doors[gone]

    async def choose_again(self) -> None:
        """Select the pods again; keep the known ones if that fails."""
        try:
            await self.choose()
        except (InputError, OutsideError) as error:
            self.selection.problems = [*dict.fromkeys((*self.selection.problems, str(error)))]

    def name_of(self, pod: Object) -> str:
        """The replica's name: with its namespace where pods of several are looked at."""
        return (
            f"{text(pod, 'metadata', 'namespace')}/{name_of(pod)}"
            if self.wanted.all_namespaces
            else name_of(pod)
        )

    async def window(self) -> None:
        """Looks at the pods from now on until the time has passed."""
        await self.choose()
        self.tell(many(len(self.scrapers), "pod"))
        start = turn = self.clock.now()
        end = start + self.options.for_s
        first = True
        while True:
            whole_s = (
                whole_round_s(len(self.scrapers), THRIFTY_S + 0.5)
                if len(self.scrapers) >= MANY
                else SCRAPE_S
            )
            await self.look(
                whole_s
                if first or turn >= end
                else max(0.0, min(self.options.interval_s, end - turn))
            )
            if first and self.options.probe:
                self._under_way.send_tokens(self.scrapers.values())
            if first and len(self.scrapers) >= MANY:
                self._early = asyncio.create_task(self._logs())
            first = False
            if turn >= end or not any(scraper.answered for scraper in self.scrapers.values()):
                break
            turn = min(max(turn + self.options.interval_s, self.clock.now()), end)
            await asyncio.sleep(turn - self.clock.now())
        await self._under_way.settle()

    async def look(self, within_s: float) -> None:
        """Scrape every running pod; slow scrapes continue in the background."""
        running = [self.name_of(pod) for pod in self.selection.pods if _runs(pod)]
        await self._under_way.take(((name, self.scrapers[name]) for name in running), within_s)
        scraped = sum(len(scraper.scrapes) for scraper in self.scrapers.values())
        silent = sum(not scraper.answered for scraper in self.scrapers.values())
        self.tell(
            f"{many(len(self.scrapers), 'pod')}, {many(scraped, 'scrape')}"
            + (f", {many(silent, 'pod')} silent" if silent else "")
        )

    async def rest(self) -> None:
        """Nothing is under way any more; the cluster can be asked on."""
        await self._under_way.cancel()
        if self._early is not None:
            self._early.cancel()
            await asyncio.gather(self._early, return_exceptions=True)
        for door in self.doors.values():
            await door.close()

    async def close(self) -> None:
        """Nothing is open or under way any more."""
        await self.rest()
        await self.cluster.close()

    async def recording(self) -> Recorded:
        """Return the recording so far, with current logs and surroundings."""
        self.tell(f"{many(len(self.scrapers), 'pod')}: logs, events, nodes")
        with suppress(
            InputError, OutsideError
        ):  # the pods as they are at the end; those known before will do
            self.selection.pods = await self._again()
        pods = self.selection.pods
        around, logs, (exported, lacking), held = await asyncio.gather(
            surroundings(self.cluster, pods),
            self._early or self._logs(),
            gpu_tools.by_exporter(self.cluster, pods, self.clock),
            from_config_maps(self.cluster, {self.name_of(pod): pod for pod in pods}),
        )
        around.problems += held.problems
        tools = await self._tools(around) if self.options.exec_gpu_tools else {}
        for workload in self.selection.workloads:
            around.documents.setdefault(
                f"{text(workload, 'kind').lower()}s",
                {"apiVersion": "v1", "kind": "List", "items": [workload]},
            )
        at = round(self.clock.now(), 3)
        lacking += [
            *self.selection.lacking,
            *held.lacking,
            *around.lacking,
            *logs.lacking,
            *(right for door in self.doors.values() for right in door.lacking),
        ]
        problems = [
            *self.selection.problems,
            *around.problems,
            *logs.trouble(),
            self.clock.problem(),
        ]
        problems += [problem for scraper in self.scrapers.values() for problem in scraper.problems]
        replicas = [
            replace(self._replica(pod, logs, exported, tools), config_file=held.files.get(name))
            for name, pod in held.pods.items()
            if name in self.scrapers
        ]
        recording = Recording(
            target=(
                f"{self.wanted.spelled(self.wanted.namespace or self.cluster.access.namespace)} "
                f"({self.cluster.access.context})"
            ),
            at=at,
            replicas=tuple(replicas),
            kubernetes=around.documents,
            problems=tuple(dict.fromkeys(problem for problem in problems if problem)),
            missing=missing(lacking),
            remedies=await running_remedies(
                self.cluster, around.documents, self.selection.workloads
            ),
        )
        return Recorded(recording, Logs(current=logs.current, previous=logs.previous))

    async def _again(self) -> list[Object]:
        """The selected pods as they are now: those that came in the meantime are left to the next
        look.
        """
        known = {self.name_of(pod): pod for pod in self.selection.pods}
        found = (await select(self.cluster, self.wanted, self.clock.now())).pods
        return (
            [*known.values()]
            if not found
            else list(
                (
                    known | {self.name_of(pod): pod for pod in found if self.name_of(pod) in known}
                ).values()
            )
        )

    async def _tools(self, around: Surroundings) -> dict[str, GpuText]:
        found: dict[str, GpuText] = {}
        answers = await asyncio.gather(
            *(
                gpu_tools.by_tool(self.cluster, pod, self.clock)
                for pod in self.selection.pods
                if _runs(pod)
            )
        )
        for pod, answer in zip(
            [pod for pod in self.selection.pods if _runs(pod)], answers, strict=True
        ):
            if isinstance(answer, RequestFailed):
                around.trouble(answer)
            elif answer is not None:
                found[self.name_of(pod)] = answer
        return found

    async def _logs(self) -> _Logs:
        """The logs of every pod, current and (of a container that restarted) previous, within a
        budget: the sick ones first and longest.
        """
        logs = _Logs(self.options.keep_logs)
        share = max(LEAST_LOG_BYTES, LOG_BUDGET_BYTES // max(1, len(self.selection.pods)))
        seats = asyncio.Semaphore(LOGS_AT_ONCE)

        async def one(pod: Object) -> None:
            container = engine_container(pod)
            name, namespace = self.name_of(pod), text(pod, "metadata", "namespace")
            if container is None or not text(pod, "spec", "nodeName"):
                return
            restarts = _restarts(pod, container.name)
            sick = restarts > 0 or not _ready(pod) or bool(self.scrapers[name].failed)
            if self.options.only_sick_logs and not sick:
                return
            most = max(SICK_LOG_BYTES, share) if sick else share
            within_s = THRIFTY_S if len(self.scrapers) >= MANY else LOG_S
            for previous in (False, True) if restarts > 0 else (False,):
                async with seats:
                    found = await read_log(
                        self.cluster,
                        namespace,
                        name_of(pod),
                        container.name,
                        previous=previous,
                        most_bytes=most,
                        within_s=within_s,
                    )
                logs.take(name, found, previous=previous)

        reading = [
            asyncio.create_task(one(pod))
            for pod in self.selection.pods
            if self.name_of(pod) in self.scrapers
        ]
        if reading:
            done, late = await asyncio.wait(reading, timeout=LOGS_S)
            for task in late:
                task.cancel()
            for task in done:
                task.result()
            if late:
                logs.problems.append(
                    f"the logs of {len(late)} pods were not read: not all of it came "
                    f"within {LOGS_S:g} s"
                )
        return logs

    def _replica(
        self, pod: Object, logs: _Logs, exported: dict[str, GpuText], tools: dict[str, GpuText]
    ) -> ReplicaRecording:
        name = self.name_of(pod)
        scraper, container, node = (
            self.scrapers[name],
            engine_container(pod),
            text(pod, "spec", "nodeName"),
        )
        texts = [found for found in (exported.get(node), tools.get(name)) if found is not None]
        return ReplicaRecording(
            name=name,
            args=arguments(container.args) or None if container is not None else None,
            env=environment(container.env) if container is not None else {},
            node=node or None,
            scrapes=tuple(scraper.scrapes),
            failed_scrapes=tuple(scraper.failed),
            log=logs.digests.get(name),
            previous_log=logs.before.get(name),
            gpu_texts=tuple(texts),
            probe=scraper.probe if scraper.answered else None,
        )


class _Logs:
    """Logs as they come in: digested, and kept as files where they are wanted."""

    def __init__(self, keep: Path | None) -> None:
        self._keep = keep
        self.digests: dict[str, LogDigest] = {}
        self.before: dict[str, LogDigest] = {}
        self.current: dict[str, Path] = {}
        self.previous: dict[str, Path] = {}
        self.lacking: list[str] = []
        self.problems: list[str] = []
        self.unread: dict[str, list[str]] = {}

    def trouble(self) -> list[str]:
        """Return the problems, a sentence each; pods with the same problem share one."""
        told = [
            (
                "the log of "
                f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''} was not "
                f"read: {why}"
            )
            for why, names in self.unread.items()
        ]
        return [*self.problems, *told]

    def take(self, name: str, found: bytes | RequestFailed | None, *, previous: bool) -> None:
        """Keeps one log, or why it could not be read."""
        if found is None:
            return
        if isinstance(found, RequestFailed):
            if found.kind == "forbidden":
                self.lacking.append(found.right)
            else:
                self.unread.setdefault(found.why, []).append(name)
            return
        try:
            digest = vllm_logs.digest(
                lines(io.BytesIO(found)),
                source=f"{'previous ' if previous else ''}log of pod {name}",
            )
        except NotText as error:
            self.problems.append(f"the log of {name} was left out: it is {error.what}")
            return
        (self.before if previous else self.digests)[name] = digest
        if self._keep is not None:
            files = self.previous if previous else self.current
            files[name] = self._keep / f"{len(self.current) + len(self.previous)}.log"
            files[name].write_bytes(found)


def _runs(pod: Object) -> bool:
    """True if the engine's container runs now."""
    container = engine_container(pod)
    for status in objects(pod, "status", "containerStatuses"):
        if container is not None and text(status, "name") == container.name:
            return isinstance(status.get("state"), dict) and "running" in status["state"]
    return False


def _ready(pod: Object) -> bool:
    return any(
        found.get("type") == "Ready" and found.get("status") == "True"
        for found in objects(pod, "status", "conditions")
    )


def _restarts(pod: Object, container: str) -> int:
    found = [
        count(status, "restartCount")
        for status in objects(pod, "status", "containerStatuses")
        if text(status, "name") == container
    ]
    return found[0] or 0 if found else 0
