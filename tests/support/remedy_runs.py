"""Remedies carried out on the little Kubernetes, minutes within a second: as they are in a cluster,
through the same requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import httpx
from tests.support.little_api_server import LittleApiServer
from tests.support.little_kubernetes import (
    BUSY,
    HOME,
    NAMESPACE,
    NEW,
    OLD,
    LittleKubernetes,
    Object,
)
from tests.support.remedy_dialogue import GOOD
from tests.support.virtual_time import virtual_time

from barostat.core.change import ConfigChange, Expect, Expectation
from barostat.io.clock import SteadyClock
from barostat.io.engine_http.http import Failure
from barostat.io.kubernetes.client.cluster import Cluster, Reply
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.kubernetes.client.login import Credential
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.campaign import Campaign
from barostat.io.mitigation.driver import Driver, new_holder
from barostat.io.mitigation.store import Store
from barostat.judge.manifest_edit.config_change import digest
from barostat.platform.workloads import WorkloadKind, kind_named
from barostat.platform.workloads import marks as marks_of
from barostat.remedy.plan import RemedyPlan, Strategy, Target
from barostat.remedy.precheck import Facts
from barostat.remedy.state import Aborted, Began, Event, Resumed, State

T = TypeVar("T")
ACCESS = ClusterAccess("http://little", namespace=NAMESPACE)
LIMITS = "apiVersion: barostat.dev/v1alpha1\n"


class Killed(BaseException):
    """The program is dead: nothing more of it runs."""


class Mortal(Cluster):
    """A cluster as seen by a program that dies at its `dies_at`th write of an act, before it is
    sent, or (`late`) when it took effect.

    Records, events and the renewal of the claim are no acts.
    """

    def __init__(self, access: ClusterAccess, dies_at: int, *, late: bool = False) -> None:
        super().__init__(access)
        self.dies_at, self.late, self.acts = dies_at, late, 0
        self.died = asyncio.Event()

    async def exchange(self, method: str, path: str, **more: Any) -> Reply | Failure:
        """As the real one, while it lives."""
        if self.died.is_set():
            raise Killed
        self.acts += is_act(method, path, more)
        if self.acts == self.dies_at:
            if self.late:
                await super().exchange(method, path, **more)
            self.died.set()
            raise Killed
        return await super().exchange(method, path, **more)


def is_act(method: str, path: str, asked: Mapping[str, Any]) -> bool:
    """True for a write that is no record, no event, no question and no claim."""
    content = asked.get("content") or b""
    aside = b"incident.json" in content or (method == "PATCH" and b"barostat.dev/claim" in content)
    question = "accessreviews" in path or "dryRun" in (asked.get("params") or {})
    return method != "GET" and not aside and not question and "/events" not in path


def by(cluster: Cluster, api: LittleApiServer) -> Cluster:
    """The same, with that server at the other end."""
    session = httpx.AsyncClient(transport=api, base_url="http://little")
    cluster._session, cluster._credential = session, Credential()
    return cluster


@dataclass(slots=True)
class Scene:
    """A little Kubernetes that is up."""

    kube: LittleKubernetes
    api: LittleApiServer
    told: list[str] = field(default_factory=list)

    @property
    def kind(self) -> WorkloadKind:
        """Of the workload."""
        found = kind_named(self.kube.kind)
        assert found is not None
        return found

    def campaign(self) -> Campaign:
        """Of `mitigate` and the verbs beside it, on this Kubernetes; what it says is in `told`."""
        api = by(Cluster(ACCESS), self.api)
        return Campaign(api, NAMESPACE, "", Options(), SteadyClock(), self.told.append)

    def plan(self, strategy: Strategy = "spare", **more: Any) -> RemedyPlan:
        """The plan that lowers --max-num-seqs."""
        home, replicas = self.kube.home, self.kind.replicas(self.kube.home)
        expects = (Expect("preemptions_per_s", "zero", 0.01),)
        plan = RemedyPlan(
            id="i1",
            made_at=0.0,
            target=Target(
                self.kind.api.api_version,
                self.kind.api.kind,
                NAMESPACE,
                HOME,
                home["metadata"]["uid"],
            ),
            cause="kv-preemption-thrash",
            lever="max-num-seqs",
            change=ConfigChange("argument", "--max-num-seqs", OLD, NEW),
            expectation=Expectation(
                expects, load_signals=("running_requests",), load_ratio=0.5, sustained_s=20.0
            ),
            strategy=strategy,
            replicas=replicas,
            serving=replicas,
            floor=self.kube.floor,
            baseline=(("preemptions_per_s", 50.0), ("running_requests", float(BUSY))),
            template=digest(self.kind.source(home)),
            because="a test",
            autonomy="act",
            parent=self.marks.get("barostat.dev/ended", ""),
            rolls=self.kind.rolls or "spares",
        )
        return replace(plan, **more)

    async def run(
        self, state: State, *, abort: str = "", cluster: Cluster | None = None
    ) -> State | None:
        """How the run ended; None where it was killed. One that has been recorded is resumed."""
        own = by(cluster or Cluster(ACCESS), self.api)
        clock = SteadyClock()
        driver = Driver(
            ActContext(own, state.plan, clock),
            Store(own, NAMESPACE),
            self.gather(state.plan),
            LIMITS,
            self.told.append,
        )
        first: list[Event] = [
            Resumed(clock.now(), new_holder())
            if state.revision
            else Began(clock.now(), new_holder())
        ]
        if abort:
            first.append(Aborted(clock.now(), abort))
        return await unless_killed(driver.run(state, *first), own)

    async def taken_up(self, state: State, mortal: Cluster, abort: str) -> State:
        """How it ended: where that run was killed, another one went on with it or ended it."""
        ended = await self.run(state, cluster=mortal)
        if ended is None:
            ended = await self.run(await self.recorded(), abort=abort)
            assert ended is not None
        return ended

    def gather(self, plan: RemedyPlan) -> Any:
        """Facts that allow the plan."""

        async def facts() -> Facts:
            now = SteadyClock().now()
            return replace(
                GOOD,
                at=now,
                evidence_at=now,
                replicas=plan.replicas,
                serving=plan.serving,
                template=plan.template,
            )

        return facts

    async def recorded(self) -> State:
        """What another run would read."""
        state, _ = await Store(by(Cluster(ACCESS), self.api), NAMESPACE).read("i1")
        return state

    async def left(self) -> list[str]:
        """What a remedy left behind, when everything has come to rest."""
        await asyncio.sleep(30.0)
        kube = self.kube
        found = [
            f"deployment {item['metadata']['name']}"
            for item in kube.all("deployments")
            if item is not kube.home and not kube.is_made(item)
        ]
        found += [
            f"{key} on home"
            for key in self.marks
            if key in ("barostat.dev/claim", "barostat.dev/former")
        ]
        for pod in filter(self.kind.answers, kube.all("pods")):
            name = pod["metadata"]["name"]
            found += [] if kube.is_listed(pod) else [f"pod {name} out of rotation"]
            found += [
                f"{key} on {name}"
                for key in marks(pod)
                if key.endswith(("/labels", "/pod-deletion-cost"))
            ]
        answering = [pod for pod in kube.all("pods") if self.kind.answers(pod)]
        wanted = self.kind.replicas(kube.home)
        if len(answering) != wanted:
            found.append(f"{len(answering)} pods, {wanted} are asked for")
        return found

    @property
    def marks(self) -> Mapping[str, str]:
        """What remedies have written on home."""
        return marks_of({**self.kube.home, "kind": self.kube.kind})

    @property
    def value(self) -> str:
        """What --max-num-seqs is in home's template."""
        return str(self.kind.template(self.kube.home)["spec"]["containers"][0]["args"][-1])


async def unless_killed(what: Coroutine[Any, Any, T], cluster: Cluster) -> T | None:
    """What comes of it, or None where the program behind the cluster died meanwhile: nothing more
    of it runs.
    """
    run = asyncio.create_task(what)
    died = asyncio.create_task(
        cluster.died.wait() if isinstance(cluster, Mortal) else asyncio.Event().wait()
    )
    await asyncio.wait({run, died}, return_when=asyncio.FIRST_COMPLETED)
    dead = died.done()
    for task in (died, *([run] if dead else [])):
        task.cancel()
    await asyncio.gather(died, *([run] if dead else []), return_exceptions=True)
    await cluster.close()
    return None if dead else run.result()


def on_a_little_kubernetes(
    what: Callable[[Scene], Coroutine[Any, Any, T]],
    replicas: int = 1,
    gpus: int | None = None,
    make: type[LittleKubernetes] = LittleKubernetes,
) -> T:
    """What comes of it where these replicas serve, with one more GPU than they need unless told."""

    async def go() -> T:
        kube = make(replicas, replicas + 1 if gpus is None else gpus)
        while sum(map(kube.is_listed, kube.all("pods"))) < replicas:
            await asyncio.sleep(1.0)
        return await what(Scene(kube, LittleApiServer(kube)))

    with virtual_time() as run:
        return run(go())


def marks(item: Object) -> dict[str, str]:
    """The annotations."""
    found: dict[str, str] = item["metadata"].get("annotations") or {}
    return found
