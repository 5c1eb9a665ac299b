"""Offline mode, and nothing that holds the model.

Meaning: HF_HUB_OFFLINE=1 (or TRANSFORMERS_OFFLINE=1) forbids every download, and no volume brings
the model that is named as on the hub.
Impact: "Cannot find the requested files in the local cache", and the server exits.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          env: [{name: HF_HUB_OFFLINE, value: "1"}], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {volumes: [{name: c,
        persistentVolumeClaim: {claimName: models}}], containers: [{name: a,
          image: "vllm/vllm-openai:v0.32.0", args: ["--model", "Qwen/Qwen3-8B"],
          env: [{name: HF_HUB_OFFLINE, value: "1"}], volumeMounts: [{name: c, mountPath:
          /root/.cache/huggingface}], resources: {limits: {nvidia.com/gpu: 1}}}]}}

Fix: a volume with the model at HF_HOME, or the download allowed.
Source: huggingface_hub, environment variables (HF_HUB_OFFLINE).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._images import starts_itself
from barostat.lint.rules._weights import is_hub_name

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_YES = ("1", "true", "yes", "on")


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine of vLLM's own image that may not download and has no volume at all."""
    for engine in scene.engines:
        given = next((engine.env[name] for name in _OFFLINE if name in engine.env), None)
        host, image = engine.host, engine.image.text if engine.image is not None else ""
        if (
            given is None
            or given.text.lower() not in _YES
            or host is None
            or not is_hub_name(engine)
            or not starts_itself(image)
            or (engine.pod is not None and not engine.pod.raw)
            or engine.form not in ("manifest", "compose")
        ):
            continue
        holding = [path for path in host.mounts if path not in ("/dev/shm", "/tmp")]
        if not holding:
            yield Found(
                given.place,
                f"downloads are forbidden, and no volume holds {engine.model.text if engine.model else ''}",
                "a volume with the model at HF_HOME",
            )


RULE = Rule("offline-without-cache", "offline mode without the model", judge, "error")
