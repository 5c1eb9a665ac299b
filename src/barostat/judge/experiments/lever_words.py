"""The words of a proposal, or of `--set`, as settings with their values: what can be tried on the
twin, and of the rest why it cannot.

--watermark 0.05                   watermark=0.05
--enable-prefix-caching            enable-prefix-caching=true
remove --num-gpu-blocks-override   num-gpu-blocks-override=off
request: {maxInputTokens: 2048}    edge-input-cap=2048
edge: {kvTokenBudget: 9216}        edge-kv-budget=9216
replicas: 3                        replicas=3
one more engine ...                replicas=+1
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barostat.core.errors import InputError

EDGE = ("edge-input-cap", "edge-output-cap", "edge-kv-budget")
FLEET = ("replicas", "load")
OFFLOADING = "kv-offloading-size"
OFF = ("off", "none", "remove")
ENGINE = (
    "max-num-seqs", "max-num-active-seqs", "max-num-batched-tokens", "max-model-len", "watermark", "long-prefill-token-threshold",
    "scheduling-policy", "max-num-queued-reqs", "max-num-queued-tokens", "enable-prefix-caching", "enable-chunked-prefill",
    "async-scheduling", "scheduler-reserve-full-isl", "block-size", "kv-blocks",
)  # fmt: skip
"""The settings of the scheduler that the twin has as the engine has them."""

_LIMITS = {
    "maxInputTokens": "edge-input-cap",
    "maxOutputTokens": "edge-output-cap",
    "kvTokenBudget": "edge-kv-budget",
}
_ALIASES = {
    "kv-token-budget": "edge-kv-budget", "edge-admission-budget": "edge-kv-budget", "max-queued-requests": "max-num-queued-reqs",
    "max-queued-tokens": "max-num-queued-tokens", "policy": "scheduling-policy", "reserve-full-isl": "scheduler-reserve-full-isl",
    "tp": "tensor-parallel-size", "offloading": OFFLOADING, "cpu-offload": OFFLOADING, "maxReplicas": "replicas",
}  # fmt: skip
_LIMIT = re.compile(r"^(?:request|edge): \{(\w+): ([\d.]+)\}$")
_FLAG = re.compile(r"--([a-z][\w-]*)(?:[ =]([^\s-]\S*))?")
_REMOVE = re.compile(r"^remove --([a-z][\w-]*)")
_FLEET = re.compile(r"^(?:replicas|maxReplicas): (\d+)$")
_ONE_MORE = re.compile(r"^kubectl scale .*<one more than now>$|^one more engine ")
_PAIR = re.compile(r"^([\w-]+)=([^\s={}]+)$")


class Asked(NamedTuple):
    """One setting. `value` as it was written; None: the argument is left out."""

    name: str
    value: str | None


def asked_in(words: str) -> tuple[Asked, ...]:
    """What the words ask for, in order.

    Errors: InputError where they are neither a proposal's words nor NAME=VALUE[,...].
    """
    text = words.strip()
    if (limit := _LIMIT.match(text)) is not None and limit[1] in _LIMITS:
        return (Asked(_LIMITS[limit[1]], limit[2]),)
    if (fleet := _FLEET.match(text)) is not None:
        return (Asked("replicas", fleet[1]),)
    if _ONE_MORE.match(text):
        return (Asked("replicas", "+1"),)
    if (gone := _REMOVE.match(text)) is not None:
        return (Asked(named(gone[1]), None),)
    if text.startswith("--"):
        return tuple(_of_flag(name, value) for name, value in _FLAG.findall(text))
    return tuple(_of_pair(part.strip(), words) for part in text.split(","))


def named(name: str) -> str:
    """The setting's one name."""
    bare = name.lstrip("-").replace("_", "-")
    return _ALIASES.get(bare, _ALIASES.get(name, bare))


def set_words(asked: tuple[Asked, ...]) -> str:
    """The same as `--set` takes it."""
    return ",".join(f"{one.name}={'off' if one.value is None else one.value}" for one in asked)


def _of_pair(part: str, words: str) -> Asked:
    pair = _PAIR.match(part)
    if pair is None:
        raise InputError(
            f"{part!r} is not NAME=VALUE, nor what a diagnosis proposes for the engine, "
            "its edge or its replicas",
            f"--set {words}",
        )
    return Asked(named(pair[1]), None if pair[2].lower() in OFF else pair[2])


def _of_flag(name: str, value: str) -> Asked:
    if value:
        return Asked(named(name), value)
    return Asked(named(name.removeprefix("no-")), "false" if name.startswith("no-") else "true")
