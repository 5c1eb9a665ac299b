"""A setting that makes every step slow.

Meaning: Eager mode starts every kernel from the host, a debugging variable makes the host wait for
each of them, offloaded weights cross the bus in every step, tensor parallelism over several nodes
waits for their network in every layer (with one card per node, or RDMA, there is no better way).
`--quantization awq` or `gptq` keeps vLLM from its Marlin
kernels, which it would choose by itself.
Impact: fewer tokens per second from the same card, several times fewer in eager mode with small
batches.

Bad:

    docker run vllm/vllm-openai:v0.32.0 --model Qwen/Qwen3-8B --enforce-eager

Good:

    docker run vllm/vllm-openai:v0.32.0 --model Qwen/Qwen3-8B

Fix: take the setting out. Where eager mode was a way around a lack of memory, capture fewer graphs
instead (`--compilation-config`, or a smaller `--max-num-seqs`).
Source: vLLM 0.32.0 (`catalog/slow_settings.py`); AWQMarlinConfig and GPTQMarlinConfig
(override_quantization_method: what is asked for by name is forced).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.catalog.slow_settings import slow_settings
from barostat.core.config import ConfigValue, EngineConfig
from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule

_FORCED_SINCE = {"awq": "0.5.4", "gptq": "0.4.2"}
"""Quantizations that keep vLLM from Marlin kernels, and since which version it has those."""
_BEFORE_AMPERE = re.compile(r"\b(?:T4|V100|P40|P100|2080|RTX[- ]?[68]000)\b|g4dn", re.IGNORECASE)
"""Cards that have no Marlin kernels."""
_CHOSEN_WELL = re.compile("triton|flex", re.IGNORECASE)
"""Attention backends that are right for some cards and models, which a manifest does not tell."""
_ONE_NODE = 1e6
"""A number of cards that no engine on one node exceeds."""


def judge(scene: Scene) -> Iterator[Found]:
    """Every such setting of an engine on a GPU."""
    for engine in scene.engines:
        if not engine.is_cpu and not (engine.host is not None and engine.host.other_device):
            yield from _slow(engine)
            yield from _forced(engine)


def _slow(engine: Engine) -> Iterator[Found]:
    for slow in slow_settings(_config(engine), _cards_of_a_node(engine)):
        argument = engine.arguments.get(slow.name)
        variable = engine.env.get(slow.name) or (
            engine.env.get("VLLM_ATTENTION_BACKEND") if slow.name == "attention_backend" else None
        )
        given = argument or variable
        if given is None or (slow.name == "attention_backend" and _CHOSEN_WELL.search(slow.effect)):
            continue
        yield Found(given.place, slow.effect, f"start {slow.instead}", confidence="medium")


def _cards_of_a_node(engine: Engine) -> float:
    """Return as many as tensor parallelism should stay within: the container's own, where the
    engine spans several nodes that have several cards each and no RDMA.
    """
    host = engine.host
    divided = engine.multi_node and host is not None and not host.rdma and (host.gpus or 0) > 1
    return host.gpus or _ONE_NODE if divided and host is not None else _ONE_NODE


def _forced(engine: Engine) -> Iterator[Found]:
    quantization = engine.arguments.get("quantization")
    kernels = quantization.text if quantization is not None else None
    since = _FORCED_SINCE.get(kernels or "")
    if (
        quantization is None
        or since is None
        or (engine.version is not None and not engine.version.at_least(since))
        or _BEFORE_AMPERE.search(engine.card_hint)
    ):
        return
    yield Found(
        quantization.place,
        f"--quantization {kernels} forces the plain {kernels} kernels: left out, vLLM takes "
        f"{kernels}_marlin, which is faster",
        f"remove --quantization, or {kernels}_marlin",
        confidence="medium",
    )


def _config(engine: Engine) -> EngineConfig:
    """Return the arguments and variables as a configuration."""
    values = {
        name: ConfigValue(argument.value, "flag", argument.spelled)
        for name, argument in engine.arguments.items()
        if argument.value is not None
    }
    values |= {
        name: ConfigValue(given.text, "environment", name) for name, given in engine.env.items()
    }
    return EngineConfig(values)


RULE = Rule("slow-setting", "a setting that makes every step slow", judge, "warning")
