"""Prefix caching or chunked prefill switched off.

Meaning: both are on by default. Without prefix caching a preempted request is computed from
nothing; without chunked prefill one long prompt stops every other request for its step.
Impact: preemption costs more, tail latency rises.

Bad:

    vllm serve Qwen/Qwen3-8B --no-enable-prefix-caching

Good:

    vllm serve Qwen/Qwen3-8B

Fix: take it out, unless it is a benchmark.
Source: vLLM 0.32.0 CacheConfig, SchedulerConfig; measured: recomputed tokens 52 k with, 79 k
without prefix caching on the same requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.vllm_behaviours import behaves
from barostat.lint.edits import without_argument
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every protection that is switched off."""
    for engine in scene.engines:
        for name, what in (
            ("enable_prefix_caching", "prefix caching"),
            ("enable_chunked_prefill", "chunked prefill"),
        ):
            argument = engine.arguments.get(name)
            if (
                argument is not None
                and argument.value is False
                and behaves("v1-default", engine.version) is not False
            ):
                yield Found(
                    argument.place,
                    f"{what} is switched off ({argument.spelled})",
                    "leave it on",
                    without_argument(scene, argument),
                )


RULE = Rule(
    "caching-switched-off",
    "prefix caching or chunked prefill is off",
    judge,
    "note",
    "high",
    "pedant",
)
