"""The little Kubernetes with an Argo Rollout of one canary step, a pause without a duration.

Assumptions, of Argo Rollouts v1.9.1: a template that differs from the stable one starts a canary and
resets `promoteFull`; the controller pauses when the canary is Ready; `promoteFull` skips what is left;
going back to the stable template takes no steps; old pods go when the new ones are Ready,
with one more than are asked for.
"""

from __future__ import annotations

import copy
import hashlib
import json

from tests.support.little_kubernetes import (
    HOME,
    LittleKubernetes,
    Object,
    is_over,
    owner,
    reference,
)

HASH = "rollouts-pod-template-hash"


class LittleRollout(LittleKubernetes):
    """`vllm` is a Rollout."""

    kind, plural = "Rollout", "rollouts"

    def spec(self, replicas: int, container: Object) -> Object:
        """With a canary that waits for a person."""
        steps = [{"setWeight": 20}, {"pause": {}}]
        return {**super().spec(replicas, container), "strategy": {"canary": {"steps": steps}}}

    def settle(self) -> None:
        """The controllers have seen everything."""
        for item in self.all("rollouts"):
            self._rollout(item)
        for item in self.all("replicasets"):
            self._replica_set(item)
        self._place()
        self._endpoints()

    def remove(self, plural: str, item: Object) -> None:
        """Its owner takes pods away in rotation: that is no remedy's doing."""
        super().remove(plural, item)
        self.broken = [found for found in self.broken if not found.startswith("L9")]

    def look_at(self, before: Object, after: Object) -> None:
        """A server counts the states of a spec as it takes them."""
        super().look_at(before, after)
        changed = before["spec"] != after["spec"]
        after["metadata"]["generation"] = before["metadata"]["generation"] + changed

    def _rollout(self, item: Object) -> None:
        metadata, spec = item["metadata"], item["spec"]
        metadata.setdefault("generation", 1)
        status = item.setdefault("status", {})
        text = json.dumps(spec["template"], sort_keys=True).encode()
        present = hashlib.sha256(text).hexdigest()[:8]
        stable = status.setdefault("stableRS", present)
        if status.get("currentPodHash") != present:
            status |= {"promoteFull": False, "pauseConditions": [], "currentPodHash": present}
        status["observedGeneration"] = str(metadata["generation"])
        sets = {found: self._set(item, found) for found in (stable, present)}
        ready = self._ready_of(sets[present])
        wanted = {stable: spec["replicas"]}
        if present != stable:
            wanted[present] = 1
            if status["promoteFull"]:
                status["pauseConditions"] = []
                wanted[stable] = max(0, spec["replicas"] - ready)
                wanted[present] = min(spec["replicas"], spec["replicas"] + 1 - wanted[stable])
                if not wanted[stable]:
                    status["stableRS"] = present
            elif ready:
                status["pauseConditions"] = [{"reason": "CanaryPauseStep"}]
        status["updatedReplicas"] = ready
        for found in self.all("replicasets"):
            count = wanted.get(found["metadata"]["labels"][HASH], 0)
            if found["spec"]["replicas"] != count:
                found["spec"]["replicas"] = count
                self.touch(found)

    def _set(self, item: Object, revision: str) -> Object:
        found = self.objects.get(("replicasets", f"{HOME}-{revision}"))
        if found is not None:
            return found
        labels = {**self.routed, HASH: revision}
        template = copy.deepcopy(item["spec"]["template"])
        template["metadata"]["labels"] = labels
        metadata = {
            "name": f"{HOME}-{revision}",
            "labels": labels,
            "annotations": {"rollout.argoproj.io/revision": str(len(self.all("replicasets")) + 1)},
            "ownerReferences": [reference("Rollout", item)],
        }
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        return self.add("replicasets", {"metadata": metadata, "spec": spec})

    def _ready_of(self, made: Object) -> int:
        uid = made["metadata"]["uid"]
        own = [pod for pod in self.all("pods") if owner(pod) == uid and not is_over(pod)]
        return sum(self.is_listed(pod) for pod in own)
