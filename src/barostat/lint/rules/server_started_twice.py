"""The image starts the server itself, and what starts it once more is handed to it as an argument.

Meaning: the entry point of `vllm/vllm-openai` is `vllm serve`. A container's `args`, a service's
`command` and what stands behind the image of `docker run` are its arguments: with `vllm serve
MODEL` there, `vllm serve vllm serve MODEL` is run.
Impact: "unrecognized arguments: serve", and the container restarts for ever.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "4096"]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      args: ["Qwen/Qwen3-8B", "--max-model-len", "4096"]}]}}

Fix: the model first; or the whole command where the entry point is set: `command` in Kubernetes,
`entrypoint` in a compose file.
Source: vLLM 0.32.0 docker/Dockerfile (vllm-openai; up to 0.11.0 the entry point is the module of
the API server, which refuses it too); core/v1 Container.args; compose-spec (command).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import FileForm, Scene
from barostat.lint.rule import Found, Rule

_WHOLE: dict[FileForm, str] = {
    "manifest": "command",
    "compose": "entrypoint",
    "script": "--entrypoint",
    "image": "ENTRYPOINT",
}


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that is started by its image and by its arguments."""
    for engine in scene.engines:
        if engine.handed_on is not None:
            said = engine.handed_on.text
            yield Found(
                engine.handed_on.place,
                f"the image starts the server itself: {said!r} is handed to it as an "
                "argument, which it refuses",
                f"leave {said!r} out, or set {_WHOLE.get(engine.form, 'the entry point')}",
            )


RULE = Rule("server-started-twice", "the server as an argument of the server", judge, "error")
