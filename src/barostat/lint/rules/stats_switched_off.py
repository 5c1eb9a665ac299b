"""Metrics and statistics switched off.

Meaning: `--disable-log-stats` takes away the statistics line and every `vllm:` metric.
Impact: pressure cannot be seen, no alert fires, no autoscaler on the engine's metrics works.

Bad:

    vllm serve Qwen/Qwen3-8B --disable-log-stats

Good:

    vllm serve Qwen/Qwen3-8B

Fix: take it out.
Source: vLLM 0.32.0 v1/engine/async_llm.py (log_stats), v1/metrics/loggers.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import without_argument
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that shows no metrics."""
    for engine in scene.engines:
        argument = engine.arguments.get("disable_log_stats")
        if argument is not None and argument.value is True:
            yield Found(
                argument.place,
                "--disable-log-stats removes every vllm: metric: neither alerts nor "
                "autoscalers see this engine",
                "remove --disable-log-stats",
                without_argument(scene, argument),
            )


RULE = Rule("stats-switched-off", "an engine without metrics", judge, "warning")
