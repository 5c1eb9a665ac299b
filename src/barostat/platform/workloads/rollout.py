"""Argo Rollout.

Arguments: `spec.template`, or the template of the Deployment that `spec.workloadRef` names, which the
controller scales to 0. Rolls: by `strategy.canary.steps` (25 %/25 % a step by default) or blue-green,
which starts every replica again beside those that run. Back: the former template; the controller goes
back to its stable ReplicaSet without the steps (`kubectl argo rollouts abort` does the same).
Source: argoproj.io/v1alpha1; pkg/apis/rollouts/v1alpha1/types.go of Argo Rollouts v1.9.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.platform.objects import Object, count, mapping, objects, text, value
from barostat.platform.workloads._canary import CanaryKind
from barostat.platform.workloads._kind import (
    Api,
    Found,
    Lists,
    Revision,
    owned_by,
    surge_of,
    unavailable_of,
)

_DEPLOYMENT = Api("Deployment", "deployments", "apps", "v1", "deploy")
_HASH, _REVISION = "rollouts-pod-template-hash", "rollout.argoproj.io/revision"
_STEPS = ("spec", "strategy", "canary", "steps")
_BY_HAND = (
    "change the template, watch the canary with `barostat diagnose`, then `kubectl argo rollouts "
    "promote NAME`, or `abort NAME` if it is worse"
)


class Rollout(CanaryKind):
    """Pods belong to its ReplicaSets; a pause without a duration is where the proof is made."""

    api = Api("Rollout", "rollouts", "argoproj.io", "v1alpha1", "ro")
    pod_suffix = "-[a-z0-9]+-[a-z0-9]{5}"
    reads = ("replicasets",)
    fixed_labels = (_HASH,)
    go_on: Mapping[str, Any] = {"status": {"promoteFull": True}}
    reverts = "the Rollout controller owns the ReplicaSets below it"
    without_surge = "Set strategy.canary.maxSurge to 0 and maxUnavailable to 1 first."

    def why_not(self, item: Object) -> str:
        """Only a canary that waits for approval can be verified and rolled back."""
        if text(item, "spec", "workloadRef", "name"):
            return f"its template is in the Deployment of spec.workloadRef: {_BY_HAND}"
        if mapping(item, "spec", "strategy", "blueGreen"):
            return f"blue-green starts every replica again: {_BY_HAND}"
        if not any(_waits(step) for step in objects(item, *_STEPS)):
            return (
                "none of its strategy.canary.steps is a pause without a duration, so it would not "
                f"wait for the proof: add `pause: {{}}` behind the first setWeight, or {_BY_HAND}"
            )
        return ""

    def has_seen(self, item: Object) -> bool:
        """By the hash of the present template."""
        seen = value(item, "status", "observedGeneration")
        return str(seen) == str(count(item, "metadata", "generation"))

    def waits(self, item: Object) -> bool:
        """At a pause of the canary's steps."""
        paused = objects(item, "status", "pauseConditions")
        return self.has_seen(item) and any(
            text(found, "reason") == "CanaryPauseStep" for found in paused
        )

    def is_rolling(self, item: Object) -> bool:
        """Until the present ReplicaSet is the stable one."""
        stable, present = (text(item, "status", key) for key in ("stableRS", "currentPodHash"))
        return self.has_seen(item) and stable != present

    def newest_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """Pods with the hash of the present template."""
        present = text(item, "status", "currentPodHash") if self.has_seen(item) else ""
        return [
            pod
            for pod in self.own_pods(item, lists)
            if present and text(pod, "metadata", "labels", _HASH) == present
        ]

    def revisions(self, item: Object, lists: Lists[Object]) -> list[Revision]:
        """Its ReplicaSets, by the number that the controller gave each."""
        uid = text(item, "metadata", "uid")
        kept = [found for found in lists.get("replicasets", []) if owned_by(found, {uid})]
        numbered = [(text(found, "metadata", "annotations", _REVISION), found) for found in kept]
        known = sorted(
            ((int(number), found) for number, found in numbered if number.isdecimal()),
            key=lambda entry: entry[0],
        )
        return [
            Revision(
                str(number),
                mapping(found, "spec", "template"),
                count(found, "status", "readyReplicas") or 0,
                text(found, "metadata", "creationTimestamp"),
            )
            for number, found in known
        ]

    def held_in(self, item: Object) -> tuple[Api, str] | None:
        """The Deployment that `spec.workloadRef` names."""
        reference = mapping(item, "spec", "workloadRef")
        named = text(reference, "name")
        return (_DEPLOYMENT, named) if named and text(reference, "kind") == "Deployment" else None

    def surge(self, item: Object) -> int:
        """All replicas again for blue-green, else as a Deployment's."""
        if mapping(item, "spec", "strategy", "blueGreen"):
            return self.replicas(item)
        return surge_of({"rollingUpdate": _canary(item)}, self.replicas(item))

    def unavailable(self, item: Object) -> int:
        """None for blue-green, else as a Deployment's."""
        if mapping(item, "spec", "strategy", "blueGreen"):
            return 0
        return unavailable_of({"rollingUpdate": _canary(item)}, self.replicas(item))

    def rolled_out(self, item: Object, lists: Lists[Object]) -> bool:
        """True if the steps are over and the stable ReplicaSet is the present one."""
        del lists
        status = mapping(item, "status")
        current = text(status, "currentPodHash")
        updated = count(status, "updatedReplicas") or 0
        stable = text(status, "stableRS") == current != ""
        return self.has_seen(item) and stable and updated >= self.replicas(item)


def _waits(step: Object) -> bool:
    pause = step.get("pause")
    return isinstance(pause, Mapping) and pause.get("duration") is None


def _canary(item: Object) -> Object:
    return mapping(item, "spec", "strategy", "canary")


KIND = Rollout()
