"""A disk smaller than the weights that go to it.

Meaning: The weights are downloaded to a volume (a claim, an emptyDir with a sizeLimit) or, without
one, to the container's own disk, which `ephemeral-storage` limits.
Impact: "No space left on device" in the download, or the pod is evicted, at every start.

Bad:

    {kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: models}, spec: {accessModes:
    [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: c, persistentVolumeClaim:
    {claimName: models}}], containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model",
    "Qwen/Qwen2.5-72B-Instruct"], volumeMounts: [{name: c, mountPath: /root/.cache/huggingface}],
    resources: {limits: {nvidia.com/gpu: 4}}}]}}

Good:

    {kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: models}, spec: {accessModes:
    [ReadWriteOnce], resources: {requests: {storage: 200Gi}}}}
    ---
    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: c, persistentVolumeClaim:
    {claimName: models}}], containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model",
    "Qwen/Qwen2.5-72B-Instruct"], volumeMounts: [{name: c, mountPath: /root/.cache/huggingface}],
    resources: {limits: {nvidia.com/gpu: 4}}}]}}

Fix: a volume of the weights' size and a fifth more; some repositories hold them twice (another
format beside).
Source: Kubernetes, local ephemeral storage, emptyDir sizeLimit; huggingface_hub (cache).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.document import Place
from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._weights import (
    cache_path,
    claim_bytes,
    is_hub_name,
    mount_of,
    weights_bytes,
)

SURE_RATIO, LIKELY_RATIO = 0.8, 1.0
"""A disk below this share of the estimated weights is certainly, or probably, too small."""


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine whose weights do not fit where they are downloaded to."""
    for engine in scene.engines:
        path = cache_path(engine)
        weights = weights_bytes(engine)
        pod = engine.pod
        if pod is None or not pod.raw or not is_hub_name(engine) or path is None or not weights:
            continue
        place, size, what = _disk(scene, engine, path)
        if place is None or size is None or size >= LIKELY_RATIO * weights:
            continue
        sure = size < SURE_RATIO * weights
        yield Found(
            place,
            f"{what} holds {size / 1e9:.0f} GB, and {engine.model.text if engine.model else ''} "
            f"has about {weights / 1e9:.0f} GB of weights",
            f"at least {weights * 1.2 / 2**30:.0f}Gi",
            severity="error" if sure else None,
            confidence=None if sure else "medium",
        )


def _disk(scene: Scene, engine: Engine, path: str) -> tuple[Place | None, float | None, str]:
    mount, host = mount_of(engine, path), engine.host
    if mount is None:
        if host is None or host.ephemeral is None:
            return None, None, ""
        return host.ephemeral.place, host.ephemeral_bytes, "the container's own disk"
    if mount.source == "claim":
        return mount.place, claim_bytes(scene, engine, mount), f"the claim {mount.name}"
    return mount.place, mount.size_bytes, "the emptyDir"


RULE = Rule("disk-too-small", "a disk smaller than the weights", judge, "warning")
