"""The development endpoints are open.

Meaning: `VLLM_SERVER_DEV_MODE=1` adds endpoints that put the engine to sleep, drop its caches and
show its configuration.
Impact: whoever reaches the port can stop the service.

Bad:

    VLLM_SERVER_DEV_MODE=1 vllm serve Qwen/Qwen3-8B

Good:

    vllm serve Qwen/Qwen3-8B

Fix: take the variable out.
Source: vLLM 0.32.0 envs.VLLM_SERVER_DEV_MODE, entrypoints/serve.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.document import Place
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine in development mode."""
    for engine in scene.engines:
        given = engine.env.get("VLLM_SERVER_DEV_MODE")
        if given is not None and given.text not in ("0", "", "false"):
            published = any("127.0.0.1" not in _row(scene, port.place) for port in engine.published)
            yield Found(
                given.place,
                "VLLM_SERVER_DEV_MODE opens endpoints that put the engine to sleep and "
                "drop its caches" + (", and the port is published" if published else ""),
                "remove VLLM_SERVER_DEV_MODE",
                persona="ordinary" if published else None,
            )


def _row(scene: Scene, place: Place) -> str:
    text = scene.text_of(place.file) or ""
    return text[text.rfind("\n", 0, place.start) + 1 : place.end] if place.start >= 0 else ""


RULE = Rule("dev-mode", "development endpoints are open", judge, "warning", "medium", "pedant")
