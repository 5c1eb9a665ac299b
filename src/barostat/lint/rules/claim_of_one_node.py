"""Several replicas on a claim that one node at a time can mount.

Meaning: A ReadWriteOnce volume is attached to one node; replicas on other nodes wait for it.
ReadWriteOncePod lets one pod have it.
Impact: replicas beyond the first hang in ContainerCreating ("Multi-Attach error"), unless all land
on one node.

Bad:

    {kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: models}, spec: {accessModes:
    [ReadWriteOnce], resources: {requests: {storage: 100Gi}}}}
    ---
    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {replicas: 2, template: {spec:
    {volumes: [{name: c, persistentVolumeClaim: {claimName: models}}], containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], volumeMounts: [{name: c, mountPath:
    /root/.cache/huggingface}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Good:

    {kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: models}, spec: {accessModes:
    [ReadWriteMany], resources: {requests: {storage: 100Gi}}}}
    ---
    {kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {replicas: 2, template: {spec:
    {volumes: [{name: c, persistentVolumeClaim: {claimName: models}}], containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"], volumeMounts: [{name: c, mountPath:
    /root/.cache/huggingface}], resources: {limits: {nvidia.com/gpu: 1}}}]}}}}

Fix: a ReadWriteMany (or ReadOnlyMany) volume, a StatefulSet with volumeClaimTemplates, or one
replica.
Source: Kubernetes, Persistent Volumes (access modes).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene, VolumeClaim
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._watched import engines_of

_ONE_NODE, _ONE_POD = "ReadWriteOnce", "ReadWriteOncePod"


def judge(scene: Scene) -> Iterator[Found]:
    """Every workload whose replicas share such a claim: as many as it declares, or as its
    autoscaler may make.
    """
    for engine in scene.engines:
        pod = engine.pod
        mounts = engine.host.mounts.values() if engine.host is not None else ()
        if pod is None or pod.kind not in ("Deployment", "ReplicaSet", "StatefulSet"):
            continue
        for mount in mounts:
            claim = _claim(scene, pod.namespace, mount.name)
            if claim is None or not claim.modes or claim.modes - {_ONE_NODE, _ONE_POD}:
                continue
            scaled = _most(scene, engine)
            declared = pod.replicas or 1
            if max(declared, scaled) > 1:
                alone = _ONE_POD in claim.modes
                count = f"{declared}" if declared >= scaled else f"up to {scaled}"
                yield Found(
                    mount.place,
                    f"{count} replicas share the claim {claim.name}, which is "
                    f"{_ONE_POD if alone else _ONE_NODE}: those on other nodes never start",
                    "ReadWriteMany, or one replica",
                    severity="error" if alone else None,
                )


def _most(scene: Scene, engine: Engine) -> int:
    """Return the most replicas that an autoscaler of the engine's workload makes, 0 without one."""
    counts = [
        int(scaler.most)
        for scaler in scene.scalers
        if scaler.most is not None and engine in engines_of(scene, scaler)
    ]
    return max(counts, default=0)


def _claim(scene: Scene, namespace: str, name: str) -> VolumeClaim | None:
    found = [
        claim
        for claim in scene.claims
        if name
        and claim.name == name
        and (not claim.namespace or not namespace or claim.namespace == namespace)
    ]
    return found[0] if len(found) == 1 else None


RULE = Rule("claim-of-one-node", "replicas that share a volume of one node", judge, "warning")
