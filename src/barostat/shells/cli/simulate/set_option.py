"""Parses `--set` of what-if: NAME=VALUE,..., or a change as a diagnosis prints it.

watermark=0.05,max-num-seqs=48              arguments of the engine; off removes one
--watermark 0.05, remove --swap-space       the same, as on a command line
edge-input-cap=2048                         a limit at the edge
request: {maxInputTokens: 2048}             the same, as in a limits file
replicas=3, replicas=+1                     number of replicas that share the load
load=2, input=3x, output=1.5x               expected traffic, as multiples of today's rate and lengths
"""

from __future__ import annotations

import math
import re

from barostat.catalog.settings.table import OUR_NAMES
from barostat.core.config import ConfigScalar
from barostat.core.errors import InputError
from barostat.core.proposed_change import EdgeLimit, Scale, SetEdgeLimit, SetFlag, UnsetFlag
from barostat.judge.experiments.candidates import ScaleLoad, TrialChange

OFF = ("off", "none", "remove")
TRUE, FALSE = ("true", "on", "yes"), ("false", "no")
EDGE: dict[str, EdgeLimit] = {
    "edge-input-cap": "request.maxInputTokens",
    "edge-output-cap": "request.maxOutputTokens",
    "edge-kv-budget": "edge.kvTokenBudget",
}
TRAFFIC = ("load", "input", "output")
FLEET = ("replicas", *TRAFFIC)
_ALIASES = {
    "kv-token-budget": "edge-kv-budget",
    "edge-admission-budget": "edge-kv-budget",
    **{short: name.replace("_", "-") for short, name in OUR_NAMES.items()},
    "offloading": "kv-offloading-size",
    "cpu-offload": "kv-offloading-size",
    "maxReplicas": "replicas",
}
_LIMIT = re.compile(r"^(request|edge): *\{ *(\w+): *(\S+?) *\}$")
_REPLICAS = re.compile(r"^(?:replicas|maxReplicas): *(\d+)$")
_FLAG = re.compile(r"--([a-z][\w-]*)(?:[ =]([^\s-]\S*))?")
_REMOVE = re.compile(r"^remove --([a-z][\w-]*)")
_PAIR = re.compile(r"^([\w-]+)=([^\s={}]+)$")


def changes_in(words: str) -> tuple[TrialChange, ...]:
    """Parse the option's value into changes, in order.

    Errors: InputError for any other form, and for an invalid number.
    """
    text = words.strip()
    if (limit := _LIMIT.match(text)) is not None:
        name = next((n for n, path in EDGE.items() if path == f"{limit[1]}.{limit[2]}"), "")
        return _change(name, limit[3], words) if name else _refuse(text, words)
    if (replicas := _REPLICAS.match(text)) is not None:
        return _change("replicas", replicas[1], words)
    if (removed := _REMOVE.match(text)) is not None:
        return (UnsetFlag(_setting(removed[1])),)
    if text.startswith("--"):
        return tuple(_of_flag(name, value) for name, value in _FLAG.findall(text))
    found: list[TrialChange] = []
    for part in text.split(","):
        pair = _PAIR.match(part.strip())
        if pair is None:
            return _refuse(part.strip(), words)
        found += _change(pair[1], pair[2], words)
    return tuple(found)


def scalar(text: str) -> ConfigScalar:
    """Convert a value to a bool or a number if it is one, else return the text."""
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return text


def _change(name: str, value: str, words: str) -> tuple[TrialChange, ...]:
    dashed = name.lstrip("-").replace("_", "-")
    known = _ALIASES.get(dashed, _ALIASES.get(name, dashed))
    where = f"--set {words}"
    if known in EDGE:
        if value.lower() in OFF:
            return ()  # the observed engine has no such limit
        return (SetEdgeLimit(EDGE[known], _whole(known, value, where)),)
    if known == "replicas":
        number = _whole(known, value.removeprefix("+"), where)
        return (Scale(None, more=number) if value.startswith("+") else Scale(number),)
    if known in TRAFFIC:
        times = scalar(value.removesuffix("x"))
        if isinstance(times, bool | str):
            raise InputError(f"{known} is a number such as 2 or 1.5x, not {value!r}", where)
        return (ScaleLoad(**{"times" if known == "load" else f"{known}_times": float(times)}),)
    if value.lower() in OFF:
        return (UnsetFlag(_setting(known)),)
    return (SetFlag(_setting(known), scalar(value)),)


def _of_flag(name: str, value: str) -> TrialChange:
    if value:
        return SetFlag(_setting(name), scalar(value))
    return SetFlag(_setting(name.removeprefix("no-")), not name.startswith("no-"))


def _setting(name: str) -> str:
    return _ALIASES.get(name, name).replace("-", "_")


def _whole(name: str, text: str, where: str) -> int:
    number = scalar(text)
    if isinstance(number, bool | str) or number != int(number) or number < 1:
        raise InputError(f"{name} is a whole number above 0, not {text}", where)
    return int(number)


def _refuse(part: str, words: str) -> tuple[TrialChange, ...]:
    raise InputError(
        f"{part!r} is neither NAME=VALUE nor a change that a diagnosis proposes for the engine, its "
        "edge or its replicas",
        f"--set {words}",
    )
