"""A probe that gives up before the model is loaded.

Meaning: until a startup probe succeeds the liveness probe does not run; without one it runs at
once. A container is killed after initialDelaySeconds and failureThreshold times periodSeconds.
Loading takes the time to read the weights, to compile and to capture graphs. How long that usually
is, is an estimate (half a GB/s from a disk, 0.3 GB/s where each start downloads, and 90 s for the
rest) that disks and networks miss by a factor of two either way: a probe that gives up within a
quarter of it is a note for who asks for everything.
Impact: the container is killed while it loads, for ever.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "meta-llama/Llama-3.1-70B-Instruct"], resources: {limits: {nvidia.com/gpu:
      1}}, livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 30,
      timeoutSeconds: 5}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "meta-llama/Llama-3.1-70B-Instruct"], resources: {limits: {nvidia.com/gpu:
      1}}, startupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10, failureThreshold:
      180}, livenessProbe: {httpGet: {path: /health, port: 8000}, timeoutSeconds: 5}}]}}

Fix: a startupProbe with a failureThreshold that covers the slowest start, a download included: half
an hour costs nothing.
Source: Kubernetes, "Configure Liveness, Readiness and Startup Probes"; start-up logs: 40 s for
nothing but imports, compilation and graphs.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import changed
from barostat.lint.facts import Probe, Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._weights import (
    DOWNLOAD_BYTES_PER_S,
    USUAL_S,
    downloads,
    weights_bytes,
)

LEAST_S = 40.0
CLOSE = 0.75
"""A patience of this much of the usual time is within what the estimate can be off."""
FASTEST_BYTES_PER_S, USUAL_BYTES_PER_S = 3e9, 0.5e9


def judge(scene: Scene) -> Iterator[Found]:
    """Every probe whose patience ends before the model can be loaded, or usually is."""
    for engine in scene.engines:
        probes = engine.host.probes if engine.host is not None else {}
        probe = probes.get("startup") or probes.get("liveness")
        if probe is None:
            continue
        weights, fetched = weights_bytes(engine), downloads(engine)
        rate = DOWNLOAD_BYTES_PER_S if fetched else USUAL_BYTES_PER_S
        least, usual = LEAST_S + weights / FASTEST_BYTES_PER_S, USUAL_S + weights / rate
        if engine.is_cpu or probe.patience_s >= usual:
            continue
        kind = "startup" if "startup" in probes else "liveness"
        yield _found(probe, kind, least, usual, weights, fetched=fetched)


def _found(
    probe: Probe, kind: str, least: float, usual: float, weights: float, *, fetched: bool
) -> Found:
    size = f"{weights / 1e9:.0f} GB of weights" if weights else "a model"
    cannot = probe.patience_s < least
    effect = (
        "cannot be loaded by then"
        if cannot
        else f"usually takes {usual:.0f} s and more to "
        + ("download and load" if fetched else "load from disk, longer to download")
    )
    threshold = max(30, int(2 * usual / probe.period_s) + 1)
    fix = (
        f"failureThreshold: {threshold}"
        if kind == "startup"
        else f"a startupProbe with failureThreshold: {threshold}"
    )
    place = probe.failures_place if kind == "startup" and probe.failures_place is not None else None
    close = not cannot and probe.patience_s >= CLOSE * usual
    return Found(
        probe.place,
        f"the {kind} probe gives up {probe.patience_s:.0f} s after the start: {size} {effect}",
        fix,
        changed(place, str(threshold)) if place is not None else (),
        severity=None if cannot else "note" if close else "warning",
        confidence=None if cannot else "low" if close else "medium",
        persona="pedant" if close else None,
    )


RULE = Rule(
    "probe-kills-loading",
    "a probe that gives up before the model is loaded",
    judge,
    "error",
    topic="rollout",
)
