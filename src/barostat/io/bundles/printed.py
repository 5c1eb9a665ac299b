"""A loose file that holds what `kubectl` or `nvidia-smi` printed: told by its first bytes, whatever
it is called, and read as what it is.

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
from barostat.engines.vllm.logs.text import plain
from barostat.io.bundles import described
from barostat.io.bundles.layout import KINDS
from barostat.io.input_files.json_text import why_no_json
from barostat.io.input_files.yaml_bounds import too_much
from barostat.io.input_files.yaml_places import Written, composed
from barostat.io.input_files.yaml_places import plain as plain_values
from barostat.platform.objects import items

Printed = Literal["objects", "described", "nvidia-smi.txt", "nvidia-smi.csv", ""]
HEAD_BYTES = 64 << 10
"""Bytes to read from the beginning of a file: enough to recognise it."""
_JSON = re.compile(r"^\s*[\[{]")
_JSON_KIND = re.compile(rf'"kind": ?"(?:{"|".join(KINDS)})(?:List)?"')
_LIVE_JSON = re.compile(r'"(?:status|containerStatuses|involvedObject|regarding)": ?[{\[]')
_LIVE_YAML = re.compile(r"^(?:  )?(?:status|involvedObject|regarding): *$", re.MULTILINE)
_YAML_BEGINS = re.compile(
    r"(?:\s|---[^\n]*\n|#[^\n]*\n)*(?:- )?(?:apiVersion|kind|items|metadata|spec|status):"
)
_YAML_ENDS = re.compile(r"^---[ \t]*$", re.MULTILINE)
_YAML_KIND = re.compile(rf"^(?:- | *)kind: (?:{'|'.join(KINDS)}|List)(?:List)?\s*$", re.MULTILINE)
_TABLE = re.compile(
    r"^(?:NAMESPACE +)?(NAME +READY +STATUS +RESTARTS|LAST SEEN +TYPE +REASON|NAME +STATUS +ROLES)"
)
_GET = {"NAME": "pods", "LAST": "events"}
_QUERY = re.compile(r"^[a-z_.]+(?: \[[^\]]*\])?(?:, [a-z_.]+(?: \[[^\]]*\])?)+\s*$", re.MULTILINE)
_LOG_LINE = re.compile(
    r"^(?!\s).{0,200}?\b(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)\b.{0,3}\s{1,4}\[?\d{2,4}-\d\d\b"
    r"|^[\w.]{1,80}(?:Error|Exception): |^Traceback \(most recent",
    re.MULTILINE,
)
"""At the margin: a container's last words and an event's are within an object."""
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
    """Detect printed command output from a file's beginning; empty for logs and anything else.

    Errors: InputError for a table of `kubectl get`, which has too little in it.
    """
    head = plain(head).replace("\r\n", "\n")
    if not _JSON.match(head) and described.is_log(head, _LOG_LINE):
        return ""  # a ticket in which an engine's log stands above or below: the log tells more
    if table := _TABLE.match(head):
        kind = "nodes" if "ROLES" in table[1] else _GET[table[1].split()[0]]
        raise InputError(
            f"is the table of kubectl get, which leaves most out; kubectl get {kind} -n NS "
            f"-o json > {kind}.json is read",
            name,
        )
    if "| NVIDIA-SMI" in head:
        return "nvidia-smi.txt"
    if (row := _QUERY.search(head[:4096])) and any(column in row[0] for column in _OF_NVIDIA):
        return "nvidia-smi.csv"
    if _JSON.match(head):
        live = '"apiVersion"' in head and _JSON_KIND.search(head) and _LIVE_JSON.search(head)
        return "objects" if live else ""
    if _YAML_BEGINS.match(head) and _YAML_KIND.search(head) and _LIVE_YAML.search(head):
        return "objects"
    return "described" if described.is_described(head) else ""


def documents(kind: Printed, raw: bytes, source: str) -> dict[str, Any]:
    """The objects by kind as a bundle has them (`pods`, `events`, ...); kinds that a bundle does
    not have are passed over.

    Errors: InputError where it is cut off or none of its objects is of such a kind.
    """
    text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
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
        if why := too_much(text):
            raise InputError(f"no YAML that is read here: {why}", source)
        roots = [
            root for part in _YAML_ENDS.split(text) if (root := composed(part, source)) is not None
        ]
        found = [_values(plain_values(root, lambda *_: None)) for root in roots]
        found = (
            found[0]
            if len(found) == 1
            else [item for one in found for item in items(_unlisted(one))]
        )
    return _unlisted(found)


def _unlisted(found: Any) -> Any:
    kind = str(found.get("kind", "")) if isinstance(found, dict) else ""
    if (
        kind.endswith("List") and kind != "List"
    ):  # the items of a PodList need not say what they are
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
