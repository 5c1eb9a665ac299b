"""A loose file that holds what `kubectl` or `nvidia-smi` printed: told by its first bytes, whatever it is called, and read as what it is.

kubectl get ... -o json, -o yaml   objects, put together by their kind
kubectl describe pod               the same, as far as it prints them
kubectl get                        a table: refused, with the command that prints what is read
nvidia-smi                         its table, or a query's CSV
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from barostat.core.errors import InputError
from barostat.io.bundles import described
from barostat.io.input_files.json_text import why_no_json
from barostat.io.input_files.yaml_bounds import too_much
from barostat.io.input_files.yaml_places import Written, composed, plain
from barostat.platform.objects import items

Printed = Literal["objects", "described", "nvidia-smi.txt", "nvidia-smi.csv", ""]
KINDS = {
    "Pod": "pods",
    "Event": "events",
    "Node": "nodes",
    "ReplicaSet": "replicasets",
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "LeaderWorkerSet": "leaderworkersets",
    "HorizontalPodAutoscaler": "hpas",
}
HEAD_BYTES = 64 << 10
"""Of a file's beginning: enough to tell what it is."""
_JSON = re.compile(r"^\s*[\[{]")
_JSON_KIND = re.compile(rf'"kind": ?"(?:{"|".join(KINDS)})(?:List)?"')
_LIVE_JSON = re.compile(r'"(?:status|containerStatuses|involvedObject|regarding)": ?[{\[]')
_LIVE_YAML = re.compile(r"^ *(?:- )?(?:status|containerStatuses|involvedObject|regarding):", re.MULTILINE)
_YAML_KIND = re.compile(rf"^(?:- | *)kind: (?:{'|'.join(KINDS)}|List)(?:List)?\s*$", re.MULTILINE)
_TABLE = re.compile(r"^(?:NAMESPACE +)?(NAME +READY +STATUS +RESTARTS|LAST SEEN +TYPE +REASON|NAME +STATUS +ROLES)")
_GET = {"NAME": "pods", "LAST": "events"}
_QUERY = re.compile(r"^[a-z_.]+(?: \[[^\]]*\])?(?:, [a-z_.]+(?: \[[^\]]*\])?)+\s*$", re.MULTILINE)
_LOG_LINE = re.compile(r"(?:INFO|WARNING|ERROR|DEBUG)\s{1,4}\d\d-\d\d \d\d:\d\d:\d\d|Traceback \(most recent call last\)")
_LAST_PART = re.compile(r"^Events:", re.MULTILINE)
_OF_NVIDIA = (
    "memory.used",
    "memory.total",
    "utilization.gpu",
    "clocks_event_reasons",
    "clocks_throttle_reasons",
    "ecc.errors",
    "temperature.gpu",
)


def printed(head: str, name: str) -> Printed:
    """What a file's beginning says that it is; empty where it may be a log or anything else.

    Errors: InputError for a table of `kubectl get`, which has too little in it.
    """
    if _LOG_LINE.search(_beyond_objects(head)):
        return ""  # a ticket, in which an engine's log goes on below: the log tells more
    if table := _TABLE.match(head):
        kind = "nodes" if "ROLES" in table[1] else _GET[table[1].split()[0]]
        raise InputError(
            f"is the table of kubectl get, which leaves most out; kubectl get {kind} -n NS -o json > {kind}.json is read", name
        )
    if "| NVIDIA-SMI" in head:
        return "nvidia-smi.txt"
    if (row := _QUERY.search(head[:4096])) and any(column in row[0] for column in _OF_NVIDIA):
        return "nvidia-smi.csv"
    if _JSON.match(head):
        live = '"apiVersion"' in head and _JSON_KIND.search(head) and _LIVE_JSON.search(head)
        return "objects" if live else ""
    if _YAML_KIND.search(head) and _LIVE_YAML.search(head):
        return "objects"
    return "described" if described.is_described(head) else ""


def _beyond_objects(head: str) -> str:
    """What no object holds: the message with which a container ended, in its status, is often the end of its log."""
    if _JSON.match(head) or (_YAML_KIND.search(head) and _LIVE_YAML.search(head)):
        return ""
    if described.is_described(head):
        return head[last.start() :] if (last := _LAST_PART.search(head)) else ""
    return head


def documents(kind: Printed, raw: bytes, source: str) -> dict[str, Any]:
    """The objects by kind as a bundle has them (`pods`, `events`, ...); kinds that a bundle does not have are passed over.

    Errors: InputError where it is cut off or none of its objects is of such a kind.
    """
    text = raw.decode("utf-8-sig", "replace")
    if kind == "described":
        return dict(described.documents(text))
    found: dict[str, list[Any]] = {}
    for item in items(_decoded(text, source)):
        if (known := KINDS.get(str(item.get("kind")))) is not None:
            found.setdefault(known, []).append(item)
    if not found:
        raise InputError(f"holds none of {', '.join(KINDS)}", source)
    return dict(found)


def _decoded(text: str, source: str) -> Any:
    if _JSON.match(text):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"is no JSON ({why_no_json(error)})", source) from None
    else:
        root = composed(text, source)
        if why := too_much(text):
            raise InputError(f"no YAML that is read here: {why}", source)
        found = _values(plain(root, lambda *_: None)) if root is not None else None
    kind = str(found.get("kind", "")) if isinstance(found, dict) else ""
    if kind.endswith("List") and kind != "List":  # the items of a PodList need not say what they are
        return [{"kind": kind.removesuffix("List"), **item} for item in items(found)]
    return found


def _values(node: Any) -> Any:
    """Numbers and truths as YAML takes them; dates stay text, as JSON has them."""
    match node:
        case dict():
            return {str(key): _values(value) for key, value in node.items()}
        case list():
            return [_values(value) for value in node]
        case Written():
            return node.value
        case _:
            return node
