"""One setting of vLLM: the columns of the table. Loaded by every `--help`, so no dataclasses."""

from __future__ import annotations

from enum import Flag, auto
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from barostat.core.config import ConfigScalar

Kind = Literal["int", "length", "float", "bool", "text", "json", "list"]
Tier = Literal["small", "large", "huge", "cpu"]
"""A card's memory as far as defaults depend on it: below 70 GiB, below 160 GiB, above; no card."""


class Part(Flag):
    """The part of an engine that a setting acts on."""

    POOL = auto()
    """The setting affects the number of KV blocks: the pool itself, or memory outside it."""
    SCHEDULER = auto()
    """The setting affects which requests run, and how much of each per step."""
    EDGE = auto()
    """Which requests the API server accepts."""
    PROCESS = auto()
    """How the server starts, computes and reports."""


POOL, SCHEDULER, EDGE, PROCESS = Part.POOL, Part.SCHEDULER, Part.EDGE, Part.PROCESS


class ValueBounds(NamedTuple):
    """The numbers that an argument takes. `open_below`, `open_above`: excluding that end."""

    least: float
    most: float = 2**31 - 1
    open_below: bool = False
    open_above: bool = False

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int | float):
            return False
        above = number > self.least if self.open_below else number >= self.least
        return above and (number < self.most if self.open_above else number <= self.most)

    def __str__(self) -> str:
        least, most = (
            f"{end:,.0f}" if end == int(end) else f"{end:g}" for end in (self.least, self.most)
        )
        return (
            f"{'above' if self.open_below else 'from'} {least} "
            f"{'to below' if self.open_above else 'up to'} {most}"
        )


SHARE = ValueBounds(0.0, 1.0, open_below=True)
FROM_ZERO = ValueBounds(0)


def option_of(name: str) -> str:
    """The name as an option: `max_num_seqs` -> `--max-num-seqs`."""
    return "--" + name.replace("_", "-")


class Setting(NamedTuple):
    """One argument of `vllm serve`, by its own name with underscores. vLLM reads all of them when
    it starts: a change restarts the engine.

    History: `since`: first version that has it, empty if older than the oldest version read;
    `since_sure`: False if it may be older than `since`. `gone`: first version without it, empty
    while it exists; `instead`: its replacement. `aliases`: vLLM's other spellings.
    Value: `defaults`: by the version from which each holds ("": from the start); `by_card`: the
    same by memory tier, for those that depend on the card. `bounds`, `choices`: what is accepted.
    `optional`: takes None, which means the default.
    Seen: `label`: of the metric cache_config_info; `log_names`: in the start-up log's line of
    resolved settings; `log`: patterns of other start-up lines, whose first group is the value.
    Used: `sized`: `plan` sizes memory by it; `twin`: field of the twin's Settings; `limit`: field
    of EngineLimits; `short`: our own options for it; `chart`: its key in the values of vLLM's
    production stack.
    """

    name: str
    kind: Kind
    changes: Part
    effect: str = ""
    unit: str = ""
    since: str = ""
    since_sure: bool = True
    gone: str = ""
    instead: str = ""
    aliases: tuple[str, ...] = ()
    defaults: Mapping[str, ConfigScalar] = {}
    by_card: Mapping[str, Mapping[Tier, int]] = {}
    bounds: ValueBounds | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    label: str = ""
    log_names: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    sized: bool = False
    twin: str = ""
    limit: str = ""
    short: tuple[str, ...] = ()
    chart: str = ""

    @property
    def option(self) -> str:
        """The long option: `--max-num-seqs`."""
        return option_of(self.name)
