"""Arguments that vLLM refuses together.

Meaning: a token budget per step below the number of sequences, more active sequences than slots, a
context longer than the budget without chunked prefill.
Impact: the server exits with a ValueError.

Bad:

    vllm serve Qwen/Qwen3-8B --max-num-seqs 512 --max-num-batched-tokens 256

Good:

    vllm serve Qwen/Qwen3-8B --max-num-seqs 256 --max-num-batched-tokens 2048

Fix: raise the budget to at least the number of sequences.
Source: vLLM 0.32.0 SchedulerConfig.verify_max_model_len and __post_init__.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every pair of arguments that the engine refuses."""
    for engine in scene.engines:
        yield from _of(engine)


def _of(engine: Engine) -> Iterator[Found]:
    slots, budget, active, length = (
        engine.number(name)
        for name in (
            "max_num_seqs",
            "max_num_batched_tokens",
            "max_num_active_seqs",
            "max_model_len",
        )
    )
    if slots and budget and 0 < budget < slots:
        place = engine.arguments["max_num_batched_tokens"].place
        yield Found(place, f"--max-num-batched-tokens {budget:.0f} is below --max-num-seqs {slots:.0f}: the engine refuses to start",
                    f"at least {slots:.0f}, usually 2048 or more")  # fmt: skip
    if slots and active and active > slots:
        place = engine.arguments["max_num_active_seqs"].place
        yield Found(
            place,
            f"--max-num-active-seqs {active:.0f} is above --max-num-seqs {slots:.0f}: the "
            "engine refuses to start",
        )
    if (
        engine.is_on("enable_chunked_prefill") is False
        and budget
        and length
        and length > budget
        and engine.version
        and engine.version.at_least("0.11.1")
    ):
        place = engine.arguments["max_num_batched_tokens"].place
        yield Found(
            place,
            "without chunked prefill --max-num-batched-tokens must be at least "
            f"--max-model-len {length:.0f}, and is {budget:.0f}",
            "leave chunked prefill on",
        )


RULE = Rule("flags-contradict", "arguments that the engine refuses together", judge, "error")
