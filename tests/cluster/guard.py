"""Looks at a workload all the while that a remedy is under way, past whatever trouble the remedy
has: what no remedy may do is noted.
"""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from dev.cluster.client import Workspace

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.client.resources import DEPLOYMENTS, ENDPOINT_SLICES
from barostat.platform.objects import mapping, objects, text, value

EVERY_S = 0.4


class Guard:
    """`broken`: laws, a sentence each, with the time. `least`: the fewest replicas that were in
    rotation. `looks`: how often it looked.
    """

    def __init__(self, space: Workspace, name: str, floor: int) -> None:
        self.broken: list[str] = []
        self.least, self.looks = floor, 0
        self._space, self._name, self._floor = space, name, floor
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run()), name="guard", daemon=True
        )
        self._home: Any = None

    async def _run(self) -> None:
        cluster = Cluster(find_access(str(self._space.cluster.kubeconfig("admin"))))
        while not self._stop.is_set():
            listed = await cluster.list(
                ENDPOINT_SLICES,
                self._space.namespace,
                labels=f"kubernetes.io/service-name={self._name}",
            )
            home = await cluster.get(DEPLOYMENTS, self._name, self._space.namespace)
            if not isinstance(listed, RequestFailed) and not isinstance(home, RequestFailed):
                ends = [end for item in listed.items for end in objects(item, "endpoints")]
                self._look(
                    {
                        text(end, "targetRef", "name"): value(end, "conditions", "ready") is True
                        for end in ends
                    },
                    home,
                )
            await asyncio.sleep(EVERY_S)
        await cluster.close()

    def _look(self, behind: dict[str, bool], home: Any) -> None:
        self.looks += 1
        serving = sum(behind.values())
        self.least = min(self.least, serving)
        if serving < self._floor:
            self._note(f"L4: {serving} replicas serve, the floor is {self._floor}: {behind}")
        if self._home is not None:
            before, now = (
                text(found, "metadata", "annotations", "barostat.dev/claim").split("#")[0]
                for found in (self._home, home)
            )
            if before and now and before != now:
                self._note(f"L1: the claim of {before} becomes that of {now}")
            changed = mapping(self._home, "spec", "template") != mapping(home, "spec", "template")
            if changed and value(self._home, "spec", "replicas"):
                self._note("L9: home's template is written while it asks for replicas")
        self._home = home

    def _note(self, broken: str) -> None:
        self.broken.append(f"{datetime.now(UTC):%H:%M:%S} {broken}")

    def __enter__(self) -> Self:
        """It looks."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        found: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """It has looked for the last time."""
        self._stop.set()
        self._thread.join(20)
