"""Every vLLM of the cluster or the namespace: its pods followed, its pages kept, its workload
judged.

A verdict costs a hundred times what a scrape does. So each page is first held against the one
before it (`glance.py`); `schedule.py` says whose verdict is due.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from barostat.catalog.metric_names import RUNNING
from barostat.core.errors import InputError, OutsideError
from barostat.core.redaction.credentials import arguments, environment
from barostat.core.units import many
from barostat.io.clock import Clock
from barostat.io.engine_http.address import address
from barostat.io.engine_http.http import MAX_BODY_BYTES, Answer, Failure
from barostat.io.engine_http.route import DirectRoute, EngineRoute
from barostat.io.engine_http.scrape_rounds import ScrapeRounds
from barostat.io.engine_http.scraper import Scraper
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import POD_METRICS, PODS
from barostat.io.kubernetes.client.watching import Changed, Relisted, watch
from barostat.io.kubernetes.recording.live import Options, PodRecorder
from barostat.io.kubernetes.recording.pod_route import PodRoute
from barostat.io.kubernetes.recording.target import Selection, Wanted, might_serve
from barostat.judge.evidence.endpoint import Endpoint, endpoints, serves
from barostat.judge.evidence.recording import Recording, ReplicaRecording, Scrape
from barostat.operator.glance import Glance, Usual, worse
from barostat.operator.pages import wanted_part
from barostat.operator.predictions import MemoryTrend, PoolLook, pool_fills_in_s
from barostat.operator.prometheus_pages import PodName, PrometheusPages
from barostat.operator.schedule import RISING_S, Schedule
from barostat.operator.step import Key
from barostat.platform.objects import instant, is_going, mapping, name_of, objects, quantity, text
from barostat.platform.pods import engine_container, image_version, looks_like_vllm
from barostat.platform.workload import workload_of
from barostat.platform.workloads import kind_named
from barostat.remedy.annotations import LABELS, PREVIOUS, SPARE

WINDOW_S = 60.0
"""Retention of each engine's scrapes: the window of `diagnose`, plus the left end of a rate."""
RELIST_S = 600.0
STARTING_S = 900.0
"""An engine that has not answered yet may be loading its model for this long."""
PROBE_AGAIN_S = 600.0
DEEP_S = 12.0
"""For the logs and surroundings of a workload that is harmed. Detection waits for it."""
LOOKS_KEPT = 60
"""Ten minutes at the usual interval."""
MEMORY_KEPT = 288
MEMORY_EVERY_S = 300.0
_DIRECT_PORT_S = 3.0


@dataclass(slots=True)
class LeanRoute:
    """A route that keeps of each metrics page only what a diagnosis reads, and the last glance."""

    inner: EngineRoute
    glance: Glance | None = None
    before: Glance | None = None

    @property
    def base(self) -> str:
        """That of the route itself."""
        return self.inner.base

    @property
    def name(self) -> str:
        """That of the route itself."""
        return self.inner.name

    def at(self, path: str) -> str:
        """That of the route itself."""
        return self.inner.at(path)

    async def ask(
        self, path: str, *, within_s: float, post: Any = None, max_bytes: int = MAX_BODY_BYTES
    ) -> Answer | Failure:
        """The answer; a metrics page without what is not read."""
        found = await self.inner.ask(path, within_s=within_s, post=post, max_bytes=max_bytes)
        if path != "/metrics" or not isinstance(found, Answer) or found.status != 200:
            return found
        lean = wanted_part(found.body)
        self.seen(lean)
        return replace(found, body=lean)

    def seen(self, page: bytes) -> None:
        """Take the glance of a page."""
        self.before, self.glance = self.glance, Glance.of(page)

    async def close(self) -> None:
        """Close all connections."""
        await self.inner.close()


@dataclass(slots=True)
class PodAddressRoute:
    """An engine by the address of its pod: no load on the API server. The first port that shows
    vLLM's metrics is kept.
    """

    ip: str
    name: str
    candidates: tuple[Endpoint, ...]
    _chosen: DirectRoute | None = None

    @property
    def base(self) -> str:
        """The URL without an endpoint."""
        return self._route(self.candidates[0]).base if self._chosen is None else self._chosen.base

    def at(self, path: str) -> str:
        """The URL of an endpoint."""
        return f"{self.base}{path}"

    async def ask(
        self, path: str, *, within_s: float, post: Any = None, max_bytes: int = MAX_BODY_BYTES
    ) -> Answer | Failure:
        """The answer within the time."""
        if self._chosen is not None:
            return await self._chosen.ask(path, within_s=within_s, post=post, max_bytes=max_bytes)
        first: Answer | Failure | None = None
        for candidate in self.candidates[:3]:
            route = self._route(candidate)
            found = await route.ask(
                path, within_s=min(within_s, _DIRECT_PORT_S), post=post, max_bytes=max_bytes
            )
            if isinstance(found, Answer) and found.status == 200 and b"vllm:" in found.body:
                self._chosen = route
                return found
            await route.close()
            first = first or found
        return first or Failure("unreachable", "names no port to ask")

    async def close(self) -> None:
        """Close the connections."""
        if self._chosen is not None:
            await self._chosen.close()

    def _route(self, candidate: Endpoint) -> DirectRoute:
        host = f"[{self.ip}]" if ":" in self.ip else self.ip
        return DirectRoute(address(f"{candidate.scheme}://{host}:{candidate.port}"))


@dataclass(slots=True)
class Engine:
    """One engine's pod, what asks it, and the workload that it belongs to."""

    pod: Object
    key: Key
    route: LeanRoute
    scraper: Scraper
    usual: Usual = field(default_factory=Usual)
    memory: list[tuple[float, float]] = field(default_factory=list)
    looks: deque[PoolLook] = field(default_factory=lambda: deque(maxlen=LOOKS_KEPT))
    failed_before: bool = False

    @property
    def name(self) -> str:
        """The pod's name."""
        return name_of(self.pod)

    def due(self) -> bool:
        """True if its newest page, or that none came, may be harm. Ask once after each look."""
        failed = bool(self.scraper.failed) and (
            not self.scraper.scrapes or self.scraper.failed[-1][0] > self.scraper.scrapes[-1].at
        )
        changed = failed or self.failed_before
        self.failed_before = failed
        if self.route.before is None or self.route.glance is None:
            return changed
        return worse(self.route.before, self.route.glance, self.usual) or changed

    @property
    def newest_at(self) -> float:
        """The instant of its newest page, unix seconds; minus infinity if it has none."""
        return self.scraper.scrapes[-1].at if self.scraper.scrapes else float("-inf")

    def remember(self, pages: Sequence[Scrape]) -> None:
        """Keep pages that are newer than its own."""
        for page in pages:
            self.route.seen(page.text.encode())
            self.scraper.scrapes.append(page)

    def remember_pool(self) -> None:
        """Keep the pool's usage and the running requests of the newest page, for trends over
        minutes.
        """
        glance, scrapes = self.route.glance, self.scraper.scrapes
        if (
            glance is not None
            and scrapes
            and (not self.looks or self.looks[-1].at < scrapes[-1].at)
        ):
            usage = glance.usage / max(1.0, glance.engines)
            self.looks.append(PoolLook(scrapes[-1].at, usage, glance.get(RUNNING)))

    def readable(self, now: float) -> bool:
        """True if it can be judged: rates take two pages; one that fails takes none."""
        enough = len(self.scraper.scrapes) > 1 or bool(self.scraper.failed)
        return enough and not self.starting(now)

    def starting(self, now: float) -> bool:
        """True if it has never answered and may be loading its model."""
        if self.scraper.scrapes or _restarted(self.pod):
            return False
        born = instant(self.pod, "metadata", "creationTimestamp")
        return born is None or now - born < STARTING_S


def _restarted(pod: Object) -> bool:
    return any(
        (status.get("restartCount") or 0) > 0
        for status in objects(pod, "status", "containerStatuses")
    )


@dataclass(slots=True, repr=False)
class Engines:
    """All visible engines. `namespace`: None for the whole cluster. `direct`: engines are scraped at
    their pods' addresses, else through the API server. `prometheus`: read first; only engines that
    it does not know are scraped.

    `mine`: whether a workload is in the shard that is watched. `listed`: the pods were read at least
    once, and not too long ago.
    """

    cluster: Cluster
    namespace: str | None
    clock: Clock
    direct: bool
    selector: str
    tell: Callable[[str], None]
    engines: dict[str, Engine] = field(default_factory=dict)
    mine: Callable[[Key], bool] = lambda _: True
    listed: asyncio.Event = field(default_factory=asyncio.Event)
    prometheus: PrometheusPages | None = None
    trouble: str = ""
    scrapes: int = 0
    from_prometheus: int = 0
    failed_scrapes: int = 0
    schedule: Schedule = field(default_factory=Schedule)
    _unlike: dict[str, float] = field(default_factory=dict)
    _maybe: dict[str, Object] = field(default_factory=dict)
    _looks: ScrapeRounds = field(default_factory=ScrapeRounds)
    _task: asyncio.Task[None] | None = None
    _memory_at: float = float("-inf")

    async def start(self) -> None:
        """Follow the pods from now on."""
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Nothing is followed or asked any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._looks.cancel()
        for engine in self.engines.values():
            await engine.route.close()
        self.engines.clear()
        if self.prometheus is not None:
            await self.prometheus.close()

    # --- pods

    async def _follow(self) -> None:
        while True:
            try:
                async for event in watch(
                    self.cluster, PODS, self.namespace, labels=self.selector, for_s=RELIST_S
                ):
                    await self._taken(event)
            except (InputError, OutsideError) as error:
                self._troubled(str(error))
            await asyncio.sleep(1.0)

    def _troubled(self, why: str) -> None:
        if why != self.trouble:
            self.trouble = why
            self.tell(why)

    async def _taken(self, event: Relisted | Changed | RequestFailed) -> None:
        match event:
            case RequestFailed():
                self._troubled(event.why)
                if not event.may_pass:
                    await asyncio.sleep(10.0)
                return
            case Relisted(items):
                present = {text(pod, "metadata", "uid") for pod in items}
                for uid in {*self.engines, *self._maybe, *self._unlike} - present:
                    await self._lost(uid)
                for pod in items:
                    await self._came(pod)
                self.listed.set()
            case Changed(pod, gone):
                if gone:
                    await self._lost(text(pod, "metadata", "uid"))
                else:
                    await self._came(pod)
        self.trouble = ""

    async def _came(self, pod: Object) -> None:
        uid = text(pod, "metadata", "uid")
        over = text(pod, "status", "phase") in ("Succeeded", "Failed")
        labels = mapping(pod, "metadata", "labels")
        spare = SPARE in labels or PREVIOUS in labels
        taken_out = LABELS in mapping(pod, "metadata", "annotations")
        if (
            is_going(pod)
            or over
            or spare
            or taken_out
            or not serves(pod)
            or not self.mine(_key(pod))
        ):
            await self._lost(uid)
        elif uid in self.engines:
            known = self.engines[uid]
            known.pod = _trimmed(pod)
            if self.direct and text(pod, "status", "podIP") != _ip_of(known.route.inner):
                await self._lost(uid)
                await self._came(pod)
        elif looks_like_vllm(pod):
            self._add(uid, pod)
        elif might_serve(pod):
            self._maybe[uid] = _trimmed(pod)

    async def _lost(self, uid: str) -> None:
        self._maybe.pop(uid, None)
        self._unlike.pop(uid, None)
        if (engine := self.engines.pop(uid, None)) is not None:
            await engine.route.close()

    def _add(self, uid: str, pod: Object) -> None:
        if self.direct and not text(pod, "status", "podIP"):
            return  # the watch says when it has an address
        trimmed = _trimmed(pod)
        route = LeanRoute(self._route(trimmed))
        known = image_version(pod) is not None
        scraper = Scraper(route, self.clock, thrifty=True, version_known=known)
        self.engines[uid] = Engine(trimmed, _key(trimmed), route, scraper)

    def _route(self, pod: Object) -> EngineRoute:
        namespace, name = text(pod, "metadata", "namespace"), name_of(pod)
        places = endpoints(pod)
        if self.direct:
            return PodAddressRoute(text(pod, "status", "podIP"), f"{namespace}/{name}", places)
        return PodRoute(self.cluster, namespace, name, name, places, may_forward=False)

    async def _guess(self) -> None:
        """Pods that may be engines under another name are probed occasionally."""
        now = self.clock.now()

        async def one(uid: str, pod: Object) -> None:
            answer = await self._route(pod).ask("/metrics", within_s=_DIRECT_PORT_S)
            if isinstance(answer, Answer) and answer.status == 200 and b"vllm:" in answer.body:
                self._maybe.pop(uid, None)
                self._add(uid, pod)
            elif isinstance(answer, Answer):
                self._unlike[uid] = now

        due = [
            (uid, pod)
            for uid, pod in self._maybe.items()
            if now - self._unlike.get(uid, float("-inf")) > PROBE_AGAIN_S
            and _running(pod)
            and not (self.direct and not text(pod, "status", "podIP"))
        ]
        await asyncio.gather(*(one(uid, pod) for uid, pod in due[:50]))

    # --- looking

    async def look(self, within_s: float) -> None:
        """Read every running engine once: from Prometheus where it knows the engine, else by a
        scrape; slow ones continue in the background.
        """
        await self._guess()
        running = [(uid, one) for uid, one in self.engines.items() if _running(one.pod)]
        known = await self._from_prometheus([one for _, one in running], within_s / 2)
        asked = [(uid, one) for uid, one in running if (one.key.namespace, one.name) not in known]
        await self._looks.take(((uid, one.scraper) for uid, one in asked), within_s)
        now = self.clock.now()
        for _, engine in running:
            engine.scraper.forget_before(now - WINDOW_S)
            engine.remember_pool()
            failed = engine.scraper.failed
            self.failed_scrapes += bool(failed) and failed[-1][0] > now - within_s
        self.scrapes += len(asked)
        self.from_prometheus += len(known)
        await self._read_memory(now)

    async def _from_prometheus(
        self, running: Sequence[Engine], within_s: float
    ) -> Collection[PodName]:
        """The engines that need no scrape. One whose version its image does not tell is scraped
        once.
        """
        if self.prometheus is None:
            return ()
        named = {
            (one.key.namespace, one.name): one
            for one in running
            if one.scraper.version_known or one.scraper.probe is not None
        }
        known = {pod: one.newest_at for pod, one in named.items()}
        found = await self.prometheus.newest(known, self.clock.now(), within_s)
        for pod, scrapes in found.items():
            named[pod].remember(scrapes)
        return found.keys()

    def due(self, asked: Collection[Key], harmed: Collection[Key], now: float) -> list[Key]:
        """Return the workloads that are due for a verdict, the most urgent first. `asked`: an alert
        fires for them. `harmed`: they have an open incident. Call once after each round of scrapes;
        workloads that are not judged stay due.
        """
        present = self.workloads()
        self.schedule.keep_only(present)
        for key in present.intersection(asked):
            self.schedule.ask(key, now)
        for key in present.intersection(harmed):
            self.schedule.worsened(key, now)
        for engine in self.engines.values():
            if engine.due() or (
                self.schedule.age_s(engine.key, now) > RISING_S
                and pool_fills_in_s(tuple(engine.looks)) is not None
            ):
                self.schedule.worsened(engine.key, now)
        return self.schedule.due(
            {engine.key for engine in self.engines.values() if engine.readable(now)}, now
        )

    def workloads(self) -> set[Key]:
        """Every workload that has an engine."""
        return {engine.key for engine in self.engines.values()}

    def of(self, key: Key) -> list[Engine]:
        """The engines of a workload."""
        return [engine for engine in self.engines.values() if engine.key == key]

    def recording(self, key: Key) -> Recording | None:
        """Return a recording of the workload's engines; None if none was scraped yet."""
        now = self.clock.now()
        own = [engine for engine in self.of(key) if engine.readable(now)]
        if not own:
            return None
        return Recording(
            str(key),
            round(now, 3),
            tuple(_replica(engine) for engine in own),
            kubernetes={"pods": {"kind": "List", "items": [engine.pod for engine in own]}},
        )

    async def deep_recording(self, key: Key) -> Recording | None:
        """The same with logs, events, nodes and rollouts; None if they did not come in time."""
        now = self.clock.now()
        own = [engine for engine in self.of(key) if engine.readable(now)]
        kind = kind_named(key.kind)
        if not own or kind is None:
            return None
        recorder = PodRecorder(
            self.cluster,
            Wanted((kind.typed(key.name),), namespace=key.namespace),
            Options(for_s=0.0),
            self.clock,
            lambda _: None,
            Selection(pods=[dict(engine.pod) for engine in own]),
            {engine.name: engine.scraper for engine in own},
        )
        try:
            async with asyncio.timeout(DEEP_S):
                return (await recorder.recording()).recording
        except (TimeoutError, InputError, OutsideError) as error:
            self.tell(f"{key}: judged without logs and events: {str(error) or 'no time left'}")
            return None

    # --- host memory

    async def _read_memory(self, now: float) -> None:
        """The containers' memory, from the metrics API where the cluster has one."""
        if now - self._memory_at < MEMORY_EVERY_S:
            return
        self._memory_at = now
        found = await self.cluster.list(POD_METRICS, self.namespace, within_s=5.0)
        if isinstance(found, RequestFailed):
            return
        used: dict[tuple[str, str], float] = {}
        for item in found.items:
            sizes = [
                quantity(mapping(one, "usage").get("memory")) for one in objects(item, "containers")
            ]
            used[text(item, "metadata", "namespace"), name_of(item)] = sum(
                one or 0.0 for one in sizes
            )
        for engine in self.engines.values():
            size = used.get((engine.key.namespace, engine.name))
            if size is not None:
                engine.memory = [*engine.memory[-(MEMORY_KEPT - 1) :], (now, size)]

    def looks(self, key: Key) -> dict[str, tuple[PoolLook, ...]]:
        """The pools of the workload's replicas over the last minutes."""
        return {engine.name: tuple(engine.looks) for engine in self.of(key)}

    def memory(self, key: Key) -> dict[str, MemoryTrend]:
        """Host memory of the workload's replicas whose limit is known."""
        found = {}
        for engine in self.of(key):
            container = engine_container(engine.pod)
            limit = container.memory_limit_bytes if container is not None else None
            if limit is not None and engine.memory:
                found[engine.name] = MemoryTrend(tuple(engine.memory), limit)
        return found

    def summary(self) -> str:
        """A line for a person."""
        return f"{many(len(self.engines), 'engine')} of {many(len(self.workloads()), 'workload')}"


def _replica(engine: Engine) -> ReplicaRecording:
    container, scraper = engine_container(engine.pod), engine.scraper
    return ReplicaRecording(
        name=engine.name,
        args=arguments(container.args) or None if container is not None else None,
        env=environment(container.env) if container is not None else {},
        node=text(engine.pod, "spec", "nodeName") or None,
        scrapes=tuple(
            replace(scrape) for scrape in scraper.scrapes
        ),  # unread: what is read is large
        failed_scrapes=tuple(scraper.failed),
        probe=scraper.probe if scraper.answered else None,
    )


def _trimmed(pod: Object) -> Object:
    """The pod reduced to what is read: managed fields are a third of it."""
    metadata = {key: one for key, one in mapping(pod, "metadata").items() if key != "managedFields"}
    return {**pod, "metadata": metadata}


def _key(pod: Object) -> Key:
    namespace = text(pod, "metadata", "namespace")
    found = workload_of({"pods": {"kind": "List", "items": [pod]}}, pod)
    if found is None or kind_named(found.kind) is None:
        return Key(namespace, "Pod", name_of(pod))
    return Key(found.namespace or namespace, found.kind, found.name)


def _ip_of(route: EngineRoute) -> str:
    return route.ip if isinstance(route, PodAddressRoute) else ""


def _running(pod: Object) -> bool:
    return text(pod, "status", "phase") == "Running"
