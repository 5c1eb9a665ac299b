"""The probes of a container and its hook before the end, as Kubernetes reads them.

Source: core/v1 Probe, HTTPGetAction (scheme is HTTP unless set), Lifecycle; a named port is one of
the container's own.
"""

from __future__ import annotations

import re

from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Given, Probe

_WAYS = ("httpGet", "tcpSocket", "grpc")
_ASKED = re.compile(
    r"(?P<scheme>https?)://(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::(?P<port>\d{1,5}))?(?![\w.:$])"
)
"""What a command asks of its own pod: `curl -fsS http://localhost:8000/health`."""
_FORGIVEN = re.compile(r"\|\|(?!\s*exit\s+[1-9])")
_KEY = "VLLM_API_KEY"


def probes(document: Document, container: Node) -> dict[str, Probe]:
    """By kind: startup, readiness, liveness."""
    found: dict[str, Probe] = {}
    for kind in ("startup", "readiness", "liveness"):
        node = container.get(f"{kind}Probe")
        if node is None or node.kind != "map":
            continue
        found[kind] = Probe(
            document.key_place(container, f"{kind}Probe"),
            node.word("httpGet", "path")
            or ("exec" if node.get("exec") else "tcp" if node.get("tcpSocket") else "grpc"),
            node.number("initialDelaySeconds") or 0.0,
            node.number("periodSeconds") or 10.0,
            node.number("timeoutSeconds") or 1.0,
            int(node.number("failureThreshold") or 3),
            document.place(at) if (at := node.get("failureThreshold")) is not None else None,
            document.place(at) if (at := node.get("timeoutSeconds")) is not None else None,
            *_asked(document, container, node),
        )
    return found


def _asked(
    document: Document, container: Node, probe: Node
) -> tuple[str, Given | None, Given | None, str, bool]:
    """How the probe asks, where, for what, by which scheme, and whether it may show a key."""
    action = next((probe.get(way) for way in _WAYS if probe.get(way) is not None), None)
    command = probe.list_at("exec", "command")
    if action is None:
        return _asked_by(document, command)
    way = next(way for way in _WAYS if probe.get(way) is not None)
    port, path = action.get("port"), action.get("path")
    headers = {item.word("name").lower() for item in action.maps_at("httpHeaders")}
    elsewhere = bool(action.word("host")) or (port is None and way != "grpc")
    return (
        "" if elsewhere else way,
        Given(_number_of(container, port.text), document.place(port)) if port is not None else None,
        written(document, path),
        action.word("scheme").upper() or "HTTP",
        "authorization" in headers or _may_be_without_key(container),
    )


def _asked_by(
    document: Document, command: list[Node]
) -> tuple[str, Given | None, Given | None, str, bool]:
    """The same of a command that is one question to this pod, which may show a key, or not mind a
    status; nothing of any other.
    """
    found = [(node, match) for node in command for match in _ASKED.finditer(node.text)]
    if len(found) != 1 or any(_FORGIVEN.search(node.text) for node in command):
        return "", None, None, "HTTP", True
    node, match = found[0]
    port = match["port"] or ("443" if match["scheme"] == "https" else "80")
    return (
        "exec",
        Given(port, document.within(node, match.start(), match.end())),
        None,
        match["scheme"].upper(),
        True,
    )


def _number_of(container: Node, port: str) -> str:
    """The number of a port that is named; the name where the container has none of it."""
    return next(
        (
            item.word("containerPort")
            for item in container.maps_at("ports")
            if item.word("name") == port
        ),
        port,
    )


def _may_be_without_key(container: Node) -> bool:
    """True if the key comes from a Secret that need not be there."""
    return any(
        item.word("name") == _KEY
        and item.get("valueFrom") is not None
        and item.get("valueFrom", "secretKeyRef", "optional") is not None
        for item in container.maps_at("env")
    )


def pre_stop(container: Node) -> float | None:
    """Seconds that the preStop hook sleeps; 0 for one that we cannot read; None if there is
    none.
    """
    hook = container.get("lifecycle", "preStop")
    if hook is None:
        return None
    if (seconds := hook.number("sleep", "seconds")) is not None:
        return seconds
    text = " ".join(item.text for item in hook.list_at("exec", "command"))
    sleeps = re.findall(r"\bsleep\s+(\d{1,9})\b", text)
    return float(max(map(int, sleeps))) if sleeps else 0.0
