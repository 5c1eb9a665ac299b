"""Requests in flight are cut at every rollout.

Meaning: at SIGTERM vLLM ends requests in flight at once unless `--shutdown-timeout` (since 0.18)
lets them finish. A preStop hook that sleeps keeps new requests away while endpoints are being
updated.
Impact: every rollout and every scale-in breaks the streams that the pod serves.

Bad:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {spec:
    {containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], resources: {limits:
      {nvidia.com/gpu: 1}}}]}}}}

Good:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {spec:
    {terminationGracePeriodSeconds: 150,
      containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B",
      "--shutdown-timeout", "120"], resources: {limits: {nvidia.com/gpu: 1}}, lifecycle: {preStop:
      {sleep: {seconds: 15}}}}]}}}}

Fix: a preStop of 10 to 15 s, `--shutdown-timeout` for the longest stream, and a grace period that
covers both.
Source: vLLM 0.17 and 0.18, entrypoints/launcher.py; vllm-project/vllm#34730.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_SERVING = ("Deployment", "StatefulSet", "LeaderWorkerSet")


def judge(scene: Scene) -> Iterator[Found]:
    """Every serving workload that neither drains nor waits for its endpoints."""
    for engine in scene.engines:
        pod = engine.pod
        if pod is None or pod.kind not in _SERVING or not engine.complete:
            continue
        missing = (
            []
            if engine.number("shutdown_timeout")
            or (engine.version and engine.version.before("0.18.0"))
            else ["--shutdown-timeout"]
        )
        missing += [] if pod.pre_stop_s is not None else ["preStop"]
        if missing:
            yield Found(
                engine.place,
                f"without {' and '.join(missing)} requests in flight are cut at every rollout",
                " and ".join(missing),
            )


RULE = Rule(
    "no-drain",
    "requests in flight are cut at every rollout",
    judge,
    "note",
    "high",
    "pedant",
    topic="rollout",
)
