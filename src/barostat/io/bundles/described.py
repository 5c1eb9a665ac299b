"""Parses the output of `kubectl describe pod` back into objects, for pods that no longer exist.

    Name:             vllm-0                 <- a line at the margin: of the pod; `Name:` begins the next one
    Containers:
      vllm:                                  <- two blanks: a container
        Last State:     Terminated           <- four: its fields
          Exit Code:    137                  <- six: what belongs to a field

Not told by it, and so not made up: the ages of events (they count from a moment that is not
printed), the environment, and whether /dev/shm is the host's.
Source: kubectl describe, 1.27 to 1.34.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

Found = dict[str, Any]
_FIELD = re.compile(r"^( *)([^:]{1,253}?):(?:\s+(.*))?$")
_EXIT_CODE = re.compile(r"-?[0-9]{1,9}")
_NAME = re.compile(r"^  [a-z0-9][-a-z0-9]{0,252}: *$")
_PRINTED = re.compile(
    r"^(?:Name|Namespace|Node|Containers|Conditions|Volumes|Tolerations|Events):"
    r"|^ {4,6}(?:Exit Code|Ready|Restart Count|Limits|Mounts):",
    re.MULTILINE,
)
"""Fields that a log does not have."""
_GAP = re.compile(r"\s{2,}")
_TIMES = re.compile(r"\(x(\d{1,9}) over ")
_PROBE = {
    "delay": "initialDelaySeconds",
    "timeout": "timeoutSeconds",
    "period": "periodSeconds",
    "#failure": "failureThreshold",
}
_PROBE_PART = re.compile(r"(delay|timeout|period|#failure)=(\d{1,9})")
_MOUNT = re.compile(r"^(/\S*) from (\S+)")
_NOTHING = ("", "<none>", "<unset>")
_OF_OTHERS = ("Roles:", "Replicas:", "Selector:")
"""Of a node, a Deployment, a Service."""
_HOLD_CONTAINERS = ("Init Containers", "Containers", "Ephemeral Containers")
_AFTER_CONTAINERS = frozenset(
    (
        *_HOLD_CONTAINERS,
        "Readiness Gates",
        "Conditions",
        "Volumes",
        "QoS Class",
        "Node-Selectors",
        "Tolerations",
        "Events",
    )
)
_OF_CONTAINER = frozenset(
    (
        *(
            "Container ID",
            "Image",
            "Image ID",
            "Port",
            "Ports",
            "Host Port",
            "Host Ports",
            "SeccompProfile",
            "Command",
            "Args",
            "State",
        ),
        *(
            "Last State",
            "Ready",
            "Restart Count",
            "Limits",
            "Requests",
            "Liveness",
            "Readiness",
            "Startup",
            "Environment",
        ),
        *("Environment Variables from", "Mounts", "Devices"),
    )
)
"""A container's last words are printed as they are, lines and all, and a traceback is indented,
too: only these names are fields.
"""
_OWN, _WITHIN = 4, 6
"""Blanks before a container's fields, and before what belongs to one of these."""


def is_described(text: str) -> bool:
    """True for what `kubectl describe pod` prints, whole or from its first lines on."""
    return bool(
        re.search(r"^Name: +\S", text, re.MULTILINE)
        and re.search(r"^(?:Init )?Containers: *$", text, re.MULTILINE)
    )


def is_log(text: str, line: re.Pattern[str]) -> bool:
    """True if a log's `line` precedes or follows the described objects, or there are none.

    A container's termination message is printed unindented, followed by its other fields.
    """
    fields = [found.start() for found in _PRINTED.finditer(text)] if is_described(text) else []
    return any(
        not fields or not fields[0] < found.start() < fields[-1] for found in line.finditer(text)
    )


def documents(text: str) -> dict[str, list[Found]]:
    """Return `pods` and, if present, `events`, as in `kubectl get -o json`.

    Errors: none; unknown lines are skipped.
    """
    made: dict[str, list[Found]] = {"pods": []}
    one: list[str] = []
    for line in [*text.splitlines(), "Name:"]:
        if line.startswith("Name:"):
            if one and not any(line.startswith(_OF_OTHERS) for line in one):
                pod, events = _pod(one)
                made["pods"].append(pod)
                if events is not None:
                    made.setdefault("events", []).extend(events)
            one = [line]
        elif one:
            one.append(line.rstrip())
    return made


def _pod(lines: Sequence[str]) -> tuple[Found, list[Found] | None]:
    top: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    part = ""
    for line in lines:
        if line and not line.startswith(" ") and (field := _FIELD.match(line)):
            if part in _HOLD_CONTAINERS and field[2] not in _AFTER_CONTAINERS:
                continue
            part = field[2]
            top[part], parts[part] = field[3] or "", []
        elif line.strip() and part:
            parts[part].append(line)
    name, namespace, node = (
        top.get("Name", ""),
        top.get("Namespace", ""),
        top.get("Node", "").partition("/")[0],
    )
    containers, before = (
        [_container(*block) for block in _blocks(parts.get(part, []))]
        for part in ("Containers", "Init Containers")
    )
    status: Found = {
        "phase": top.get("Status", "").partition(" ")[0],
        "containerStatuses": [status for _, status in containers],
        "initContainerStatuses": [status for _, status in before],
        "conditions": [
            {"type": words[0], "status": words[1]}
            for line in parts.get("Conditions", [])[1:]
            if len(words := line.split()) == 2
        ],
    }
    status |= {key.lower(): top[key] for key in ("Reason", "Message") if top.get(key)}
    spec: Found = {
        "containers": [container for container, _ in containers],
        "initContainers": [container for container, _ in before],
        "volumes": _volumes(parts.get("Volumes", [])),
    }
    if node not in _NOTHING:
        spec["nodeName"] = node
    if not any(
        mount["mountPath"] == "/dev/shm"
        for container, _ in containers
        for mount in container["volumeMounts"]
    ):
        spec["hostIPC"] = (
            True  # it is not printed, and 64 MiB must not be claimed where it may be the host's
        )
    pod: Found = {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": status,
    }
    about = {"kind": "Pod", "name": name, "namespace": namespace}
    told = [
        {**event, "involvedObject": about}
        for line in parts.get("Events", [])
        if (event := _event(line))
    ]
    return pod, told if "Events" in parts else None


def _blocks(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Names of containers or volumes, each with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if _NAME.match(line):
            found.append((line.strip()[:-1], []))
        elif found:
            found[-1][1].append(line)
    return found


def _container(name: str, lines: Sequence[str]) -> tuple[Found, Found]:
    """The container as its pod's spec has it, and its status."""
    fields: dict[str, tuple[str, list[str]]] = {}
    below: list[str] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if indent == _OWN and (field := _FIELD.match(line)) and field[2] in _OF_CONTAINER:
            below = []
            fields[field[2]] = (field[3] or "", below)
        elif indent >= _WITHIN:
            below.append(line.strip())

    def said(key: str) -> str:
        return fields.get(key, ("", []))[0]

    def under(key: str) -> list[str]:
        return fields.get(key, ("", []))[1]

    spec: Found = {
        "name": name,
        "image": said("Image"),
        "command": under("Command"),
        "args": under("Args"),
        "resources": {"limits": _pairs(under("Limits")), "requests": _pairs(under("Requests"))},
        "volumeMounts": [
            {"mountPath": mount[1], "name": mount[2]}
            for line in under("Mounts")
            if (mount := _MOUNT.match(line))
        ],
    }
    for kind in ("Liveness", "Readiness", "Startup"):
        if kind in fields:
            spec[f"{kind.lower()}Probe"] = {
                _PROBE[part]: int(number) for part, number in _PROBE_PART.findall(said(kind))
            }
    restarts = said("Restart Count")
    status: Found = {
        "name": name,
        "image": said("Image"),
        "state": _state(*fields.get("State", ("", []))),
    }
    status["lastState"] = _state(*fields.get("Last State", ("", [])))
    if said("Ready") in ("True", "False"):
        status["ready"] = said("Ready") == "True"
    if _EXIT_CODE.fullmatch(restarts):
        status["restartCount"] = int(restarts)
    return spec, status


def _state(kind: str, below: Sequence[str]) -> Found:
    """`{"terminated": {"reason": ..., "exitCode": ...}}`, empty if there was none."""
    if kind not in ("Waiting", "Running", "Terminated"):
        return {}
    told: Found = {}
    for key, value in _pairs(below).items():
        match key:
            case "Reason" | "Message":
                told[key.lower()] = value
            case "Exit Code" if _EXIT_CODE.fullmatch(value):
                told["exitCode"] = int(value)
            case "Started" | "Finished":
                told[f"{key.lower()}At"] = _rfc3339(value)
    return {kind.lower(): told}


def _rfc3339(written: str) -> str:
    """`Thu, 20 Nov 2026 08:11:09 +0000` as the API writes it; empty for anything else."""
    try:
        return datetime.strptime(written, "%a, %d %b %Y %H:%M:%S %z").isoformat()
    except ValueError:
        return ""


def _pairs(lines: Sequence[str]) -> dict[str, str]:
    return {
        field[2].strip(): field[3]
        for line in lines
        if (field := _FIELD.match(line)) and field[3] not in (None, *_NOTHING)
    }


def _volumes(lines: Sequence[str]) -> list[Found]:
    """Names, and of memory its size: what /dev/shm is made of."""
    found: list[Found] = []
    for name, below in _blocks(lines):
        told = _pairs([line.strip() for line in below])
        volume: Found = {"name": name}
        if told.get("Medium") == "Memory":
            volume["emptyDir"] = {"medium": "Memory"} | (
                {"sizeLimit": told["SizeLimit"]} if "SizeLimit" in told else {}
            )
        found.append(volume)
    return found


def _event(line: str) -> Found | None:
    """Parse one row: type, reason, age, source, message. None for the header and for other lines."""
    cells = _GAP.split(line.strip(), maxsplit=4)
    if len(cells) < 5 or cells[0] not in ("Normal", "Warning"):
        return None
    times = _TIMES.search(cells[2])
    return {
        "kind": "Event",
        "type": cells[0],
        "reason": cells[1],
        "message": cells[4],
        "count": int(times[1]) if times else 1,
    }
