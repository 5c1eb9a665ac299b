"""Follows the pods of a workload: a pod that becomes Ready joins; a pod that terminates gets no new
requests and leaves when it is drained.

A pod that is unready for a moment and still has requests keeps its state.

Pods are found by the workload's labels, not by owner: a spare of `mitigate` in rotation is
included, a replica taken out of rotation is not. While the API server is unreachable, the last
known engines are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterable

from barostat.core.errors import InputError, OutsideError
from barostat.gateway.bounds import Bounds
from barostat.gateway.replica import Replica, UpstreamAddress
from barostat.gateway.say import say
from barostat.gateway.settings import FollowedWorkload
from barostat.gateway.state import Gateway
from barostat.gateway.watching.health import Health
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.client.resources import PODS, resource_of
from barostat.io.kubernetes.client.watching import Changed, Relisted, watch
from barostat.judge.evidence.endpoint import endpoints
from barostat.platform.objects import condition, is_going, mapping, name_of, text
from barostat.platform.workloads import WorkloadKind, kind_named
from barostat.remedy.annotations import LABELS

_FOR_EVER_S = 1e9
_FIRST_LIST_S = 20.0
_LOOKS_EMPTY_EVERY_S = 0.2


class Following:
    """One workload, followed from `start` to `stop`."""

    def __init__(
        self,
        what: FollowedWorkload,
        gateway: Gateway,
        health: Health,
        bounds: Bounds,
        secure: ssl.SSLContext | None,
    ) -> None:
        access = find_access(what.kubeconfig, what.context)
        self._what = what
        self._kind = kind_named(what.kind) or WorkloadKind()
        self._namespace = what.namespace or access.namespace
        self._cluster = Cluster(access)
        self._gateway, self._health, self._bounds, self._secure = gateway, health, bounds, secure
        self._pods: dict[str, Object] = {}
        self._known: dict[str, Replica] = {}
        self._leaving: dict[str, Replica] = {}
        self._changing: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._listed = asyncio.Event()

    async def start(self) -> None:
        """Check that the workload exists and add the pods that are Ready.

        Errors: InputError if there is no such workload, or its pods are known only by owner
        references; OutsideError if the API server is unreachable or forbids it.
        """
        typed = self._kind.typed(self._what.name)
        found = await self._cluster.get(resource_of(self._kind), self._what.name, self._namespace)
        if isinstance(found, RequestFailed):
            await self._cluster.close()
            if found.kind == "not-found":
                raise InputError(
                    f"there is no such {self._kind.api.kind} in namespace {self._namespace}", typed
                )
            raise found.error()
        labels = self._kind.query(self._what.name, found)
        if not labels:
            await self._cluster.close()
            raise InputError(
                "its pods have no label in common: name each engine, --upstream", typed
            )
        self._task = asyncio.create_task(self._follow(labels))
        first = asyncio.create_task(self._listed.wait())
        await asyncio.wait(
            {first, self._task}, timeout=_FIRST_LIST_S, return_when=asyncio.FIRST_COMPLETED
        )
        first.cancel()
        if self._task.done():
            self._task.result()
        if not self._listed.is_set():
            raise OutsideError(
                f"the pods of {typed} in {self._namespace} could not be listed in time",
                retryable=True,
            )
        await asyncio.gather(*self._changing)

    async def stop(self) -> None:
        """Nothing is followed any more."""
        tasks = [*self._changing, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._cluster.close()

    async def _follow(self, labels: str) -> None:
        while True:
            async for event in watch(
                self._cluster, PODS, self._namespace, labels=labels, for_s=_FOR_EVER_S
            ):
                match event:
                    case RequestFailed():
                        if not self._listed.is_set() and not event.may_pass:
                            raise event.error()
                        say(f"{event.why}; the engines stay those that are known")
                    case Relisted(items):
                        self._pods = {text(pod, "metadata", "uid"): pod for pod in items}
                    case Changed(pod, gone):
                        self._pods.pop(text(pod, "metadata", "uid"), None)
                        if not gone:
                            self._pods[text(pod, "metadata", "uid")] = pod
                if not isinstance(event, RequestFailed):
                    self._bring_up_to_date()
                    self._listed.set()
            await asyncio.sleep(_FIRST_LIST_S)  # the right is missing by now: asked for again

    def _bring_up_to_date(self) -> None:
        serving = dict(_addresses(filter(self._kind.answers, self._pods.values())))
        for uid in set(self._known) - set(serving):
            replica = self._known.pop(uid)
            self._gateway.desk.stands(replica, "leaving")
            self._leaving[uid] = replica
            self._soon(self._leave(uid, replica))
        for uid in set(self._leaving) & set(serving):
            if self._leaving[uid].name == serving[uid][0].name:
                self._known[uid] = replica = self._leaving.pop(uid)
                self._gateway.desk.comes_back(replica)
                say(f"{replica.name} ({serving[uid][1]}) is back")
        taken = {replica.name for replica in self._gateway.desk.replicas.values()}
        for uid, (address, name) in serving.items():
            if uid not in self._known and address.name not in taken:
                replica = Replica(
                    address, self._bounds, lambda: self._gateway.rounds.now, self._secure
                )
                self._known[uid] = replica
                self._gateway.desk.joins(replica)
                self._soon(self._join(replica, name))

    async def _join(self, replica: Replica, name: str) -> None:
        await self._health.follow(replica)
        why = f" ({replica.why})" if replica.why else ""
        say(f"{replica.name} ({name}) has joined: {replica.standing}{why}")

    async def _leave(self, uid: str, replica: Replica) -> None:
        say(f"{replica.name} is leaving; {replica.active} requests are under way")
        while replica.active:
            await asyncio.sleep(_LOOKS_EMPTY_EVERY_S)
            if self._leaving.get(uid) is not replica:
                return
        del self._leaving[uid]
        self._health.forget(replica.name)
        self._gateway.desk.leaves(replica)
        self._bring_up_to_date()  # another pod may have its address by now

    def _soon(self, what: object) -> None:
        task = asyncio.ensure_future(what)  # type: ignore[call-overload]
        self._changing.add(task)
        task.add_done_callback(self._changing.discard)


def _addresses(pods: Iterable[Object]) -> Iterable[tuple[str, tuple[UpstreamAddress, str]]]:
    """Return address and name, by uid, of each pod that is Ready, not terminating, and not taken
    out of rotation by a remedy.
    """
    for pod in pods:
        host = text(pod, "status", "podIP")
        if (
            not host
            or is_going(pod)
            or LABELS in mapping(pod, "metadata", "annotations")
            or condition(pod, "Ready").get("status") != "True"
        ):
            continue
        with contextlib.suppress(IndexError):
            place = endpoints(pod)[0]
            name = f"[{host}]:{place.port}" if ":" in host else f"{host}:{place.port}"
            yield (
                text(pod, "metadata", "uid"),
                (
                    UpstreamAddress(name, host, place.port, place.scheme == "https", b""),
                    name_of(pod),
                ),
            )
