"""A volume for the model that is not where vLLM downloads to.

Meaning: A claim is mounted, by its path or name for models, but the weights go to HF_HOME (or
/root/.cache/huggingface), which does not lie on it.
Impact: each start downloads the weights again, and the volume stays empty.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: model-cache,
        persistentVolumeClaim: {claimName: model-cache}}], containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          volumeMounts: [{name: model-cache, mountPath: /models}], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: model-cache,
        persistentVolumeClaim: {claimName: model-cache}}], containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          env: [{name: HF_HOME, value: /models}], volumeMounts: [{name: model-cache,
          mountPath: /models}], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: HF_HOME (or --download-dir) on the volume, or the volume at /root/.cache/huggingface.
Source: huggingface_hub, environment variables (HF_HOME); vLLM LoadConfig.download_dir.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._weights import cache_path, is_hub_name, mount_of

_FOR_MODELS = re.compile(r"model|cache|hugging|hf|weights|hub", re.IGNORECASE)


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that downloads beside its volume."""
    for engine in scene.engines:
        host, path, pod = engine.host, cache_path(engine), engine.pod
        if (
            host is None
            or path is None
            or pod is None
            or not pod.raw
            or not engine.complete
            or not engine.own_image
            or not is_hub_name(engine)
        ):
            continue
        claims = [
            mount
            for mount in host.mounts.values()
            if mount.source == "claim" and _FOR_MODELS.search(f"{mount.path} {mount.name}")
        ]
        if not claims or mount_of(engine, path) is not None or "MODELSCOPE_CACHE" in engine.env:
            continue
        if any(mount.path.startswith(path.removesuffix("/hub")) for mount in claims):
            continue
        yield Found(
            claims[0].place,
            f"the volume at {claims[0].path} is not where the weights go: {path}",
            f"HF_HOME={claims[0].path}",
            confidence="medium",
        )


RULE = Rule("volume-not-at-cache", "a volume beside the cache", judge, "warning", "medium")
