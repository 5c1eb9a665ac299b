"""A small /dev/shm that outlives crashes, for workers of data and expert parallelism.

Meaning: NCCL keeps a file of some 10 to 32 MB in /dev/shm for each connection between the workers
of a pod. A worker that dies leaves its files there. An emptyDir lives as long as the pod, so a
container that restarts finds the files of every start before it.
Impact: one crash becomes a crash loop. After some restarts NCCL cannot create its files, and the
engine dies at start with "unhandled system error" until the pod is deleted. Reported with 16
data-parallel ranks.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: shm, emptyDir: {medium:
    Memory, sizeLimit: 2Gi}}], containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args:
    ["--model", "deepseek-ai/DeepSeek-R1", "--data-parallel-size", "8", "--enable-expert-parallel"],
    resources: {limits: {nvidia.com/gpu: 8}}, volumeMounts: [{name: shm, mountPath: /dev/shm}]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: shm, emptyDir: {medium:
    Memory, sizeLimit: 16Gi}}], containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args:
    ["--model", "deepseek-ai/DeepSeek-R1", "--data-parallel-size", "8", "--enable-expert-parallel"],
    resources: {limits: {nvidia.com/gpu: 8}}, volumeMounts: [{name: shm, mountPath: /dev/shm}]}]}}

Fix: a sizeLimit of 16Gi or more (only what is used counts against the memory limit), and
`rm -rf /dev/shm/*` before the engine starts.
Source: llm-d issue 352 (files of 32 MB left behind, 16 data-parallel ranks) and pull request 364
(/dev/shm is emptied before each start); production-stack issue 276 (NCCL asks for 9,637,888 bytes
at once); Kubernetes docs, Volumes, emptyDir (a container crash does not remove its data).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._parallel import spreads_experts, workers_in_container
from barostat.lint.rules.shm_too_small import NEEDED_CARDS_BYTES

_GIB = 2**30
REPORTED_BYTES = 2 * _GIB


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine in a pod whose data-parallel workers share 2 GiB or less."""
    for engine in scene.engines:
        host, pod = engine.host, engine.pod
        if host is None or host.shm_bytes is None or pod is None or not pod.raw:
            continue
        workers = workers_in_container(engine)
        if (
            host.other_device
            or engine.is_cpu
            or workers < 2
            or not spreads_experts(engine)
            or not NEEDED_CARDS_BYTES <= host.shm_bytes <= REPORTED_BYTES
        ):
            continue
        yield Found(
            host.shm_place or engine.place,
            f"/dev/shm has {host.shm_bytes / _GIB:.3g} GiB for {workers} workers of "
            f"{_named(engine)}: files that crashes leave there fill it, and every restart fails",
            "a sizeLimit of 16Gi, and rm -rf /dev/shm/* before the engine starts",
        )


def _named(engine: Engine) -> str:
    expert = engine.is_on("enable_expert_parallel")
    data = (engine.number("data_parallel_size") or 1) > 1
    return (
        " and ".join(word for word, given in (("data", data), ("expert", expert)) if given)
        + " parallelism"
    )


RULE = Rule("shm-fills-after-crashes", "shared memory that crashes fill", judge, "warning")
