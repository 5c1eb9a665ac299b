"""The little Kubernetes with a workload whose units are numbered: a StatefulSet, or a LeaderWorkerSet
of groups of two pods.

Assumptions: as tests/model/ordinals.py says, with the names, revisions and status fields of
Kubernetes 1.34 and lws v0.9.0.
"""

from __future__ import annotations

import copy
import hashlib
import json
from itertools import filterfalse
from typing import Any, ClassVar

from tests.support.little_kubernetes import (
    HOME,
    LittleKubernetes,
    Object,
    is_over,
    owner,
    reference,
)

LWS = "leaderworkerset.sigs.k8s.io"


class LittleStatefulSet(LittleKubernetes):
    """`vllm` is a StatefulSet; one unit is made or replaced at a time, in order."""

    kind, plural = "StatefulSet", "statefulsets"
    in_order = True

    def settle(self) -> None:
        """The controllers have seen everything."""
        for item in self.all("statefulsets"):
            self.stateful_set(item)
        self._place()
        self._endpoints()

    def stateful_set(self, item: Object) -> None:
        """One round of the StatefulSet controller."""
        self._observe(item)
        status, wanted = item["status"], item["spec"]["replicas"]
        self._claim(item)
        there = {pod["metadata"]["name"]: pod for pod in self.all("pods")}
        names = [f"{item['metadata']['name']}-{place}" for place in range(wanted)]
        if self.in_order and self._waits_longer(item, names, there):
            return
        for place, name in enumerate(names):
            if name not in there:
                self._make(item, place, name)
                if self.in_order:
                    break
        own = self._own(item)
        for name in sorted(own, key=_place, reverse=True):
            if _place(name) >= wanted:
                self.remove("pods", own[name])
        whole = all(name in own and _is_ready(own[name]) for name in names)
        if whole or not self.in_order:
            self._roll(item, own)
        self._count(item, own, names)
        if (
            status["updatedReplicas"] == wanted == status["readyReplicas"]
            and status["replicas"] == wanted
            and item["spec"].get("updateStrategy", {}).get("type") != "OnDelete"
        ):
            status["currentRevision"] = status["updateRevision"]

    def _waits_longer(self, item: Object, names: list[str], there: dict[str, Object]) -> bool:
        """A released pod has the name of a unit: the controller tries in vain to make it, waits longer
        each time, and hears of that pod's end only with the next write of its own object.
        """
        version, own = item["metadata"]["resourceVersion"], self._own(item)
        if any(name in there and name not in own for name in names):
            self._in_vain = version
        return version == getattr(self, "_in_vain", "") and not all(name in there for name in names)

    def _observe(self, item: Object) -> None:
        metadata, spec = item["metadata"], json.dumps(item["spec"], sort_keys=True)
        if item.get("seen") != spec:
            metadata["generation"] = metadata.get("generation", 0) + 1
            item["seen"] = spec
        template = item["spec"]["template"]
        text = json.dumps(template, sort_keys=True).encode()
        revision = f"{metadata['name']}-{hashlib.sha256(text).hexdigest()[:8]}"
        kept = self.objects.get(("controllerrevisions", revision))
        newest = max((found["revision"] for found in self.all("controllerrevisions")), default=0)
        if kept is None:
            data = {"spec": {"template": {**copy.deepcopy(template), "$patch": "replace"}}}
            made = {"name": revision, "ownerReferences": [reference("StatefulSet", item)]}
            document = {"metadata": made, "data": data, "revision": newest + 1}
            self.add("controllerrevisions", document)
        elif kept["revision"] != newest:
            kept["revision"] = newest + 1
        status = item.setdefault("status", {"currentRevision": revision, "replicas": 0})
        status |= {"updateRevision": revision, "observedGeneration": metadata["generation"]}

    def _claim(self, item: Object) -> None:
        uid, match = item["metadata"]["uid"], item["spec"]["selector"]["matchLabels"].items()
        prefix = f"{item['metadata']['name']}-"
        for pod in filterfalse(is_over, self.all("pods")):
            fits = match <= pod["metadata"].get("labels", {}).items()
            mine = pod["metadata"]["name"].startswith(prefix)
            if owner(pod) == uid and not fits:
                pod["metadata"]["ownerReferences"] = []
                self.touch(pod)
            elif not owner(pod) and fits and mine and "deletionTimestamp" not in pod["metadata"]:
                pod["metadata"]["ownerReferences"] = [reference("StatefulSet", item)]
                self.touch(pod)

    def _own(self, item: Object) -> dict[str, Object]:
        uid = item["metadata"]["uid"]
        return {pod["metadata"]["name"]: pod for pod in self.all("pods") if owner(pod) == uid}

    def _partition(self, item: Object) -> int:
        strategy: Any = item["spec"].get("updateStrategy", {})
        return int(strategy.get("rollingUpdate", {}).get("partition", 0))

    def _make(self, item: Object, place: int, name: str) -> None:
        status = item["status"]
        held = place < self._partition(item) and self._rolls(item)
        revision = status["currentRevision" if held else "updateRevision"]
        kept = self.objects["controllerrevisions", revision]["data"]["spec"]["template"]
        made = copy.deepcopy({key: found for key, found in kept.items() if key != "$patch"})
        labels = {**made["metadata"]["labels"], **self.own_labels(place)}
        made["metadata"] |= {
            "name": name,
            "labels": {**labels, "controller-revision-hash": revision},
            "ownerReferences": [reference("StatefulSet", item)],
        }
        pending = [{"type": "PodScheduled", "status": "False"}]
        made["status"] = {"phase": "Pending", "conditions": pending}
        self.add("pods", made)

    def own_labels(self, place: int) -> dict[str, str]:
        """Labels that the controllers add to the pod at that place."""
        return {"apps.kubernetes.io/pod-index": str(place)}

    def _rolls(self, item: Object) -> bool:
        return bool(item["spec"].get("updateStrategy", {}).get("type") != "OnDelete")

    def _roll(self, item: Object, own: dict[str, Object]) -> None:
        if not self._rolls(item):
            return
        for name in sorted(own, key=_place, reverse=True):
            pod = own[name]
            if _place(name) < self._partition(item) or _place(name) >= item["spec"]["replicas"]:
                continue
            present = item["status"]["updateRevision"]
            if pod["metadata"]["labels"].get("controller-revision-hash") != present:
                self.remove("pods", pod)
                return
            if not _is_ready(pod):
                return

    def _count(self, item: Object, own: dict[str, Object], names: list[str]) -> None:
        present = item["status"]["updateRevision"]
        living = [pod for pod in own.values() if "deletionTimestamp" not in pod["metadata"]]
        updated = [
            pod
            for pod in living
            if pod["metadata"]["labels"].get("controller-revision-hash") == present
        ]
        item["status"] |= {
            "replicas": len(living),
            "updatedReplicas": len(updated),
            "readyReplicas": sum(_is_ready(own[name]) for name in names if name in own),
        }


class LittleLeaderWorkerSet(LittleStatefulSet):
    """`vllm` is a LeaderWorkerSet; its leaders' StatefulSet is written again from it."""

    kind, plural = "LeaderWorkerSet", "leaderworkersets"
    routed: ClassVar[dict[str, str]] = {"role": "leader"}
    in_order = False

    def spec(self, replicas: int, container: Object) -> Object:
        """Groups of a leader and a worker, a GPU each."""
        worker = {"name": "ray", "image": "vllm/vllm-openai:v0.32.0", "args": ["ray", "start"]}
        worker["resources"] = container["resources"]
        leader = {"metadata": {"labels": {"role": "leader"}}, "spec": {"containers": [container]}}
        group = {
            "size": 2,
            "leaderTemplate": leader,
            "workerTemplate": {"spec": {"containers": [worker]}},
        }
        rolling = {"partition": 0, "maxUnavailable": 1, "maxSurge": 0}
        strategy = {"type": "RollingUpdate", "rollingUpdateConfiguration": rolling}
        return {"replicas": replicas, "leaderWorkerTemplate": group, "rolloutStrategy": strategy}

    def settle(self) -> None:
        """The controllers have seen everything."""
        self._leaders()
        super().settle()
        self._workers()
        self._place()
        self._endpoints()

    def _leaders(self) -> None:
        home, group = self.home, self.home["spec"]["leaderWorkerTemplate"]
        key = hashlib.sha256(json.dumps(group, sort_keys=True).encode()).hexdigest()[:8]
        template = copy.deepcopy(group["leaderTemplate"])
        labels = {f"{LWS}/name": HOME, f"{LWS}/worker-index": "0"}
        revision = {f"{LWS}/template-revision-hash": key}
        template["metadata"]["labels"] |= labels | revision
        rolling = home["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
        wanted = {
            "replicas": home["spec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": template,
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"partition": rolling["partition"]},
            },
        }
        found = self.objects.get(("statefulsets", HOME))
        owners = {"ownerReferences": [reference("LeaderWorkerSet", home)]}
        if found is None:
            metadata: Object = {"name": HOME, "labels": {**labels, **revision}, **owners}
            self.add("statefulsets", {"metadata": metadata, "spec": wanted})
        elif found["spec"] != wanted:
            found["spec"] = wanted
            found["metadata"]["labels"] |= revision
            self.touch(found)
        updated = self.objects["statefulsets", HOME].get("status", {}).get("updatedReplicas", 0)
        self.home["status"] = {"updatedReplicas": updated, "readyReplicas": updated}

    def own_labels(self, place: int) -> dict[str, str]:
        """Those of a leader."""
        return {f"{LWS}/group-index": str(place)}

    def _workers(self) -> None:
        leaders = {
            pod["metadata"]["uid"]: pod
            for pod in self.all("pods")
            if pod["metadata"].get("labels", {}).get(f"{LWS}/worker-index") == "0"
        }
        for pod in self.all("pods"):
            worker = pod["metadata"].get("labels", {}).get(f"{LWS}/worker-index") == "1"
            if worker and owner(pod) not in leaders:
                self.remove("pods", pod)
        for leader in leaders.values():
            name = f"{leader['metadata']['name']}-1"
            if ("pods", name) in self.objects or "deletionTimestamp" in leader["metadata"]:
                continue
            made = copy.deepcopy(self.home["spec"]["leaderWorkerTemplate"]["workerTemplate"])
            group = leader["metadata"]["labels"][f"{LWS}/group-index"]
            labels = {f"{LWS}/name": HOME, f"{LWS}/worker-index": "1"}
            made["metadata"] = {
                "name": name,
                "labels": labels | {f"{LWS}/group-index": group},
                "ownerReferences": [reference("Pod", leader)],
            }
            pending = [{"type": "PodScheduled", "status": "False"}]
            made["status"] = {"phase": "Pending", "conditions": pending}
            self.add("pods", made)


def _place(name: str) -> int:
    return int(name.rpartition("-")[2])


def _is_ready(pod: Object) -> bool:
    return "podIP" in pod["status"] and "deletionTimestamp" not in pod["metadata"]
