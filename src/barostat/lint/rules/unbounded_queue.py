"""The engine's queue has no end.

Meaning: since 0.29 vLLM can answer 503 instead of queueing without bound (`--max-num-queued-reqs`,
`--max-num-queued-tokens`); neither is set.
Impact: overload becomes waiting time without end; clients give up and try again, and what they left
behind is still computed.

Bad:

    docker run vllm/vllm-openai:v0.32.0 --model Qwen/Qwen3-8B

Good:

    docker run vllm/vllm-openai:v0.32.0 --model Qwen/Qwen3-8B --max-num-queued-reqs 256

Fix: as many as can be served within the time that a client waits.
Source: vLLM 0.29.0 SchedulerConfig.max_num_queued_reqs; vllm-project/vllm#49445.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.vllm_behaviours import behaves
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that could bound its queue and does not."""
    for engine in scene.engines:
        bounded = engine.has("max_num_queued_reqs") or engine.has("max_num_queued_tokens")
        if engine.complete and behaves("queue-limits", engine.version) and not bounded:
            yield Found(
                engine.place,
                "the queue has no end: overload becomes waiting time",
                "--max-num-queued-reqs",
            )


RULE = Rule(
    "unbounded-queue", "a queue without end", judge, "note", "high", "pedant", topic="limits"
)
