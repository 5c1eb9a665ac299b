"""Interface of a kind of workload.

Code outside `platform/workloads` never branches on a kind. This class answers where the arguments
are, how a change rolls out, how one unit is changed first, how it is rolled back and who would
revert it. A *unit* is changed as a whole: a pod, or a group of pods that serve as one engine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from barostat.platform.label_selector import as_query
from barostat.platform.objects import (
    Object,
    count,
    is_going,
    mapping,
    name_of,
    objects,
    text,
    value,
)
from barostat.platform.pods import engine_container, starts_engine

Rolls = Literal["", "spares", "ordinals", "canary", "owner"]
"""How a remedy changes such an object.

""          not by us: the owner's field and the patch for it are shown
spares      other objects of one replica each hold the change; home is written while it has no pod
ordinals    units are numbered; the owner changes only those from a partition on
canary      the owner runs one unit with the change beside the others, then rolls the rest
owner       the owner rolls every unit by itself once its object is written
"""
Form = Literal["template", "pod-spec"]
Refusal = TypeVar("Refusal")
MODEL_CONTAINER = "kserve-container"
"""Name of the container that KServe creates for a predictor's model."""
Found = TypeVar("Found", bound=Object)
Lists = Mapping[str, Sequence[Found]]
"""Objects of the workload's namespace, by the plural name of their kind."""

_ENDED = ("Succeeded", "Failed")
"""Phases of pods that have ended: evicted ones stay on the list. Their controller neither counts,
releases nor deletes them (Kubernetes 1.27 to 1.34, controller.FilterActivePods).
"""


@dataclass(frozen=True, slots=True)
class Api:
    """How the API server names the kind. `short`: as `kubectl` abbreviates it."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    short: str = ""

    @property
    def api_version(self) -> str:
        """The apiVersion, such as `v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def word(self) -> str:
        """Prefix of a target: `deploy`, `sts`, `rayservice`."""
        return self.short or self.kind.lower()


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a template of engine pods in the object.

    `path`: keys from the top; `*` for each item of a list (its `name` is the role) or each entry of
    a mapping (its key is the role). `units`, `size`: paths of the number of units and of pods per
    unit, relative to that item if `path` has a `*`. `several`: a path that exists if a unit has
    several pods. `model`: the key of a container in the pod's spec whose image comes from
    elsewhere. `parallel`: the path of the parallel sizes that the owner adds to the command.
    """

    path: tuple[str, ...]
    form: Form = "template"
    role: str = ""
    units: tuple[str, ...] = ("spec", "replicas")
    size: tuple[str, ...] = ()
    several: tuple[str, ...] = ()
    model: str = ""
    parallel: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Engine pods of one role. `template`: reads as a pod template. `path`: with list indices."""

    role: str
    template: Object
    path: tuple[str | int, ...]
    place: Place
    units: int = 1
    size: int = 1


@dataclass(frozen=True, slots=True)
class Revision:
    """A former state of what a change edits, as the cluster keeps it. `ready`: units of it that are
    Ready.
    """

    number: str
    source: Object
    ready: int = 0
    made_at: str = ""


class WorkloadKind:
    """One kind of workload; subclasses override what differs.

    To read a kind and advise on it, set `api`, `places`, `by_hand` and, if its pods carry one,
    `name_label`.

    `places`: positions of its templates, first the one whose pods serve requests. `name_label`: the
    label of its pods that holds the object's name; without one, pods are found by owner references
    and the object's own selector, at `selector_path` (empty: it has none). `fixed_labels`: labels of
    its pods that its owner requires, so they cannot be removed. `other_labels`: additional labels of
    all its pods, if the name's label is a common one. `pod_suffix`: the part of a pod's name after
    the object's, as a regular expression. `source_path`: the part of the object that a change edits.
    `reads`: lists that `own_pods` and `revisions` need besides pods: the objects between it and its
    pods, the nearest to the pods first. `verbs`: `create` and `delete` if a remedy creates objects of
    the kind. `whole`: its templates are complete: no controller adds an image, arguments or
    containers. `replicas_path`: the field with the number of units. `default_replicas`: used if the
    manifest has none; None if their number is not in that field, as where each pool has its own.
    `by_hand`: why Barostat does not change it, and how a person does. `reverts`: what happens to an
    edit of the objects below it. `without_surge`: how its owner rolls out without extra GPUs, as a
    sentence. `apply`: how a person makes a change if a patch of the object is not enough.
    `marks_path`: annotations of it that its controller does not pass on to its pods.
    """

    api: Api
    places: tuple[Place, ...] = (Place(("spec", "template")),)
    rolls: Rolls = ""
    unit: Literal["replica", "group"] = "replica"
    name_label: str = ""
    selector_path: tuple[str, ...] = ("spec", "selector")
    fixed_labels: tuple[str, ...] = ()
    other_labels: Mapping[str, str] = {}
    role_label: str = ""
    pod_suffix: str = "-.*"
    source_path: tuple[str, ...] = ("spec", "template")
    reads: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    whole: bool = True
    replicas_path: tuple[str, ...] = ("spec", "replicas")
    default_replicas: int | None = 1
    by_hand: str = ""
    reverts: str = ""
    without_surge: str = ""
    apply: str = ""
    marks_path: tuple[str, ...] = ("metadata", "annotations")

    @property
    def marks_in_status(self) -> bool:
        """True if our marks are written through the status subresource."""
        return self.marks_path[0] == "status"

    # --- what it is made of

    def parts(self, item: Object) -> tuple[Part, ...]:
        """Return every template of engine pods in the object, first the one whose pods serve
        requests.
        """
        return tuple(part for place in self.places for part in _parts_at(item, place))

    def template(self, item: Object) -> Object:
        """Return the template of the pods that serve requests."""
        return next((part.template for part in self.parts(item)), {})

    def engine_args(self, item: Object) -> tuple[str, ...]:
        """The engine's arguments where its pods' containers do not have them; else empty."""
        return ()

    def labels(self, item: Object) -> Object:
        """Return the labels of every pod that serves requests."""
        return mapping(self.template(item), "metadata", "labels")

    def pod_labels(self, item: Object, lists: Lists[Object]) -> Object:
        """Return the same where other objects (`reads`) may have to tell."""
        del lists
        return self.labels(item)

    def pod_selector(self, item: Object, lists: Lists[Object]) -> Object:
        """Return the selector by which its controller knows its pods."""
        del lists
        return mapping(item, "spec", "selector")

    def placed_templates(self, item: Object, lists: Lists[Object]) -> list[Object]:
        """Return one template per pod of an additional unit, as its controller makes them."""
        del lists
        return self.unit_templates(item)

    def routes(self, item: Object, service: Object) -> bool:
        """True if requests reach its pods through this Service, whose selector matches them."""
        return True

    def unit_gpus(self, item: Object) -> int:
        """Return the GPUs of one unit."""
        found = [engine_container(template) for template in self.unit_templates(item)]
        return sum(int(container.gpus) for container in found if container is not None)

    def replicas(self, item: Object) -> int:
        """Return the desired number of units."""
        wanted = count(item, *self.replicas_path)
        return 1 if wanted is None else wanted

    def ready(self, item: Object) -> int | None:
        """Return the number of Ready units; None if there is no status."""
        if not mapping(item, "status"):
            return None
        return count(item, "status", "readyReplicas") or 0

    def with_replicas(self, item: Object, wanted: int) -> Mapping[str, Any]:
        """Return the merge patch that sets the number of units; empty if the object has no field for
        it.
        """
        patch: dict[str, Any] = {}
        put(patch, self.replicas_path, wanted)
        return patch

    def pods_per_unit(self, item: Object) -> int:
        """Return the number of pods that serve as one engine."""
        return max((part.size for part in self.parts(item)), default=1)

    def unit_templates(self, item: Object) -> list[Object]:
        """Return one template per pod of an additional unit."""
        return [part.template for part in self.parts(item)[:1]]

    def surge(self, item: Object) -> int:
        """Return how many extra units the owner's rollout may start at once (maxSurge): none unless
        the kind says otherwise.
        """
        return 0

    def unavailable(self, item: Object) -> int:
        """Return how many units the owner's rollout may remove at once (maxUnavailable): one unless
        the kind says otherwise.
        """
        return min(1, self.replicas(item))

    def held_in(self, item: Object) -> tuple[Api, str] | None:
        """Return API and name of the object that holds its templates at the same paths; None if it
        holds them itself.
        """
        return None

    def with_held(self, item: Object, holder: Object) -> dict[str, Any]:
        """Return a copy of the object with the templates of `holder`."""
        return self.with_source(item, self.source(holder))

    def why_not(self, item: Object) -> str:
        """Return why a remedy cannot change this object and how a person can; empty if it can."""
        return "" if self.rolls else self.by_hand

    # --- its pods

    def query(self, name: str, item: Object | None) -> str:
        """Return the label selector of its pods; empty if only owner references identify them."""
        if self.name_label:
            wanted = {self.name_label: name, **self.other_labels}
            return ",".join(f"{key}={found}" for key, found in wanted.items())
        return as_query(mapping(item, *self.selector_path)) if self.selector_path else ""

    def typed(self, name: str) -> str:
        """Return the target as typed on the command line: `deploy/vllm`."""
        return f"{self.api.word}/{name}"

    def name_for(self, pod: Object) -> str:
        """Return the name of the object of this kind that the pod's labels name, or an empty
        string.
        """
        if not self.name_label:
            return ""
        labels = mapping(pod, "metadata", "labels")
        if not self.other_labels.items() <= labels.items():
            return ""
        return text(labels, self.name_label)

    def answers(self, pod: Object) -> bool:
        """True if the pod serves its own metrics; False if a leader pod serves for it."""
        return True

    def role(self, pod: Object) -> str:
        """Return the role in the pod's labels, such as `prefill` or `decode`; empty if there is
        none.
        """
        return text(pod, "metadata", "labels", self.role_label) if self.role_label else ""

    def own_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """Return its pods that serve requests, without ended and terminating ones."""
        made = {text(item, "metadata", "uid")}
        for plural in reversed(self.reads):
            below = [found for found in lists.get(plural, []) if owned_by(found, made)]
            made |= {text(found, "metadata", "uid") for found in below}
        return [
            pod
            for pod in staying(lists.get("pods", []))
            if self.answers(pod) and (self.name_for(pod) == name_of(item) or owned_by(pod, made))
        ]

    # --- a change

    def source(self, item: Object) -> Object:
        """Return the part of the object that a change edits. If it differs from the recorded one,
        someone else changed the object.
        """
        return mapping(item, *self.source_path)

    def with_source(self, item: Object, source: Object) -> dict[str, Any]:
        """Return a copy of the object with that source."""
        new: dict[str, Any] = copy.deepcopy(dict(item))
        put(new, self.source_path, copy.deepcopy(dict(source)))
        return new

    def edited(
        self, item: Object, edit: Callable[[Object], Object | Refusal]
    ) -> dict[str, Any] | Refusal:
        """Return a copy of the object with `edit` applied to the serving template and to every
        other template that starts vLLM and accepts it. A refusal for the serving template is
        returned.
        """
        new: dict[str, Any] = copy.deepcopy(dict(item))
        for index, part in enumerate(self.parts(item)):
            if index and not starts_engine(part.template):
                continue
            made = edit(part.template)
            if isinstance(made, Mapping):
                self.put_template(new, part, made)
            elif index == 0:
                return made
        return new

    def put_template(self, new: dict[str, Any], part: Part, template: Object) -> None:
        """Write the template at the position of the part."""
        spec = dict(mapping(template, "spec"))
        if part.place.model and mapping(new, *map(str, part.path), part.place.model):
            (container,) = objects(spec, "containers")
            former = mapping(new, *map(str, part.path), part.place.model)
            kept = {key: found for key, found in container.items() if key != "name"}
            if "name" in former:
                kept["name"] = former["name"]
            put(new, (*part.path, part.place.model), kept)
        elif part.place.form == "template":
            put(new, part.path, template)
        else:
            put(new, part.path, spec)

    def newest_pods(self, item: Object, lists: Lists[Found]) -> list[Found]:
        """Return its pods that run the current source."""
        return self.own_pods(item, lists)

    def revisions(self, item: Object, lists: Lists[Object]) -> list[Revision]:
        """Return the revisions that the cluster keeps, oldest first; the last one is current."""
        return []

    def rolled_out(self, item: Object, lists: Lists[Object]) -> bool:
        """True if every unit runs the current source and no rollout is paused."""
        del item, lists
        return True

    def is_paused(self, item: Object) -> bool:
        """True if its rollouts are paused."""
        return value(item, "spec", "paused") is True


def put(node: Any, path: tuple[str | int, ...], found: Any) -> None:
    """Write a value at that path; missing mappings are created."""
    for key in path[:-1]:
        node = node.setdefault(key, {}) if isinstance(key, str) else node[key]
    node[path[-1]] = found


def staying(pods: Iterable[Found]) -> Iterator[Found]:
    """Yield the pods that have neither ended nor are terminating."""
    for pod in pods:
        if not is_going(pod) and text(pod, "status", "phase") not in _ENDED:
            yield pod


def owned_by(item: Object, uids: Iterable[str]) -> bool:
    """True if one of these UIDs is the object's controller."""
    return any(
        text(owner, "uid") in uids and owner.get("controller") is True
        for owner in objects(item, "metadata", "ownerReferences")
    )


def surge_of(strategy: Object, replicas: int) -> int:
    """Return maxSurge of a Deployment's strategy in pods; default 25 %, rounded up."""
    if text(strategy, "type") == "Recreate":
        return 0
    written = value(strategy, "rollingUpdate", "maxSurge")
    return share(25 if written is None else written, replicas, percent=written is None)


def unavailable_of(strategy: Object, replicas: int) -> int:
    """Return maxUnavailable of a Deployment's strategy in pods; default 25 %, rounded down."""
    if text(strategy, "type") == "Recreate":
        return replicas
    written = value(strategy, "rollingUpdate", "maxUnavailable")
    if isinstance(written, int):
        return written
    percent = text(strategy, "rollingUpdate", "maxUnavailable").rstrip("%") or "25"
    return replicas * int(percent) // 100 if percent.isdecimal() else 0


def share(written: Any, of: int, *, percent: bool = False) -> int:
    """Resolve a number or a percentage of `of`, rounded up as Kubernetes does for a surge."""
    if isinstance(written, str) and written.endswith("%"):
        written, percent = written[:-1], True
    try:
        number = int(written)
    except (TypeError, ValueError):
        return 0
    return -(-of * number // 100) if percent else max(0, number)


def _parts_at(item: Object, place: Place) -> Iterator[Part]:
    if "*" not in place.path:
        found = mapping(item, *place.path)
        if found:
            yield _part(found, place, place.role, place.path, item)
        return
    at = place.path.index("*")
    for key, entry in _entries(value(item, *place.path[:at])):
        found = mapping(entry, *place.path[at + 1 :])
        if found:
            path: tuple[str | int, ...] = (*place.path[:at], key, *place.path[at + 1 :])
            named = key if isinstance(key, str) else text(entry, "name")
            yield _part(found, place, named or place.role, path, entry)


def _entries(node: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(node, Mapping):
        yield from node.items()
    elif isinstance(node, list):
        yield from enumerate(node)


def _part(
    found: Object, place: Place, role: str, path: tuple[str | int, ...], within: Object
) -> Part:
    units, size = count(within, *place.units), count(within, *place.size) if place.size else 1
    if size is None:
        size = 1
    if place.several and value(within, *place.several) is not None:
        size = max(2, size)
    return Part(role, _as_template(found, place), path, place, 1 if units is None else units, size)


def _as_template(found: Object, place: Place) -> Object:
    if place.form == "template":
        return found
    model = mapping(found, place.model) if place.model else {}
    if not model:
        return {"spec": found}
    rest = {key: entry for key, entry in found.items() if key != place.model}
    return {"spec": {**rest, "containers": [{"name": MODEL_CONTAINER, **model}]}}
