"""Kinds whose owner runs one unit with a change beside the others and waits for approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.platform.objects import Object
from barostat.platform.workloads._kind import Rolls, WorkloadKind


class CanaryKind(WorkloadKind):
    """A kind whose canary gets requests like the other units.

    `go_on`: the merge patch of its status that ends the waiting.
    """

    rolls: Rolls = "canary"
    go_on: Mapping[str, Any]

    def has_seen(self, item: Object) -> bool:
        """True if its controller has acted on the present state."""
        raise NotImplementedError

    def waits(self, item: Object) -> bool:
        """True if a canary of the present state runs and its controller waits for a person."""
        raise NotImplementedError

    def is_rolling(self, item: Object) -> bool:
        """True if its controller has seen the present state, and not every unit is of it."""
        raise NotImplementedError
