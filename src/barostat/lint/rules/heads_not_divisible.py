"""A tensor-parallel size that does not divide the model.

Meaning: tensor parallelism gives each card an equal number of attention heads; a size that does not
divide them is refused.
Impact: the server exits with "must be divisible by tensor parallel size".

Bad:

    vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 3

Good:

    vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 4

Fix: a divisor of the number of attention heads; pipeline parallelism for the rest of the cards.
Source: vLLM 0.32.0 ModelConfig.verify_with_parallel_config.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every parallel size that the model cannot be divided by."""
    for engine in scene.engines:
        if engine.planned is None or not engine.planned.refused:
            continue
        argument = engine.arguments.get("tensor_parallel_size") or engine.arguments.get(
            "pipeline_parallel_size"
        )
        yield Found(
            argument.place if argument is not None else engine.place,
            engine.planned.refused,
            "a size that divides the heads",
        )


RULE = Rule("heads-not-divisible", "a parallel size that does not divide the model", judge, "error")
