"""Kinds whose units are numbered: their owner makes those from a partition on from the present
template, and those below it from the former one.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

from barostat.platform.objects import Object, value
from barostat.platform.workloads._kind import Found, Lists, Rolls, WorkloadKind, put

Makes = Literal["present", "former", "nothing", "unknown"]
"""From which template the owner makes a unit; `unknown` until it has acted on the last write."""


class NumberedKind(WorkloadKind):
    """A kind whose units have a place, from 0.

    `hold_path`: the field that holds the partition; the other values of that field decide how many
    units its owner replaces at a time.
    """

    rolls: Rolls = "ordinals"
    hold_path: tuple[str, ...]

    def hold(self, item: Object) -> Any:
        """The rollout strategy as it stands, or None."""
        return value(item, *self.hold_path)

    def partition(self, item: Object) -> int:
        """Units below it keep the former template."""
        raise NotImplementedError

    def held(self, item: Object, partition: int) -> Mapping[str, Any]:
        """The rollout strategy that replaces one unit at a time, from that partition on, and adds
        none.
        """
        raise NotImplementedError

    def makes(self, item: Object, lists: Lists[Object], place: int) -> Makes:
        """From which template its owner makes the unit at that place now."""
        raise NotImplementedError

    def unit_pods(self, item: Object, lists: Lists[Found], place: int) -> list[Found]:
        """The pods of that unit, the one that answers first; released ones and those that are going
        included.
        """
        raise NotImplementedError

    def is_settling(self, item: Object) -> bool:
        """True while the owner has not taken the present template as the former one, although
        every unit runs it.
        """
        return False

    def why_no_spare(self, item: Object) -> str:
        """Why one unit more, for a while, would leave something behind; empty if it does not."""
        return ""

    def with_hold(self, item: Object, hold: Any) -> dict[str, Any]:
        """A copy of the object with that rollout strategy; None: without one."""
        new: dict[str, Any] = copy.deepcopy(dict(item))
        if hold is None:
            node: Any = new
            for key in self.hold_path[:-1]:
                node = node.setdefault(key, {})
            node.pop(self.hold_path[-1], None)
        else:
            put(new, self.hold_path, copy.deepcopy(hold))
        return new
