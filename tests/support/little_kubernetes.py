"""A Kubernetes small enough to run within a test: the objects that a remedy meets, the controllers
behind them, engines that count.

It takes for granted what tests/model/cluster.py does: a ReplicaSet releases a pod whose labels do
not fit, adopts one without a controller whose labels fit, makes what is missing, and deletes what
is too many: not Ready first, then the lowest deletion cost, then the newest; a pod that has ended
is nothing to it (Kubernetes 1.34). Controllers follow a write after a moment. What no remedy may do
is in `broken`.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import time
from datetime import UTC, datetime
from itertools import filterfalse
from typing import Any, ClassVar

NAMESPACE = "x"
HOME = "vllm"
OLD, NEW = "64", "16"
BUSY = 3
LAG_S = 0.3
Object = dict[str, Any]


class LittleKubernetes:
    """One namespace with one Deployment, `vllm`, behind one Service.

    `start_s`: an engine's start; `drain_s`: its requests' length; `end_s`: from a pod's deletion to
    its end; `cut`: requests that ran in pods when they were deleted. Another kind of workload is a
    subclass: `plural`, `routed` (what the Service selects) and what its controllers do.
    """

    kind, plural = "Deployment", "deployments"
    routed: ClassVar[dict[str, str]] = {"app": HOME}

    def __init__(
        self, replicas: int, gpus: int, *, start_s: float = 4.0, drain_s: float = 3.0
    ) -> None:
        self.gpus, self.floor, self.start_s, self.drain_s, self.end_s = (
            gpus,
            replicas,
            start_s,
            drain_s,
            2 * LAG_S,
        )
        self.objects: dict[tuple[str, str], Object] = {}
        self.broken: list[str] = []
        self.cut = 0
        self._version = 100
        self._left: dict[str, float] = {}
        self._born: dict[str, float] = {}
        self._whole = False
        container = {
            "name": "vllm",
            "image": "vllm/vllm-openai:v0.32.0",
            "args": ["m", "--max-num-seqs", OLD],
            "resources": {},
        }
        container["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
        self.add("namespaces", {"metadata": {"name": NAMESPACE}})
        self.add(self.plural, {"metadata": {"name": HOME}, "spec": self.spec(replicas, container)})
        self.add("services", {"metadata": {"name": HOME}, "spec": {"selector": self.routed}})

    def spec(self, replicas: int, container: Object) -> Object:
        """Home's spec."""
        template = {"metadata": {"labels": {"app": HOME}}, "spec": {"containers": [container]}}
        selector = {"matchLabels": {"app": HOME}}
        return {"replicas": replicas, "selector": selector, "template": template}

    # --- objects

    def add(self, plural: str, item: Object) -> Object:
        """The object is there, with what a server gives it."""
        metadata = item.setdefault("metadata", {})
        self._version += 1
        metadata |= {
            "namespace": NAMESPACE,
            "uid": f"u{self._version}",
            "creationTimestamp": f"2026-01-01T00:00:{self._version:06d}Z",
        }
        self.objects[plural, metadata["name"]] = item
        return self.touch(item)

    def touch(self, item: Object) -> Object:
        """The object has changed; the controllers hear of it in a moment."""
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        asyncio.get_running_loop().call_later(LAG_S, self.settle)
        return item

    def all(self, plural: str) -> list[Object]:
        """The objects of that kind, the oldest first."""
        return [item for (kind, _), item in list(self.objects.items()) if kind == plural]

    @property
    def home(self) -> Object:
        """The workload."""
        return self.objects[self.plural, HOME]

    def is_made(self, item: Object) -> bool:
        """True for a Deployment that the workload's owner has made."""
        del item
        return False

    def remove(self, plural: str, item: Object) -> None:
        """The object's end is asked for; a pod takes a moment."""
        name = item["metadata"]["name"]
        if plural != "pods":
            self.objects.pop((plural, name), None)
            self._version += 1
            asyncio.get_running_loop().call_later(LAG_S, self.settle)
        elif "deletionTimestamp" not in item["metadata"]:
            if self.is_listed(item) or self.busy(item):
                self.broken.append(f"L9: {name} is deleted in rotation, or with requests in it")
            self.cut += self.busy(item)
            item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            self.touch(item)
            asyncio.get_running_loop().call_later(
                self.end_s if "nodeName" in item["spec"] else 2 * LAG_S, self._gone, item
            )

    def evicted(self, pod: Object) -> Object:
        """What is left of one like that pod, and of the same owner, that the kubelet has ended: it
        stays on the list.
        """
        name = f"{pod['metadata']['name']}-evicted"
        metadata = {**copy.deepcopy(pod["metadata"]), "name": name}
        return self.add(
            "pods",
            {
                "metadata": metadata,
                "spec": pod["spec"],
                "status": {"phase": "Failed", "reason": "Evicted"},
            },
        )

    def _gone(self, pod: Object) -> None:
        self.objects.pop(("pods", pod["metadata"]["name"]), None)
        self.settle()

    # --- what a pod does

    def is_listed(self, pod: Object) -> bool:
        """True where the pod stands ready in the EndpointSlice."""
        return pod["metadata"]["uid"] in self._listed()

    def busy(self, pod: Object) -> int:
        """Requests that run in the pod's engine."""
        uid = pod["metadata"]["uid"]
        left = self._left.get(uid)
        now = asyncio.get_running_loop().time()
        return (
            BUSY if self.is_listed(pod) or (left is not None and now < left + self.drain_s) else 0
        )

    def metrics(self, pod: Object) -> str:
        """The engine's page: it preempts all the while, unless it has the new value."""
        now = asyncio.get_running_loop().time()
        args = pod["spec"]["containers"][0]["args"]
        preempted = (
            0.0 if NEW in args else 50.0 * (now - self._born.get(pod["metadata"]["uid"], now))
        )
        labels = '{engine="0",model_name="m"}'
        return (
            f"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{labels} "
            f"{float(self.busy(pod))}\n"
            f"# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{labels} 0.0\n"
            f"# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{labels} 0.5\n"
            f"# TYPE vllm:num_preemptions counter\nvllm:num_preemptions_total{labels} "
            f"{preempted:.1f}\n"
        )

    # --- controllers

    def settle(self) -> None:
        """The controllers have seen everything."""
        for item in self.all("deployments"):
            self._deployment(item)
        deployments = {item["metadata"]["uid"] for item in self.all("deployments")}
        for item in self.all("replicasets"):
            if owner(item) not in deployments:
                self.objects.pop(("replicasets", item["metadata"]["name"]))
        for item in self.all("replicasets"):
            self._replica_set(item)
        for item in self.all("jobs"):
            self._job(item)
        sets = {item["metadata"]["uid"] for item in (*self.all("replicasets"), *self.all("jobs"))}
        for pod in self.all("pods"):
            if owner(pod) and owner(pod) not in sets:
                self.remove("pods", pod)
        self._place()
        self._endpoints()

    def _deployment(self, item: Object) -> None:
        name, template = item["metadata"]["name"], item["spec"]["template"]
        revision = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:8]
        if ("replicasets", f"{name}-{revision}") not in self.objects:
            labels = {"pod-template-hash": revision}
            made = copy.deepcopy(template)
            made["metadata"]["labels"] = {**made["metadata"]["labels"], **labels}
            match = {**item["spec"]["selector"]["matchLabels"], **labels}
            metadata = {
                "name": f"{name}-{revision}",
                "ownerReferences": [reference("Deployment", item)],
            }
            self.add(
                "replicasets",
                {
                    "metadata": metadata,
                    "spec": {"replicas": 0, "selector": {"matchLabels": match}, "template": made},
                },
            )
        for found in self.all("replicasets"):
            if owner(found) == item["metadata"]["uid"]:
                wanted = (
                    item["spec"]["replicas"]
                    if found["metadata"]["name"] == f"{name}-{revision}"
                    else 0
                )
                if found["spec"]["replicas"] != wanted:
                    found["spec"]["replicas"] = wanted
                    self.touch(found)

    def _replica_set(self, item: Object) -> None:
        uid, match = item["metadata"]["uid"], item["spec"]["selector"]["matchLabels"].items()
        for pod in filterfalse(is_over, self.all("pods")):
            fits = match <= pod["metadata"].get("labels", {}).items()
            if owner(pod) == uid and not fits:
                pod["metadata"]["ownerReferences"] = []
                self.touch(pod)
            elif not owner(pod) and fits and "deletionTimestamp" not in pod["metadata"]:
                pod["metadata"]["ownerReferences"] = [reference("ReplicaSet", item)]
                self.touch(pod)
        living = filterfalse(is_over, self.all("pods"))
        own = [
            pod
            for pod in living
            if owner(pod) == uid and "deletionTimestamp" not in pod["metadata"]
        ]
        for _ in range(item["spec"]["replicas"] - len(own)):
            template = copy.deepcopy(item["spec"]["template"])
            template["metadata"] |= {
                "name": f"{item['metadata']['name']}-{self._version}",
                "ownerReferences": [reference("ReplicaSet", item)],
            }
            template["status"] = {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False"}],
            }
            self.add("pods", template)
        for pod in sorted(own, key=_rank)[: max(0, len(own) - item["spec"]["replicas"])]:
            self.remove("pods", pod)

    def _job(self, item: Object) -> None:
        """A Job of one pod, which ends with its pod when its time is over."""
        spec, now = item["spec"], time.time()
        if "status" not in item:
            began = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            item["status"] = {"startTime": began}
            later = asyncio.get_running_loop().call_later
            later(spec["activeDeadlineSeconds"] + 1.0, self.settle)
        limit_s = spec.get("activeDeadlineSeconds")
        began_at = datetime.fromisoformat(item["status"]["startTime"]).timestamp()
        if limit_s is not None and now >= began_at + limit_s:
            self.remove("jobs", item)
        elif not any(owner(pod) == item["metadata"]["uid"] for pod in self.all("pods")):
            pod = copy.deepcopy(spec["template"])
            pod["metadata"] |= {
                "name": f"{item['metadata']['name']}-{self._version}",
                "ownerReferences": [reference("Job", item)],
            }
            waits = [{"type": "PodScheduled", "status": "False", "message": "no GPU is free"}]
            pod["status"] = {"phase": "Pending", "conditions": waits}
            self.add("pods", pod)

    def _place(self) -> None:
        free = self.gpus - sum(
            "nodeName" in pod["spec"] for pod in filterfalse(is_over, self.all("pods"))
        )
        waiting = [
            pod
            for pod in self.all("pods")
            if "nodeName" not in pod["spec"] and "deletionTimestamp" not in pod["metadata"]
        ]
        for pod in waiting[: max(0, free)]:
            pod["spec"]["nodeName"] = "n0"
            pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
            self.touch(pod)
            asyncio.get_running_loop().call_later(self.start_s, self._ready, pod)

    def _ready(self, pod: Object) -> None:
        ready = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]
        running = [{"name": "vllm", "state": {"running": {}}, "ready": True, "restartCount": 0}]
        pod["status"] = {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": ready,
            "containerStatuses": running,
        }
        self._born[pod["metadata"]["uid"]] = asyncio.get_running_loop().time()
        self.touch(pod)

    def _endpoints(self) -> None:
        before = self._listed()
        ends = []
        for pod in self.all("pods"):
            labels = pod["metadata"].get("labels", {})
            if self.routed.items() <= labels.items() and "podIP" in pod["status"]:
                ready = "deletionTimestamp" not in pod["metadata"]
                reference_ = {
                    "kind": "Pod",
                    "name": pod["metadata"]["name"],
                    "uid": pod["metadata"]["uid"],
                }
                ends.append(
                    {
                        "addresses": ["10.0.0.1"],
                        "conditions": {"ready": ready},
                        "targetRef": reference_,
                    }
                )
        found = self.objects.get(("endpointslices", HOME))
        if found is None:
            metadata = {"name": HOME, "labels": {"kubernetes.io/service-name": HOME}}
            self.add("endpointslices", {"metadata": metadata, "endpoints": ends})
        elif found["endpoints"] != ends:
            found["endpoints"] = ends
            self.touch(found)
        now = asyncio.get_running_loop().time()
        self._left |= dict.fromkeys(before - self._listed(), now)
        self._whole = self._whole or len(self._listed()) >= self.floor
        if self._whole and len(self._listed()) < self.floor:
            self.broken.append(
                f"L4: {len(self._listed())} replicas serve, the floor is {self.floor}"
            )

    def _listed(self) -> frozenset[str]:
        found = self.objects.get(("endpointslices", HOME), {}).get("endpoints", [])
        return frozenset(end["targetRef"]["uid"] for end in found if end["conditions"]["ready"])

    # --- laws that a write could break

    def look_at(self, before: Object, after: Object) -> None:
        """Note the laws that a write to the workload breaks."""
        claims = [
            item["metadata"].get("annotations", {}).get("barostat.dev/claim", "")
            for item in (before, after)
        ]
        if all(claims) and claims[0].split("#")[0] != claims[1].split("#")[0]:
            self.broken.append(f"L1: the claim {claims[0]} becomes {claims[1]}")
        if self.kind == "Deployment" and before["spec"]["template"] != after["spec"]["template"]:
            sets = {
                item["metadata"]["uid"]
                for item in self.all("replicasets")
                if owner(item) == before["metadata"]["uid"]
            }
            if any(owner(pod) in sets for pod in filterfalse(is_over, self.all("pods"))):
                self.broken.append("L9: home's template is written while it owns replicas")


def owner(item: Object) -> str:
    """The uid of the object's controller, or empty."""
    return next((str(found["uid"]) for found in item["metadata"].get("ownerReferences", [])), "")


def is_over(pod: Object) -> bool:
    """True for a pod that has ended."""
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def reference(kind: str, item: Object) -> Object:
    """What an owned object says of its owner."""
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": item["metadata"]["name"],
        "uid": item["metadata"]["uid"],
        "controller": True,
    }


def _rank(pod: Object) -> tuple[bool, int, int]:
    cost = int(
        pod["metadata"].get("annotations", {}).get("controller.kubernetes.io/pod-deletion-cost", 0)
    )
    return "podIP" in pod["status"], cost, -int(pod["metadata"]["uid"][1:])
