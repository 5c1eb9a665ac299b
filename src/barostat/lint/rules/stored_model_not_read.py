"""KServe fetches a model that the engine does not read.

Meaning: KServe puts what `storageUri` or `storage` names at /mnt/models. vLLM reads what its first
argument or `--model` names, and its default where neither does.
Impact: The server exits because the path does not exist, or serves another model than the one that
was fetched.

Bad:

    {kind: ServingRuntime, apiVersion: serving.kserve.io/v1alpha1, metadata: {name: r}, spec:
    {containers: [{name: kserve-container, image: "vllm/vllm-openai:v0.32.0", args: ["--port",
    "8080"]}]}}
    ---
    {kind: InferenceService, apiVersion: serving.kserve.io/v1beta1, metadata: {name: a}, spec:
    {predictor: {model: {runtime: r, modelFormat: {name: huggingface}, storageUri: "pvc://a/b"}}}}

Good:

    {kind: ServingRuntime, apiVersion: serving.kserve.io/v1alpha1, metadata: {name: r}, spec:
    {containers: [{name: kserve-container, image: "vllm/vllm-openai:v0.32.0", args: ["--port",
    "8080", "--model", "/mnt/models"]}]}}
    ---
    {kind: InferenceService, apiVersion: serving.kserve.io/v1beta1, metadata: {name: a}, spec:
    {predictor: {model: {runtime: r, modelFormat: {name: huggingface}, storageUri: "pvc://a/b"}}}}

Fix: `--model=/mnt/models`, with the folder in it where the storage has one.
Source: KServe, storage initializer (DefaultModelLocalMountPath).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule

MOUNTED_AT = "/mnt/models"
_FIX = f"--model={MOUNTED_AT}"


def judge(scene: Scene) -> Iterator[Found]:
    """Every such engine whose model, or whose whole command line, is known."""
    for engine in scene.engines:
        stored = engine.stored_model
        if stored is None or engine.has("config") or "$" in stored.text or engine.unset:
            continue
        if engine.model is None:
            if engine.complete and not engine.has("model"):
                yield Found(
                    stored.place,
                    f"KServe puts this model at {MOUNTED_AT}, and no argument names that path: "
                    "vLLM serves its default model",
                    _FIX,
                )
        elif _is_another_path(engine, engine.model.text):
            yield Found(
                engine.model.place,
                f"KServe puts the model at {MOUNTED_AT}: {engine.model.text} does not exist in "
                "the container",
                _FIX,
            )


def _is_another_path(engine: Engine, path: str) -> bool:
    """True for an absolute path that neither KServe nor a volume of the container makes."""
    mounts = [MOUNTED_AT, *(engine.host.mounts if engine.host is not None else ())]
    return path.startswith("/mnt/") and not any(
        path == mount or path.startswith(f"{mount}/") for mount in mounts
    )


RULE = Rule("stored-model-not-read", "a model that is fetched and not read", judge, "error")
