"""Two engines whose memory shares together are more than the card.

Meaning: each engine takes its share of the card's whole memory (0.92 unless told), whatever others have taken.
Impact: the second one does not start: "Free memory on device is less than desired GPU memory utilization".

Bad:

    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-0.6B --port 8001 &
    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port 8002 &

Good:

    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-0.6B --port 8001 --gpu-memory-utilization 0.2 &
    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B --port 8002 --gpu-memory-utilization 0.7 &

Fix: shares that add up to at most 0.95, or a card each.
Source: vLLM 0.32.0 v1/worker/utils.py (request_memory).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from barostat.catalog.vllm_defaults import default
from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every set of engines that name the same card and want more than all of it.

    In a pod the number is among the pod's own cards, and a chart's values make a pod for each: there it says nothing. Of a script those
    count together that one stretch of it starts, each on a port of its own: two on one port run one after the other.
    """
    on_card: dict[tuple[str, int, str], list[Engine]] = defaultdict(list)
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
            on_card[engine.place.file, engine.stretch, device.strip()].append(engine)
    for (_, _, device), engines in on_card.items():
        if len(engines) < 2 or _on_one_port(engines) or any(engine.has("kv_cache_memory_bytes") for engine in engines):
            continue
        shares = [engine.number("gpu_memory_utilization") or _unstated(engine) for engine in engines]
        if sum(shares) > 1.0:
            last = engines[-1]
            argument = last.arguments.get("gpu_memory_utilization")
            yield Found(
                argument.place if argument is not None else last.place,
                f"{len(engines)} engines on card {device} want {sum(shares):.0%} of its memory together: the last one does not start",
                "shares that add up to 0.95, or a card each",
            )


def _on_one_port(engines: list[Engine]) -> bool:
    """True if two of them say the same port outside a container: they cannot run at the same time."""
    ports = [given.text for engine in engines if engine.image is None and (given := engine.arguments.get("port")) is not None]
    return len(set(ports)) < len(ports)


def _unstated(engine: Engine) -> float:
    """The share that an engine of that version takes where nothing says another."""
    found = default("gpu_memory_utilization", engine.version)
    assert found is not None
    return float(found.value)


RULE = Rule("two-engines-one-card", "two engines want more than one card has", judge, "error")
