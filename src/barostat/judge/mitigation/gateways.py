"""The gateways in front of a target: their pods, their limits, the effect of a limit, and when it
is no longer needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from barostat.core.change import ConfigChange
from barostat.core.window import Window
from barostat.platform.objects import Object, condition, is_going, name_of, objects, text, value
from barostat.platform.workloads import kind_typed
from barostat.remedy.annotations import FRONTS
from barostat.remedy.plan import GatewayRef, LiveEdge

ADMIN_PORT = 8081
"""Default admin port of `barostat gateway`."""
FIELDS = {
    "request.maxInputTokens": ("request", "maxInputTokens"),
    "request.maxOutputTokens": ("request", "maxOutputTokens"),
    "edge.kvTokenBudget": ("edge", "kvTokenBudget"),
}
"""The limits of a change, as the limits file has them; the last word is what a gateway's `PUT
/limits` takes.
"""
_TELL_CALM = (
    "kv_usage_ratio",
    "preemptions_per_s",
    "waiting_requests",
    "gateway_refusals_in_window",
    "gateway_queued_requests",
)
_SHELL_ENDS = re.compile(r"""[;&|()"'\n]+""")
"""Characters that end a word in a shell text, in addition to white space."""
NOBODY = 1.0
"""Mean number of waiting requests below which there is no queue."""


@dataclass(frozen=True, slots=True)
class SeenGateway:
    """A gateway and what its pages said: `documents` of `GET /limits`, one of each process; `why`:
    why no limit can be set on it.
    """

    ref: GatewayRef
    documents: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    why: str = ""

    def now(self, name: str) -> int | None:
        """The limit of that name that is in force, where every process of it has one: the
        loosest.
        """
        found = [value(document, "limits", "spec", *FIELDS[name]) for document in self.documents]
        held = [number for number in found if isinstance(number, int)]
        return max(held) if held and len(held) == len(found) else None

    @property
    def watches(self) -> bool:
        """True if a process of it enforces nothing (--shadow)."""
        return any(document.get("shadow") is True for document in self.documents)

    def taken_by(self, incident: str) -> str:
        """Return another holder of limits at the gateway; empty for none."""
        holders = (text(document, "override", "holder") for document in self.documents)
        return next((holder for holder in holders if holder and holder != incident), "")


def fronting(
    pods: Iterable[Object], namespace: str, deployment: str
) -> dict[GatewayRef, list[Object]]:
    """Return the gateways in front of that Deployment with their pods, without terminating ones.

    A gateway is recognised by the annotation `barostat.dev/fronts` (names, or namespace/name,
    comma-separated), or because its command follows the workload (`barostat gateway deploy/NAME`),
    also inside a shell text (`sh -c "exec barostat gateway deploy/NAME"`).
    """
    found: dict[GatewayRef, list[Object]] = {}
    for pod in pods:
        home = text(pod, "metadata", "namespace")
        if is_going(pod) or (namespace, deployment) not in set(_fronted(pod, home)):
            continue
        found.setdefault(ref_of(pod), []).append(pod)
    return found


def ref_of(pod: Object) -> GatewayRef:
    """The Deployment that the pod belongs to, as a gateway."""
    owner = next(
        (
            text(one, "name")
            for one in objects(pod, "metadata", "ownerReferences")
            if one.get("controller") is True
        ),
        "",
    )
    hash_ = text(pod, "metadata", "labels", "pod-template-hash")
    name = owner.removesuffix(f"-{hash_}") if hash_ and owner else owner or name_of(pod)
    return GatewayRef("Deployment", name, text(pod, "metadata", "namespace"), admin_port(pod))


def may_answer(pod: Object) -> bool:
    """True for a pod that has a port like a gateway's admin page."""
    return not is_going(pod) and any(
        port.get("name") == "admin" or port.get("containerPort") == ADMIN_PORT
        for container in objects(pod, "spec", "containers")
        for port in objects(container, "ports")
    )


def answers_for(document: Mapping[str, Any] | None, deployment: str) -> bool:
    """True if the answer to `GET /limits` is a gateway's whose limits are for that workload."""
    return (
        document is not None
        and "override" in document
        and text(document, "limits", "spec", "targetRef", "name") == deployment
    )


def admin_port(pod: Object) -> int:
    """The port of the pod's admin page: the one that is named so."""
    for container in objects(pod, "spec", "containers"):
        for port in objects(container, "ports"):
            number = port.get("containerPort")
            if port.get("name") == "admin" and isinstance(number, int):
                return number
    return ADMIN_PORT


def ready(pods: Iterable[Object]) -> list[Object]:
    """Return the pods that are Ready."""
    return [pod for pod in pods if condition(pod, "Ready").get("status") == "True"]


def _fronted(pod: Object, home: str) -> Iterable[tuple[str, str]]:
    """Namespace and name of each Deployment that the pod says it stands before."""
    for name in text(pod, "metadata", "annotations", FRONTS).split(","):
        if name.strip():
            namespace, _, deployment = name.strip().rpartition("/")
            yield namespace or home, deployment
    for container in objects(pod, "spec", "containers"):
        words = [word for key in ("command", "args") for word in _words(container, key)]
        if "gateway" in words and any("barostat" in word for word in words):
            named = [
                name
                for kind, slash, name in (word.partition("/") for word in words)
                if slash and kind_typed(kind) is not None and "/" not in name
            ]
            yield from ((_namespace(words) or home, name) for name in named)


def _words(container: Mapping[str, Any], key: str) -> list[str]:
    """The words of a command; of an argument that is a shell's text, the words of that text."""
    found = container.get(key)
    given = [word for word in found if isinstance(word, str)] if isinstance(found, list) else []
    return [
        part
        for word in given
        for part in (_SHELL_ENDS.sub(" ", word).split() if " " in word.strip() else [word])
    ]


def unfound(seen: Sequence[SeenGateway], *, looked: str) -> str:
    """Why a run that was given a gateway's token stops: no gateway is before the target, so that an
    engine would be restarted instead. Empty if one is. `looked`: where it was looked for.
    """
    if seen:
        return ""
    return (
        f"--gateway-token-file was given, and no gateway was found before it in {looked}: name its "
        f"admin page (--gateway http://HOST:8081), or annotate its pods {FRONTS}: NAME; without the "
        "option, replicas are restarted instead"
    )


def _namespace(words: Sequence[str]) -> str:
    for at, word in enumerate(words):
        if word in ("-n", "--namespace") and at + 1 < len(words):
            return words[at + 1]
        if word.startswith("--namespace="):
            return word.partition("=")[2]
    return ""


def why_none(seen: Sequence[SeenGateway]) -> str:
    """Why no limit can be held live; empty if every gateway before the target takes one."""
    if not seen:
        return (
            "no gateway that enforces it was found (--gateway URL names one); it goes into the "
            "limits file"
        )
    return next((f"{gateway.ref}: {gateway.why}" for gateway in seen if gateway.why), "")


def at_gateways(change: ConfigChange, seen: Sequence[SeenGateway]) -> ConfigChange | str:
    """The change from what the gateways hold now; or why it would change nothing there."""
    held = [gateway.now(change.name) for gateway in seen]
    known = [number for number in held if number is not None]
    now = max(known) if known and len(known) == len(held) else None
    watched = any(gateway.watches for gateway in seen)
    if (
        now is not None
        and change.value is not None
        and now <= int(float(change.value))
        and not watched
    ):
        return f"{seen[0].ref} holds {now} already"
    return ConfigChange(
        change.kind, change.name, None if now is None or watched else str(now), change.value
    )


def live_edge(seen: Sequence[SeenGateway]) -> LiveEdge:
    """How these gateways hold a limit."""
    return LiveEdge(
        tuple(gateway.ref for gateway in seen), enforces=any(gateway.watches for gateway in seen)
    )


def not_ready(seen: Sequence[SeenGateway], edge: LiveEdge, incident: str) -> str | None:
    """Why the plan's gateways do not take its limit; empty if they do, None if one could not
    be asked.
    """
    by_ref = {gateway.ref: gateway for gateway in seen}
    for ref in edge.gateways:
        gateway = by_ref.get(ref)
        if gateway is None:
            return f"{ref} is not there any more"
        if gateway.why:
            return f"{ref}: {gateway.why}"
        if not gateway.documents:
            return None
        if holder := gateway.taken_by(incident):
            return f"{ref}: limits are held there by {holder}"
    return ""


def is_calm(edge: LiveEdge, windows: Sequence[Window], since: float) -> tuple[bool, str]:
    """(whether the limit is not needed any more, why as a sentence). What was not measured is no
    calm. `windows`: of every replica.
    """
    if not windows:
        return False, "no replica could be read"
    for window in windows:
        usage, preempted, waiting, refused, queued = (
            _since(window, name, since) for name in _TELL_CALM
        )
        if not (usage and preempted and waiting and refused and queued):
            return False, f"{window.replica}: not all of it could be measured"
        for holds, says in (
            (not any(preempted), "still preempts"),
            (
                max(usage) <= edge.calm_ratio,
                f"holds {max(usage):.0%} of its pool, at most {edge.calm_ratio:.0%} is calm",
            ),
            (sum(waiting) / len(waiting) <= NOBODY, f"{max(waiting):.0f} requests wait in it"),
            (not any(refused), f"{refused[-1]:.0f} requests were refused at the gateway"),
            (
                sum(queued) / len(queued) <= NOBODY,
                f"{max(queued):.0f} requests wait at the gateway",
            ),
        ):
            if not holds:
                return False, f"{window.replica}: {says}"
    return (
        True,
        (
            f"for {edge.calm_s:.0f} s no pool was fuller than {edge.calm_ratio:.0%}, and "
            "nobody waited, was refused or preempted"
        ),
    )


def _since(window: Window, name: str, since: float) -> tuple[float, ...]:
    found = window.fresh(name)
    part = found.since(since) if found is not None else None
    return part.values if part is not None else ()
