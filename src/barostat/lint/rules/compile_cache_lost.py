"""The model is cached on a volume; compiled kernels are not.

Meaning: the model is on a volume, but vLLM writes the output of torch.compile to VLLM_CACHE_ROOT
(~/.cache/vllm), which is inside the container.
Impact: every start compiles again: one to three minutes of most cold starts.

Bad:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {spec: {volumes:
    [{name: c, persistentVolumeClaim: {claimName: models}}], containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], volumeMounts: [{name: c,
    mountPath: /root/.cache/huggingface}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Good:

    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {template: {spec: {volumes:
    [{name: c, persistentVolumeClaim: {claimName: models}}], containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], volumeMounts: [{name: c,
    mountPath: /root/.cache}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Fix: mount the volume at /root/.cache, or set VLLM_CACHE_ROOT to a folder on it.
Source: vLLM docs, design/torch_compile (compilation cache); vLLM envs.VLLM_CACHE_ROOT; gpustack
issue 5175.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_KEEPS = ("/root", "/home", "/.cache")


def judge(scene: Scene) -> Iterator[Found]:
    """Find engines whose model is on a volume and whose compiled kernels are not."""
    for engine in scene.engines:
        host, pod = engine.host, engine.pod
        if (
            host is None
            or pod is None
            or not pod.raw
            or not engine.own_image
            or not host.has_cache
            or engine.is_cpu
            or engine.is_on("enforce_eager")
            or engine.env.keys() & {"VLLM_CACHE_ROOT", "HOME", "XDG_CACHE_HOME"}
            or any(_keeps(path) for path in host.mounts)
        ):
            continue
        yield Found(
            engine.place,
            "no volume keeps compiled kernels: every start compiles again",
            "mount a volume at /root/.cache, or set VLLM_CACHE_ROOT to a folder on the existing "
            "volume",
        )


def _keeps(path: str) -> bool:
    if "huggingface" in path:
        return False
    return path.rstrip("/") in ("/root", "/root/.cache", "/root/.cache/vllm", "/.cache") or (
        path.startswith(_KEEPS) and path.rstrip("/").endswith((".cache", "vllm"))
    )


RULE = Rule("compile-cache-lost", "compiled kernels are lost", judge, "note", "medium", "pedant")
