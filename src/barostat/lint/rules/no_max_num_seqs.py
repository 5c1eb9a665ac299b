"""How many sequences run at once is left to the version's default.

Meaning: `--max-num-seqs` is not set, so it is 256 or 1024 by version and card, whatever the pool
holds.
Impact: another version or another card is another limit; and the number was derived from nothing.

Bad:

    vllm serve Qwen/Qwen3-8B

Good:

    vllm serve Qwen/Qwen3-8B --max-num-seqs 64

Fix: derive it from the pool and the lengths of requests: `barostat plan`.
Source: vLLM 0.8.0 to 0.33.0 EngineArgs.get_batch_defaults; the prevention checklist.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine without the limit."""
    for engine in scene.engines:
        if (
            engine.complete
            and not engine.has("max_num_seqs")
            and not engine.has("max_num_active_seqs")
        ):
            yield Found(
                engine.place,
                "--max-num-seqs is left to the version's default (256, or 1024 on large cards)",
                "--max-num-seqs, as `barostat plan` derives it",
            )


RULE = Rule(
    "no-max-num-seqs",
    "no limit on sequences at once",
    judge,
    "note",
    "high",
    "pedant",
    topic="limits",
)
