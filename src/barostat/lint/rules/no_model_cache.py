"""The model is downloaded at every start.

Meaning: the model is named as on the hub, and no volume keeps what is downloaded.
Impact: each restart and each new replica waits for the download, and depends on the hub being
there.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["--model", "Qwen/Qwen3-8B"], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: c,
    persistentVolumeClaim: {claimName: models}}],
      containers: [{name: a, image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
      volumeMounts: [{name: c, mountPath: /root/.cache/huggingface}], resources: {limits:
      {nvidia.com/gpu: 1}}}]}}

Fix: a volume at /root/.cache/huggingface (or HF_HOME), or the model in an image volume.
Source: huggingface_hub, HF_HOME; vLLM docs, deployment/k8s.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that keeps nothing of what it downloads."""
    for engine in scene.engines:
        host, model = engine.host, engine.model
        if (
            host is None
            or model is None
            or host.has_cache
            or engine.form == "values"
            or model.text.startswith(("/", ".", "s3:", "gs:", "$"))
        ):
            continue
        if engine.pod is None or engine.pod.raw:
            yield Found(
                model.place,
                f"{model.text} is downloaded at every start: no volume keeps it",
                "a volume at HF_HOME",
            )


RULE = Rule(
    "no-model-cache", "the model is downloaded at every start", judge, "note", "medium", "pedant"
)
