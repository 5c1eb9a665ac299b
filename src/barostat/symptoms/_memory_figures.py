"""The figures of a line about memory, whole: what was tried, what was free, of how much. They
decide what to do, so nothing cuts them.
"""

from __future__ import annotations

import re

_SIZE = r"[\d.]+ ?[KMGT]?i?B"
_TORCH = re.compile(rf"Tried to allocate (?P<tried>{_SIZE})")
_NEW = re.compile(
    rf"GPU (?P<card>\d+) has a total capacity of (?P<total>{_SIZE}) of which (?P<free>{_SIZE}) is free"
)
_NEW_HELD = re.compile(
    rf"allocated memory (?P<held>{_SIZE}) is allocated by PyTorch.*?and (?P<spare>{_SIZE}) is reserved"
)
_OLD = re.compile(
    rf"\(GPU (?P<card>\d+); (?P<total>{_SIZE}) total capacity; (?P<held>{_SIZE}) already allocated; (?P<free>{_SIZE}) free"
    rf"(?:; (?P<reserved>{_SIZE}) reserved)?"
)
_RAY = re.compile(
    rf"was (?P<used>{_SIZE}) ?/ ?(?P<total>{_SIZE})(?: \([\d.]+\))?, which exceeds the memory usage threshold of (?P<threshold>[\d.]+)"
)
_RAY_WORKERS = re.compile(
    r"(?P<count>\d+) Workers \(tasks / actors\) killed due to memory pressure"
)
_KERNEL = re.compile(
    r"Killed process (?P<pid>\d+) \((?P<name>[^)]{1,60})\).*?anon-rss:(?P<kib>\d+) ?kB"
)


def memory_figures(text: str) -> str:
    """What the line says in figures, as a sentence part; empty if it holds none.

    Source: PyTorch CUDACachingAllocator (both wordings), ray's memory monitor, the kernel's OOM
    killer.
    """
    if found := _TORCH.search(text):
        return _torch(text, found["tried"])
    if found := _RAY.search(text):
        return (
            f"ray's memory monitor: {found['used']} of the node's {found['total']} in use, "
            f"over its threshold of {found['threshold']}"
        )
    if found := _RAY_WORKERS.search(text):
        return (
            f"ray's memory monitor killed {found['count']} "
            f"{'worker' if found['count'] == '1' else 'workers'} to free the node's memory"
        )
    if found := _KERNEL.search(text):
        why = (
            "the container's memory limit was reached"
            if "cgroup" in text
            else "the node's memory ran out"
        )
        return (
            f"the kernel killed {found['name']} (process {found['pid']}) at "
            f"{int(found['kib']) / 2**20:.1f} GiB: {why}"
        )
    return ""


def _torch(text: str, tried: str) -> str:
    card = _NEW.search(text) or _OLD.search(text)
    if card is None:
        return ""
    said = f"tried {tried} on GPU {card['card']}, {card['free']} of {card['total']} free"
    held = _NEW_HELD.search(text)
    if held is not None:
        return f"{said}; PyTorch holds {held['held']}, {held['spare']} more are reserved and unused"
    old = card.groupdict()
    if "held" not in old:
        return said
    return f"{said}; PyTorch holds {old['held']}" + (
        f", {old['reserved']} reserved in all" if old["reserved"] else ""
    )
