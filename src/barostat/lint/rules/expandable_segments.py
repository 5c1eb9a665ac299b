"""An allocator setting that KV transfer and the custom all-reduce do not work with.

Meaning: With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True PyTorch maps memory piece by piece.
Such memory cannot be shared by a CUDA IPC handle, which vLLM's custom all-reduce does, and its
registration with a network card does not last.
Impact: with a KV connector vLLM refuses to start (0.32); with tensor parallelism the workers may
die in graph capture: "custom_all_reduce.cuh: invalid argument".

Bad:

    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --data-parallel-size 2

Good:

    vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --data-parallel-size 2

Fix: leave it out; or --disable-custom-all-reduce, where only tensor parallelism is meant.
Source: vLLM 0.32.0 VllmConfig (KV connector and expandable_segments); vLLM issues 42609, 49101 and
9046; kaito issue 1077.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
REFUSED_SINCE = "0.32.0"
"""The version in which the refusal was read."""


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine that has the setting and a KV connector or several cards. Over several nodes
    there is no custom all-reduce.
    """
    for engine in scene.engines:
        given = next((engine.env[name] for name in _NAMES if name in engine.env), None)
        if given is None or "expandable_segments:True" not in given.text.replace(" ", ""):
            continue
        connector = engine.has("kv_transfer_config")
        pooled = engine.is_on("enable_sleep_mode") or engine.has("enable_cumem_allocator")
        if connector and not pooled:
            refused = (
                engine.version is not None
                and engine.version.at_least(REFUSED_SINCE)
                and "PYTORCH_CUDA_ALLOC_CONF" in engine.env
            )
            yield Found(
                given.place,
                "a KV connector does not work with expandable_segments: "
                + ("vLLM refuses to start" if refused else "registered memory is mapped anew"),
                "leave expandable_segments out",
                severity="error" if refused else None,
            )
        elif (
            (engine.number("tensor_parallel_size") or 1) > 1
            and not engine.is_on("disable_custom_all_reduce")
            and not engine.multi_node
        ):
            yield Found(
                given.place,
                "the custom all-reduce of tensor parallelism cannot share memory of "
                "expandable_segments: workers may die in graph capture",
                "leave it out, or --disable-custom-all-reduce",
                confidence="medium",
            )


RULE = Rule("expandable-segments", "an allocator that cannot share memory", judge, "warning")
