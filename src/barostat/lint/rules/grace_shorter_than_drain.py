"""The pod is killed before its requests have finished.

Meaning: after SIGTERM the engine drains for `--shutdown-timeout` seconds; a preStop hook goes
before it. Both count against terminationGracePeriodSeconds (30 unless set), at the end of which the
container is killed.
Impact: streams are cut at every rollout although a drain was asked for.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {terminationGracePeriodSeconds: 60,
    containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B", "--shutdown-timeout",
      "120"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {terminationGracePeriodSeconds: 150,
    containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B", "--shutdown-timeout",
      "120"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: the sum of preStop, `--shutdown-timeout` and ten seconds for the end of the processes.
Source: vLLM 0.18.0 and later, entrypoints/launcher.py; Kubernetes, pod termination.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import changed
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

TEARDOWN_S = 10.0
DEFAULT_S = 30.0


def judge(scene: Scene) -> Iterator[Found]:
    """Every grace period that is shorter than what is to happen in it."""
    for engine in scene.engines:
        pod = engine.pod
        if pod is None or not pod.raw:
            continue
        drain, hook = engine.number("shutdown_timeout") or 0.0, pod.pre_stop_s or 0.0
        grace = pod.grace_s if pod.grace_s is not None else DEFAULT_S
        needed = drain + hook + (TEARDOWN_S if drain else 0.0)
        if not (drain or hook) or grace >= needed:
            continue
        enough = drain + hook + TEARDOWN_S
        parts = " and ".join(
            text
            for text in (
                f"preStop {hook:.0f} s" if hook else "",
                f"--shutdown-timeout {drain:.0f} s" if drain else "",
            )
            if text
        )
        yield Found(
            pod.grace_place or pod.place,
            "terminationGracePeriodSeconds is "
            f"{grace:.0f}{'' if pod.grace_s is not None else ' (the default)'}: "
            f"{parts} do not fit into it",
            f"terminationGracePeriodSeconds: {enough:.0f}",
            changed(pod.grace_place, f"{enough:.0f}") if pod.grace_place is not None else (),
        )


RULE = Rule(
    "grace-shorter-than-drain",
    "the pod is killed before it has drained",
    judge,
    "warning",
    topic="rollout",
)
