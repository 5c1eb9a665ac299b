"""A probe that the server never answers.

Meaning: the probe asks a port at which vLLM does not listen (8000 unless `--port` says otherwise),
a path that it does not have (it answers `/health`; `/healthz` and `/ready` are 404), in plain text
where it speaks TLS, or `/v1/models` without the key that it asks for.
Impact: as a startup or liveness probe it kills the container again and again, as a readiness probe
no request ever reaches the pod.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--port", "8080"], resources: {limits: {nvidia.com/gpu:
      1}}, readinessProbe: {httpGet: {path: /health, port: 8000}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B", "--port", "8080"], resources: {limits: {nvidia.com/gpu:
      1}}, readinessProbe: {httpGet: {path: /health, port: 8080}}}]}}

Fix: `httpGet: {path: /health, port: ...}` with the port of `--port`: no key is asked for at
/health.
Source: vLLM 0.32.0 entrypoints/serve (routes; middleware/authenticate.py: what begins with /v1 asks
for the key); Kubernetes, Probe: a named port is one of the same container.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.lint.document import Edit, Place
from barostat.lint.edits import changed
from barostat.lint.facts import Engine, Given, Probe, Scene
from barostat.lint.rule import Confidence, Found, Rule
from barostat.lint.rules._listens import is_encrypted, is_told, port_of

_PATHS = re.compile(
    r"(?:^|/)(?:health|ping|version|load|metrics|v1/models|docs|redoc|openapi\.json)/?(?:\?.*)?$|/v1/models/.+"
)
_TO_FILL_IN = re.compile(r"[${}<>]")
_OF_ANOTHER = ("middleware", "root_path", "tool_server")
"""Arguments that bring paths of their own."""
_NOTHING = Given("", Place("", 1, 1))
_EFFECT = {
    "startup": "the container is killed before it ever counts as started",
    "liveness": "the container is killed again and again",
    "readiness": "no request ever reaches the pod",
}


def judge(scene: Scene) -> Iterator[Found]:
    """Every probe of an engine that asks where nothing answers."""
    for engine in scene.engines:
        port = port_of(scene, engine)
        if engine.host is None or port is None:
            continue
        for kind, probe in engine.host.probes.items():
            wrong = _wrong(engine, probe, port) if probe.way else None
            if wrong is not None:
                why, place, fix, edits = wrong
                confidence: Confidence | None = None if engine.own_image else "medium"
                yield Found(
                    place,
                    f"the {kind} probe {why}: {_EFFECT[kind]}",
                    fix,
                    edits,
                    confidence=confidence,
                )


def _wrong(
    engine: Engine, probe: Probe, port: str
) -> tuple[str, Place, str, tuple[Edit, ...]] | None:
    """What is wrong with how it asks, where, what to do and how; None if it may be answered."""
    at = probe.port
    if at is not None and not is_told(at.text):
        return None
    if at is not None and at.text != port:
        if not at.text.isdigit():
            return (
                f"asks for a port {at.text} that the container does not have",
                at.place,
                f"port: {port}",
                changed(at.place, port),
            )
        edits = changed(at.place, port) if probe.way != "exec" else ()
        return (
            f"asks port {at.text}, and the server listens at {port}",
            at.place,
            f"port: {port}",
            edits,
        )
    if probe.way == "grpc":
        return (
            "asks by gRPC, and the server speaks HTTP",
            probe.place,
            f"httpGet: {{path: /health, port: {port}}}",
            (),
        )
    if probe.way not in ("httpGet", "exec"):
        return None
    if is_encrypted(engine) != (probe.scheme == "HTTPS"):
        said = (
            "asks in plain text, and the server speaks TLS"
            if is_encrypted(engine)
            else "asks for TLS, and the server speaks none"
        )
        return said, probe.place, f"scheme: {'HTTPS' if is_encrypted(engine) else 'HTTP'}", ()
    path = probe.asked
    if (
        probe.way != "httpGet"
        or any(engine.has(name) for name in _OF_ANOTHER)
        or (path is not None and _TO_FILL_IN.search(path.text))
    ):
        return None
    if path is None or not _PATHS.search(path.text):
        where, said = (path.place, path.text) if path is not None else (probe.place, "/")
        return (
            f"asks for {said}, which vLLM does not have",
            where,
            "path: /health",
            changed(where, "/health") if path is not None else (),
        )
    if "/v1/" in path.text and not probe.keyed and _asks_for_key(engine):
        return (
            f"shows no key, and {path.text} asks for one",
            path.place,
            "path: /health",
            changed(path.place, "/health"),
        )
    return None


def _asks_for_key(engine: Engine) -> bool:
    return (
        engine.has("api_key")
        or bool(engine.env.get("VLLM_API_KEY", _NOTHING).text)
        or "VLLM_API_KEY" in engine.env_secret
    )


RULE = Rule("probe-never-answered", "a probe that the server never answers", judge, "error")
