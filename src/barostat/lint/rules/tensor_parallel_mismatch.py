"""The arguments need more GPUs than the container has.

Meaning: the engine needs tensor times pipeline parallel size GPUs (times the data-parallel engines
in this pod), and the container requests fewer; or it requests MIG instances, of which CUDA exposes
only one per process.
Impact: the server exits, or waits for a Ray cluster that never comes.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: s, emptyDir: {medium:
    Memory}}], containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B",
      "--tensor-parallel-size", "2"], resources: {limits: {nvidia.com/gpu: 1}}, volumeMounts:
      [{name: s, mountPath: /dev/shm}]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: s, emptyDir: {medium:
    Memory}}], containers: [{name: a,
      image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B",
      "--tensor-parallel-size", "2"], resources: {limits: {nvidia.com/gpu: 2}}, volumeMounts:
      [{name: s, mountPath: /dev/shm}]}]}}

Fix: the same number in both places.
Source: vLLM 0.32.0 ParallelConfig (world size), executor/multiproc_executor.py; NVIDIA MIG user
guide, "CUDA Device Enumeration".
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.cards import is_slice
from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Find engines that need more GPUs than their container has."""
    for engine in scene.engines:
        cards = engine.host.gpus if engine.host is not None else None
        several = (
            engine.multi_node
            or engine.has("nnodes")
            or engine.has("data_parallel_address")
            or engine.has("headless")
        )
        if not cards or several or _of_a_cluster(engine):
            continue
        sizes = (
            "tensor_parallel_size",
            "pipeline_parallel_size",
            "data_parallel_size_local",
            "data_parallel_size",
        )
        argument = next(
            (engine.arguments[name] for name in sizes if name in engine.arguments), None
        )
        if argument is None:  # part of a GPU, as some device plugins offer it
            continue
        if is_slice(engine.card_hint) and engine.ranks > 1:
            yield Found(
                argument.place,
                f"{argument.spelled} over MIG instances: CUDA exposes one instance per process, "
                f"and {engine.ranks} ranks need one each",
                "one larger instance, or whole cards",
            )
            continue
        if engine.cards <= cards:
            continue
        yield Found(
            argument.place,
            f"the engine takes {engine.cards} cards ({argument.spelled}), the container "
            f"has {cards:.0f}",
            f"{engine.cards} cards, or a smaller parallel size",
        )


def _of_a_cluster(engine: Engine) -> bool:
    """True if Ray may add GPUs of other pods, that is, if the pod can be part of a Ray cluster."""
    named = engine.arguments.get("distributed_executor_backend")
    single = engine.pod is not None and engine.pod.kind in ("Deployment", "ReplicaSet", "Pod")
    return named is not None and named.text == "ray" and not single


RULE = Rule(
    "tensor-parallel-mismatch", "more cards in the arguments than in the container", judge, "error"
)
