"""The context that all acts share: the claim of the change in flight, and writes that apply only to
the version that was read.

A write is sent only while the last check of the claim is recent. It carries a deadline for the
server and is awaited until that deadline: so `ActTiming.stray_s` after a claim nothing of an
earlier run is on its way any more. What is written in the marks says `barostat.remedy.annotations`.
"""

from __future__ import annotations

import asyncio
import copy
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import CONFIG_MAPS, Resource
from barostat.io.mitigation.gateway_hold import GatewayHold
from barostat.io.mitigation.marked_target import marks_patch
from barostat.io.mitigation.target_reader import ActTiming, Denied, TargetReader, annotation, no
from barostat.platform.objects import mapping, name_of, text
from barostat.remedy.acts import ClaimHome, Conflict, Lost, ReleaseHome
from barostat.remedy.annotations import CLAIM, MANAGED, PATCHED, STEP, written_patch
from barostat.remedy.state import Do

TRIES = 8


@dataclass(slots=True)
class ActContext(TargetReader):
    """The target as one plan sees it, and writes that its claim fences. `hold`: what is held at the
    gateways, where the plan has some.
    """

    hold: GatewayHold | None = None
    tell: Callable[[str], None] = lambda _: None
    _looked: tuple[float, float] = (0.0, 0.0)

    async def claimed_home(self, do: Do) -> Object:
        """Home, after its claim was found to be the command's. Errors: Denied."""
        home = await self.home()
        held = annotation(home, CLAIM)
        if held != do.claim:
            raise Denied(Conflict(f"the claim on home is {held or 'gone'}, not {do.claim}"))
        return home

    async def checked_home(self, do: Do) -> Object:
        """Home, after its claim and template were found to be what the command expects. Errors:
        Denied.
        """
        home = await self.claimed_home(do)
        now = self.digest(home)
        if (
            do.home == "planned" and now != self.plan.template and not self.is_patched(home)
        ):  # ours already where an answer was lost
            raise Denied(
                Conflict("home's template is not as the plan found it: somebody changed it")
            )
        if do.home == "patched" and annotation(home, PATCHED) != written_patch(self.plan.id, now):
            raise Denied(Conflict("home's template is not as we wrote it: somebody changed it"))
        self._looked = time.monotonic(), time.time()
        return home

    async def look_again(self, do: Do, *, claim_only: bool = False) -> None:
        """Home was checked a moment ago: again where it was longer, as on a machine that slept
        meanwhile. Errors: Denied.

        `claim_only`: its template is no matter.
        """
        for _ in range(TRIES):
            steady, wall = self._looked
            if max(time.monotonic() - steady, time.time() - wall) <= self.pace.fresh_s:
                return
            await (self.claimed_home(do) if claim_only else self.checked_home(do))
            self._looked = time.monotonic(), time.time()
        raise Denied(Lost("the cluster is too slow to be sure that the claim is still ours"))

    async def merged(
        self, do: Do, resource: Resource, found: Object, patch: Mapping[str, Any]
    ) -> Object | None:
        """The object with that merge patch and the act's key on it; None if it was no longer
        what was read (read it again).

        Errors: Denied.
        """
        body, sub = json.loads(json.dumps(patch)), ""
        metadata = body.setdefault("metadata", {})
        version = text(found, "metadata", "resourceVersion")
        metadata["resourceVersion"] = version
        held = metadata.setdefault("annotations", {})
        held[STEP] = do.key
        if resource == self.resource and body.keys() == {"metadata"}:  # marks on home
            body, sub = marks_patch(self.kind, version, held)
        if not isinstance(do.act, ClaimHome | ReleaseHome):
            await self.look_again(do)
        write = self.cluster.patch(
            resource,
            name_of(found),
            body,
            self.namespace,
            how="merge",
            subresource=sub,
            within_s=self.pace.write_s,
        )
        return await self.written(write)

    async def replaced(
        self,
        do: Do,
        new: dict[str, Any],
        marks: Mapping[str, str | None] | None = None,
        *,
        dry_run: bool = False,
    ) -> Object | None:
        """Home as it is in `new`, with the act's key and these marks (None: not that one); None
        if home was no longer what was read.

        Errors: Denied.
        """
        if self.kind.marks_in_status and not dry_run:
            return await self._replaced_apart(do, new, marks or {})
        held = mapping(new, "metadata", "annotations")
        new["metadata"] = {
            **mapping(new, "metadata"),
            "annotations": _with(held, {STEP: do.key, **(marks or {})}),
        }
        return await self._put(new, dry_run=dry_run)

    async def _replaced_apart(
        self, do: Do, new: dict[str, Any], marks: Mapping[str, str | None]
    ) -> Object | None:
        """The same where marks are in a subresource, so in writes of their own: those that say what
        home is about to be before it, those that go after it.
        """
        before = {key: found for key, found in marks.items() if found is not None}
        marked = await self.merged(do, self.resource, new, {"metadata": {"annotations": before}})
        if marked is None:
            return None
        new["metadata"]["resourceVersion"] = text(marked, "metadata", "resourceVersion")
        written = await self._put(new, dry_run=False)
        if written is None or len(before) == len(marks):
            return written
        gone = {"metadata": {"annotations": {key: None for key in marks if key not in before}}}
        return await self.merged(do, self.resource, written, gone)

    async def _put(self, new: dict[str, Any], *, dry_run: bool) -> Object | None:
        new.pop("status", None)
        write = self.cluster.replace(
            self.resource,
            self.plan.target.name,
            new,
            self.namespace,
            dry_run=dry_run,
            within_s=self.pace.write_s,
        )
        return await self.written(write)

    async def written(self, write: Awaitable[Object | RequestFailed]) -> Object | None:
        """Await a write; returns the object. None on a conflict or a missing object: read it again.
        Errors: Denied.
        """
        found = await settled(write, self.pace)
        if not isinstance(found, RequestFailed):
            return found
        if found.kind in ("conflict", "not-found"):
            return None
        raise Denied(await no(found))

    async def deleted(self, do: Do, resource: Resource, found: Object) -> bool:
        """The deletion of that very object, as it was read, is on its way; False if it is not
        that any more: read it again.

        Errors: Denied.
        """
        await self.look_again(do)
        uid, version = text(found, "metadata", "uid"), text(found, "metadata", "resourceVersion")
        write = self.cluster.delete(
            resource,
            name_of(found),
            self.namespace,
            uid=uid,
            version=version,
            within_s=self.pace.write_s,
        )
        return await self.written(write) is not None

    async def config_map(
        self, do: Do, name: str, data: Mapping[str, str | None], labels: Mapping[str, str | None]
    ) -> None:
        """The ConfigMap has these entries and labels (None: not that one), and all else that
        somebody keeps there; without any it is gone.

        Errors: Denied.
        """
        for _ in range(TRIES):
            found = await self.got(CONFIG_MAPS, name)
            metadata: dict[str, Any] = (
                copy.deepcopy(found["metadata"])
                if found is not None
                else {"name": name, "labels": dict(MANAGED)}
            )
            metadata["labels"] = _with(mapping(metadata, "labels"), labels)
            metadata["annotations"] = _with(mapping(metadata, "annotations"), {STEP: do.key})
            body: Object = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                **(found or {}),
                "metadata": metadata,
            }
            body["data"] = _with(mapping(found, "data"), data)
            if not body["data"] and not mapping(found, "binaryData"):
                if found is None or await self.deleted(do, CONFIG_MAPS, found):
                    return
                continue
            await self.look_again(do)
            if found is None:
                write = self.cluster.create(
                    CONFIG_MAPS, body, self.namespace, within_s=self.pace.write_s
                )
            else:
                write = self.cluster.replace(
                    CONFIG_MAPS, name, body, self.namespace, within_s=self.pace.write_s
                )
            if await self.written(write) is not None:
                return
        raise Denied(Lost(f"configmap {name} changes all the time"))


def _with(held: Mapping[str, Any], entries: Mapping[str, str | None]) -> dict[str, Any]:
    """What is held with these entries; None: without that one."""
    return {key: found for key, found in {**held, **entries}.items() if found is not None}


async def settled(
    write: Awaitable[Object | RequestFailed], pace: ActTiming
) -> Object | RequestFailed:
    """Return the result of a write. If it is unknown, wait until the server's time for it is over:
    then it is done or never will be.

    The caller may be cancelled, but not before that.
    """
    task = asyncio.ensure_future(_settled(write, pace))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def _settled(
    write: Awaitable[Object | RequestFailed], pace: ActTiming
) -> Object | RequestFailed:
    began = time.monotonic()
    found = await write
    if isinstance(found, RequestFailed) and found.uncertain:
        await asyncio.sleep(max(0.0, began + pace.write_s + pace.late_s - time.monotonic()))
    return found
