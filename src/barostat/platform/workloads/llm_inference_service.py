"""KServe LLMInferenceService.

Arguments: `spec.template.containers[name=main].args`, or the variable `VLLM_ADDITIONAL_ARGS` that
the presets' command reads; prefill has its own `spec.prefill.template`; `spec.worker` makes groups.
Rolls: Deployment 25 %/25 %, LeaderWorkerSet 1/0. Reverts: the controller owns the Deployment
`NAME-kserve`; presets come in by `baseRefs`, so that an edit may belong to an LLMInferenceServiceConfig.
Source: serving.kserve.io/v1alpha2; pkg/controller/v1alpha2/llmisvc of kserve v0.20.0.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from barostat.platform.objects import Object, mapping, objects, sequence, text
from barostat.platform.workloads._kind import (
    Api,
    Lists,
    Place,
    Refusal,
    put,
    surge_of,
    unavailable_of,
)
from barostat.platform.workloads._owned import OwnedKind

_CONTAINERS, _MAIN = ("spec", "template", "containers"), "main"
_ADDITIONAL = "VLLM_ADDITIONAL_ARGS"
_CONFIG = Api(
    "LLMInferenceServiceConfig", "llminferenceserviceconfigs", "serving.kserve.io", "v1alpha2"
)


class LLMInferenceService(OwnedKind):
    """Decode pods stand in `spec`, prefill pods in `spec.prefill`."""

    api = Api(
        "LLMInferenceService", "llminferenceservices", "serving.kserve.io", "v1alpha2", "llmisvc"
    )
    places = (
        Place(
            ("spec", "template"),
            "pod-spec",
            several=("spec", "worker"),
            parallel=("spec", "parallelism"),
        ),
        Place(("spec", "worker"), "pod-spec", "worker", several=("spec", "worker")),
        Place(
            ("spec", "prefill", "template"),
            "pod-spec",
            "prefill",
            units=("spec", "prefill", "replicas"),
            several=("spec", "prefill", "worker"),
            parallel=("spec", "prefill", "parallelism"),
        ),
        Place(
            ("spec", "prefill", "worker"),
            "pod-spec",
            "prefill worker",
            units=("spec", "prefill", "replicas"),
            several=("spec", "prefill", "worker"),
        ),
    )
    source_path = ("spec",)
    name_label = "app.kubernetes.io/name"
    other_labels = {  # noqa: RUF012 - never written
        "app.kubernetes.io/part-of": "llminferenceservice",
    }
    role_label = "llm-d.ai/role"
    pod_suffix = "-kserve.*"
    whole = False
    default_replicas = None
    reads = ("replicasets", "deployments")
    makes = "-kserve"
    scale_by_hand = "apply the patch: KServe adds the replica"
    reverts = "KServe writes the Deployment again from the LLMInferenceService"
    without_surge = "Set spec.rolloutStrategy to maxSurge 0 and maxUnavailable 1 first."

    def why_not(self, item: Object) -> str:
        """Groups and halves have no template of which one pod would prove the change."""
        beside = (
            "make a second LLMInferenceService with the change in the same spec.router.route group "
            "with a small weight, watch it with `barostat diagnose`, then apply the patch to this one "
            "and delete the second"
        )
        if mapping(item, "spec", "prefill"):
            return (
                "prefill and decode have templates apart, and which of them is to change is for a "
                f"person to say: {beside}"
            )
        if mapping(item, "spec", "worker"):
            return f"its replicas are groups of pods, which KServe replaces by itself: {beside}"
        return super().why_not(item)

    def has_seen(self, item: Object, lists: Lists[Object]) -> bool:
        """As any kind; a variable that a change has added must be gone once it is taken back."""
        made = self.made_template(item, lists)
        own, theirs = (
            _variables(_main(one))
            for one in (item, {"spec": {"template": made["spec"]}} if made else {})
        )
        return own.get(_ADDITIONAL) == theirs.get(_ADDITIONAL) and super().has_seen(item, lists)

    def edited(
        self, item: Object, edit: Callable[[Object], Object | Refusal]
    ) -> dict[str, Any] | Refusal:
        """With arguments of its own, as any template. A preset's command takes the arguments of
        VLLM_ADDITIONAL_ARGS instead, which are then changed there.
        """
        main = _main(item)
        if main is None or main.get("args") or main.get("command"):
            return super().edited(item, edit)
        words = _variables(main).get(_ADDITIONAL, "").split()
        engine = {**main, "args": ["vllm", "serve", *words]}
        made = edit({"spec": {"containers": [engine]}})
        if not isinstance(made, Mapping):
            return made
        (changed,) = objects(made, "spec", "containers")
        added = " ".join(map(str, sequence(changed, "args")[2:]))
        kept = [one for one in objects(changed, "env") if text(one, "name") != _ADDITIONAL]
        container = {key: found for key, found in changed.items() if key != "args"}
        container["env"] = [*kept, {"name": _ADDITIONAL, "value": added}] if added else kept
        new: dict[str, Any] = copy.deepcopy(dict(item))
        others = [one for one in objects(item, *_CONTAINERS) if text(one, "name") != _MAIN]
        put(new, _CONTAINERS, [container, *others])
        return new

    def held_in(self, item: Object) -> tuple[Api, str] | None:
        """The first LLMInferenceServiceConfig of `baseRefs`, where the object has no template of its
        own.
        """
        references = objects(item, "spec", "baseRefs")
        if not references or mapping(item, "spec", "template"):
            return None
        return (_CONFIG, text(references[0], "name"))

    def with_held(self, item: Object, holder: Object) -> dict[str, Any]:
        """The configuration's spec below the object's own."""
        own = mapping(item, "spec")
        return self.with_source(item, {**mapping(holder, "spec"), **own})

    def labels(self, item: Object) -> Object:
        """Return the labels that KServe gives its pods."""
        return {}

    def answers(self, pod: Object) -> bool:
        """False for the scheduler in front of the engines."""
        component = text(pod, "metadata", "labels", "app.kubernetes.io/component")
        return not component.endswith("router-scheduler")

    def surge(self, item: Object) -> int:
        """Return maxSurge as for a Deployment; 0 for groups."""
        if mapping(item, "spec", "worker"):
            return 0
        rolling = mapping(item, "spec", "rolloutStrategy")
        return surge_of({"rollingUpdate": rolling}, self.replicas(item))

    def unavailable(self, item: Object) -> int:
        """Return maxUnavailable as for a Deployment; 1 for groups."""
        if mapping(item, "spec", "worker"):
            return 1
        rolling = mapping(item, "spec", "rolloutStrategy")
        return unavailable_of({"rollingUpdate": rolling}, self.replicas(item))

    def ready(self, item: Object) -> int | None:
        """The status does not count pods."""
        return None


def _variables(container: Object | None) -> dict[str, str]:
    return {text(entry, "name"): text(entry, "value") for entry in objects(container or {}, "env")}


def _main(item: Object) -> Object | None:
    found = objects(item, *_CONTAINERS)
    return next((one for one in found if text(one, "name") == _MAIN), None)


KIND = LLMInferenceService()
