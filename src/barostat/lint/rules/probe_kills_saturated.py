"""A liveness probe that kills an engine because it is busy.

Meaning: `/health` is answered by the same process that parses requests and tokenizes prompts. With
Kubernetes' default of one second a burst of long prompts is enough to miss three in a row.
Impact: a busy replica is killed, its requests fail, the others take its load and are killed next.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}},
      livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 600, periodSeconds:
      5}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}},
      livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 600,
      timeoutSeconds: 10, failureThreshold: 6}}]}}

Fix: timeoutSeconds of 5 to 10 and about a minute of patience: a dead engine is found by what it
does not do, not by one slow answer.
Source: false restarts as reported (gonka-ai/gonka#1421: more than eight a day),
vllm-project/vllm#36960, #39863.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import changed
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

PATIENCE_S = 60.0
NEVER_S = 86_400.0
"""A probe that begins after a day was switched off by whoever wrote that."""


def judge(scene: Scene) -> Iterator[Found]:
    """Every liveness probe with a second to answer in and less than a minute of patience."""
    for engine in scene.engines:
        probe = engine.host.probes.get("liveness") if engine.host is not None else None
        if (
            probe is None
            or not probe.path.startswith("/")
            or probe.timeout_s > 1
            or probe.period_s * probe.failures >= PATIENCE_S
            or probe.initial_delay_s >= NEVER_S
        ):
            continue
        given = (
            "timeoutSeconds 1" if probe.timeout_place is not None else "the default timeout of 1 s"
        )
        yield Found(
            probe.place,
            f"with {given} the engine is killed after "
            f"{probe.period_s * probe.failures:.0f} s in which it is too "
            f"busy to answer {probe.path}",
            "timeoutSeconds: 10, failureThreshold: 6",
            changed(probe.timeout_place, "10") if probe.timeout_place is not None else (),
        )


RULE = Rule(
    "probe-kills-saturated", "a liveness probe that kills a busy engine", judge, "warning", "medium"
)
