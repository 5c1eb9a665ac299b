"""Kinds whose owner replaces every unit by itself once the object is written."""

from __future__ import annotations

import copy
from typing import Any

from barostat.core.own_labels import SPARE
from barostat.platform.objects import Object, mapping, name_of, objects, sequence, text
from barostat.platform.workloads._kind import Found, Lists, Rolls, WorkloadKind, owned_by
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT

_WORDS = ("args", "command")


class OwnedKind(WorkloadKind):
    """A kind that an owner writes again from its object: nothing below the object is written.

    `makes`: ending of the name of the Deployment that the owner makes of it; empty if it makes none,
    so that a remedy has no template for a spare. `internal_annotations`: the beginning of
    annotations of the template for which the pods need `name_label` when they are created.
    `scale_by_hand`: how a person adds a replica. `units_are_pods`: each unit is a pod in rotation.
    """

    rolls: Rolls = "owner"
    makes: str = ""
    internal_annotations: str = ""
    scale_by_hand: str
    units_are_pods: bool = True

    def name_for(self, pod: Object) -> str:
        """As the pod's labels say; empty for a spare, which is the remedy's."""
        spare = SPARE in mapping(pod, "metadata", "labels")
        return "" if spare else super().name_for(pod)

    # --- the Deployment that the owner makes of it

    def made(self, item: Object, lists: Lists[Found]) -> Found | None:
        """Return the Deployment that the owner has made of it; None if there is none."""
        uid = text(item, "metadata", "uid")
        for found in lists.get(DEPLOYMENT.api.plural, []) if self.makes else []:
            if name_of(found) == name_of(item) + self.makes and owned_by(found, {uid}):
                return found
        return None

    def made_template(self, item: Object, lists: Lists[Object]) -> Object:
        """Return the pod template that the owner has made of it; empty if there is none."""
        made = self.made(item, lists)
        return mapping(made, "spec", "template") if made is not None else {}

    def spare_template(
        self, item: Object, new: Object, lists: Lists[Object]
    ) -> dict[str, Any] | None:
        """Return the template that the owner would make of `new`: the one that it has made of the
        object, with the same differences. None if that cannot be said.
        """
        made = self.made_template(item, lists)
        return with_differences(self.template(item), self.template(new), made) if made else None

    def pod_labels(self, item: Object, lists: Lists[Object]) -> Object:
        """Return the labels that the owner gives its pods."""
        return mapping(self.made_template(item, lists), "metadata", "labels")

    def pod_selector(self, item: Object, lists: Lists[Object]) -> Object:
        """Return the selector of the Deployment that the owner has made."""
        made = self.made(item, lists)
        return mapping(made, "spec", "selector") if made is not None else {}

    def placed_templates(self, item: Object, lists: Lists[Object]) -> list[Object]:
        """Return the template that the owner has made, which may ask for more than the object."""
        made = self.made_template(item, lists)
        return [made] if made else self.unit_templates(item)

    def needs_its_name(self, item: Object, lists: Lists[Object]) -> bool:
        """True if a pod without `name_label` would lack what its owner's webhook adds."""
        held = mapping(self.made_template(item, lists), "metadata", "annotations")
        prefix = self.internal_annotations
        return bool(prefix) and any(key.startswith(prefix) for key in held)

    # --- where its rollout stands

    def has_seen(self, item: Object, lists: Lists[Object]) -> bool:
        """True if the Deployment that the owner has made holds the object's present state."""
        return holds(self.template(item), self.made_template(item, lists))

    def own_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """Return the pods of the Deployment that the owner has made."""
        made = self.made(item, lists)
        return super().own_pods(item, lists) if made is None else DEPLOYMENT.own_pods(made, lists)

    def newest_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """Return those of its newest ReplicaSet; none until the owner has seen the present state."""
        made = self.made(item, lists)
        if made is None or not self.has_seen(item, lists):
            return []
        return DEPLOYMENT.newest_pods(made, lists)

    def rolled_out(self, item: Object, lists: Lists[Object]) -> bool:
        """True if the owner has seen the present state and its Deployment has rolled it out."""
        made = self.made(item, lists)
        return (
            made is not None and self.has_seen(item, lists) and DEPLOYMENT.rolled_out(made, lists)
        )


def with_differences(former: Object, new: Object, made: Object) -> dict[str, Any] | None:
    """Return `made` with what differs between `former` and `new`, of which `made` holds `former`;
    None where it does not, or where more than containers differ.
    """
    if _besides(former) != _besides(new) or not holds(former, made):
        return None
    result: dict[str, Any] = copy.deepcopy(dict(made))
    targets = {text(one, "name"): one for one in result["spec"]["containers"]}
    before = {text(one, "name"): one for one in objects(former, "spec", "containers")}
    for container in objects(new, "spec", "containers"):
        held, target = before.get(text(container, "name")), targets.get(text(container, "name"))
        if held is None or target is None:
            return None
        for key in sorted({*held, *container}):
            if held.get(key) == container.get(key):
                continue
            if key in _WORDS:
                kept = len(sequence(target, key)) - len(sequence(held, key))
                target[key] = [*sequence(target, key)[:kept], *sequence(container, key)]
            elif key == "env":
                names = {text(one, "name") for one in objects(held, "env")}
                rest = [one for one in objects(target, "env") if text(one, "name") not in names]
                target["env"] = [*rest, *copy.deepcopy(objects(container, "env"))]
            elif target.get(key) == held.get(key) and key in container:
                target[key] = copy.deepcopy(container[key])
            else:
                return None
    return result


def holds(own: Object, made: Object) -> bool:
    """True if the containers of the template `made` have the words, at their end, and the variables
    of those of `own`.
    """
    targets = {text(one, "name"): one for one in objects(made, "spec", "containers")}
    for container in objects(own, "spec", "containers"):
        target = targets.get(text(container, "name"))
        if target is None:
            return False
        for key in _WORDS:
            words = list(sequence(container, key))
            if words and list(sequence(target, key))[-len(words) :] != words:
                return False
        held = {text(one, "name"): one for one in objects(target, "env")}
        for one in objects(container, "env"):
            if held.get(text(one, "name")) != one:
                return False
    return bool(targets)


def _besides(template: Object) -> Object:
    return {key: found for key, found in mapping(template, "spec").items() if key != "containers"}
