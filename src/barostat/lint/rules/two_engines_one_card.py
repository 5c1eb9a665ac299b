"""Two engines whose memory shares together are more than the card.

Meaning: each engine takes its share of the card's whole memory (0.92 by default), regardless of
other processes. An engine with a fixed pool (`--kv-cache-memory-bytes`) takes that amount, but
still requires its share to be free at start.
Impact: the second one does not start: "Free memory on device is less than desired GPU memory
utilization".

Bad:

    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-0.6B --port 8001 &
    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port 8002 &

Good:

    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-0.6B --port 8001 --gpu-memory-utilization 0.2 &
    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port 8002 --gpu-memory-utilization 0.7 &

Fix: shares that add up to at most 0.95, or a card each. Beside `--kv-cache-memory-bytes` too: a
share that is no more than what is left.
Source: vLLM 0.32.0 v1/worker/utils.py (request_memory), v1/worker/gpu_worker.py (init_device).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from barostat.catalog.settings.defaults import default
from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every set of engines that name the same card and want more than all of it.

    In a pod the number is among the pod's own cards, and a chart's values make a pod for each:
    there it says nothing. Of a script those count together that one stretch of it starts, each on a
    port of its own: two on one port run one after the other. Of a compose file those that one
    profile starts, with those that every profile does.
    """
    on_card: dict[tuple[str, int, str, str], list[Engine]] = defaultdict(list)
    profiles: dict[str, set[str]] = defaultdict(set)
    for engine in scene.engines:
        profiles[engine.place.file] |= engine.profiles
    for engine in scene.engines:
        named = engine.env.get("CUDA_VISIBLE_DEVICES") or engine.env.get("NVIDIA_VISIBLE_DEVICES")
        devices = (
            named.text
            if named is not None and engine.form not in ("manifest", "values")
            else engine.host.devices
            if engine.host is not None
            else ""
        )
        named_one_by_one = devices and devices not in ("all", "none", "void") and "$" not in devices
        for device in devices.split(",") if named_one_by_one else ():
            for profile in sorted(engine.profiles or profiles[engine.place.file] or {""}):
                on_card[engine.place.file, engine.stretch, device.strip(), profile].append(engine)
    for (_, _, device, _), engines in on_card.items():
        if len(engines) < 2 or _on_one_port(engines):
            continue
        if any(engine.has("kv_cache_memory_bytes") for engine in engines):
            yield from _beside_a_told_pool(device, engines)
            continue
        shares = [_share(engine) for engine in engines]
        if sum(shares) > 1.0:
            last = engines[-1]
            argument = last.arguments.get("gpu_memory_utilization")
            yield Found(
                argument.place if argument is not None else last.place,
                f"{len(engines)} engines on card {device} want {sum(shares):.0%} of its "
                "memory together: the last one does not start",
                "shares that add up to 0.95, or a card each",
            )


def _beside_a_told_pool(device: str, engines: list[Engine]) -> Iterator[Found]:
    """Yield the last engine for which too little memory is left: the shares of those before it
    exceed the card, or it has no share of its own.

    The memory of an engine with an explicit pool size is unknown here, so a stated share may still
    fit.
    """
    held, told, late = 0.0, False, None
    for engine in engines:
        if held + _share(engine) > 1.0 or (told and not engine.has("gpu_memory_utilization")):
            late = engine
        if engine.has("kv_cache_memory_bytes"):
            told = True
        else:
            held += _share(engine)
    if late is not None:
        yield Found(
            late.place,
            f"{late.name} wants {_share(late):.0%} of card {device} free when it starts, "
            "and others hold a part of it: "
            "--kv-cache-memory-bytes does not change that",
            "a --gpu-memory-utilization that is no more than what the others leave, or a card each",
        )


def _on_one_port(engines: list[Engine]) -> bool:
    """True if two of them say the same port outside a container: they cannot run at the same
    time.
    """
    ports = [
        given.text
        for engine in engines
        if engine.image is None and (given := engine.arguments.get("port")) is not None
    ]
    return len(set(ports)) < len(ports)


def _share(engine: Engine) -> float:
    """The share as stated; where nothing says one, that of the engine's version."""
    if stated := engine.number("gpu_memory_utilization"):
        return stated
    found = default("gpu_memory_utilization", engine.version)
    assert found is not None
    return float(found.value)


RULE = Rule("two-engines-one-card", "two engines want more than one card has", judge, "error")
