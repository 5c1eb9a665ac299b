"""The little Kubernetes with a KServe InferenceService in Standard mode.

Assumptions, of kserve v0.20.0: the Deployment `NAME-predictor` is written again from the object
whenever they differ, with the object's annotations in its pod template, and not those of its status;
the Deployment starts one pod more (maxSurge 25 %) before an old one goes, undrained.
"""

from __future__ import annotations

import copy
import hashlib
import json
from typing import ClassVar

from tests.support.little_kubernetes import (
    HOME,
    LittleKubernetes,
    Object,
    is_over,
    owner,
    reference,
)

MADE = f"{HOME}-predictor"
REVISION = "deployment.kubernetes.io/revision"


class LittleInferenceService(LittleKubernetes):
    """`vllm` is an InferenceService."""

    kind, plural = "InferenceService", "inferenceservices"
    routed: ClassVar[dict[str, str]] = {"app": f"isvc.{MADE}"}

    def spec(self, replicas: int, container: Object) -> Object:
        """With the container in the predictor."""
        return {"predictor": {"minReplicas": replicas, "containers": [container]}}

    def is_made(self, item: Object) -> bool:
        """KServe's."""
        return bool(item["metadata"]["name"] == MADE)

    def settle(self) -> None:
        """The controllers have seen everything."""
        for item in self.all(self.plural):
            self._inference_service(item)
        super().settle()

    def remove(self, plural: str, item: Object) -> None:
        """Its owner takes pods away in rotation: that is no remedy's doing."""
        before = list(self.broken)
        super().remove(plural, item)
        if item["metadata"]["name"].startswith(MADE):
            self.broken = before

    def _inference_service(self, item: Object) -> None:
        predictor = item["spec"]["predictor"]
        labels = {**self.routed, "serving.kserve.io/inferenceservice": HOME}
        annotations = item["metadata"].get("annotations", {})
        template = {
            "metadata": {"labels": labels, "annotations": dict(annotations)},
            "spec": {"containers": copy.deepcopy(predictor["containers"])},
        }
        spec = {
            "replicas": predictor["minReplicas"],
            "selector": {"matchLabels": dict(self.routed)},
            "template": template,
        }
        made = self.objects.get(("deployments", MADE))
        if made is None:
            metadata = {"name": MADE, "ownerReferences": [reference(self.kind, item)]}
            self.add("deployments", {"metadata": metadata, "spec": spec})
        elif made["spec"] != spec:
            made["spec"] = spec
            self.touch(made)

    def _deployment(self, item: Object) -> None:
        if not self.is_made(item):
            super()._deployment(item)
            return
        text = json.dumps(item["spec"]["template"], sort_keys=True).encode()
        present = f"{MADE}-{hashlib.sha256(text).hexdigest()[:8]}"
        if ("replicasets", present) not in self.objects:
            self._new_set(item, present)
        sets = [one for one in self.all("replicasets") if owner(one) == item["metadata"]["uid"]]
        sets.sort(key=lambda one: int(one["metadata"]["annotations"][REVISION]))
        newest = next(one for one in sets if one["metadata"]["name"] == present)
        if newest is not sets[-1]:
            last = int(sets[-1]["metadata"]["annotations"][REVISION])
            newest["metadata"]["annotations"][REVISION] = str(last + 1)
        asked = item["spec"]["replicas"]
        ready = sum(map(self.is_listed, self._pods(newest)))
        others = max(0, asked - ready)
        for one in sets:
            if one is newest:
                continue
            wanted = min(others, len(self._pods(one)))
            others -= wanted
            self._sized(one, wanted)
        old = sum(one["spec"]["replicas"] for one in sets if one is not newest)
        self._sized(newest, min(asked, asked + 1 - old))
        pods = [len(self._pods(one)) for one in sets]
        item["status"] = {"updatedReplicas": len(self._pods(newest)), "replicas": sum(pods)}

    def _new_set(self, item: Object, name: str) -> None:
        labels = {"pod-template-hash": name.removeprefix(f"{MADE}-")}
        template = copy.deepcopy(item["spec"]["template"])
        template["metadata"]["labels"] = {**template["metadata"]["labels"], **labels}
        metadata = {
            "name": name,
            "annotations": {REVISION: "1"},
            "ownerReferences": [reference("Deployment", item)],
        }
        match = {**item["spec"]["selector"]["matchLabels"], **labels}
        spec = {"replicas": 0, "selector": {"matchLabels": match}, "template": template}
        self.add("replicasets", {"metadata": metadata, "spec": spec})

    def _sized(self, item: Object, wanted: int) -> None:
        if item["spec"]["replicas"] != wanted:
            item["spec"]["replicas"] = wanted
            self.touch(item)

    def _pods(self, made: Object) -> list[Object]:
        uid = made["metadata"]["uid"]
        return [
            pod
            for pod in self.all("pods")
            if owner(pod) == uid and not is_over(pod) and "deletionTimestamp" not in pod["metadata"]
        ]
