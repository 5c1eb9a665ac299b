"""What the items of the run-book have in common: a name, how long they take, what keeps them from
being measured here.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bench.sizing_rows import arguments
from dev.engine import Engine
from dev.gpu.here import Here
from dev.gpu.journal import Journal

READY_WITHIN_S = 900.0
"""More than any item has: its own limit is what ends a start that takes too long."""


def say(text: str) -> None:
    """Tell a person what goes on."""
    print(f"gpu: {text}", file=sys.stderr, flush=True)


class NotMeasured(Exception):
    """Why an item gave nothing: on record as that, and not tried again by itself."""


@dataclass(slots=True)
class Bench:
    """Where an item is measured: what is here, what is on record, and the engines that it started.

    `again`: what is on record does not count.
    """

    here: Here
    journal: Journal
    again: bool = False
    engines: list[Engine] = field(default_factory=list)

    def engine(self, model: str, *flags: str, **more: Any) -> Engine:
        """A new engine, not started. Its end is seen to by `close`, too: an item's time may be over
        while it is being stopped.
        """
        made = self.here.engine(model, *flags, **more)
        self.engines.append(made)
        return made

    def close(self) -> None:
        """No engine is left, and none of their files."""
        while self.engines:
            try:
                self.engines[-1].close()
            except subprocess.TimeoutExpired:
                say(
                    f"process {self.engines[-1].pid} was killed and does not end: a card "
                    "that hangs keeps it"
                )
            self.engines.pop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to measure.

    `minutes`: what it takes, its starts included. `model`: of the catalogue, or a shape of
    dev/engine.py. `settings`: the flags, by the names that rows of start-ups give them
    (bench/sizing_rows.py), so that the row says what was started. `after`: the item whose row it
    needs.
    """

    kind: ClassVar[str]
    must_fit: ClassVar[bool] = True
    name: str
    minutes: float
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    after: str = ""

    @property
    def cards(self) -> int:
        """How many cards it needs."""
        return int(self.settings.get("tp", 1))

    def flags(self, here: Here) -> tuple[str, ...]:  # noqa: ARG002
        """vLLM's flags that it is started with."""
        return tuple(arguments({"complete": True, **self.settings}))

    def impossible(self, here: Here) -> str:  # noqa: ARG002
        """Why it cannot be measured on what is here; empty where it can."""
        return ""

    def measure(self, bench: Bench) -> str:
        """It is measured and on record; what came, in a few words. Errors: NotMeasured,
        RuntimeError, OSError.
        """
        raise NotImplementedError


def wait_ready(engine: Engine) -> None:
    """It listens. Errors: NotMeasured with what its log names."""
    try:
        engine.wait_ready(READY_WITHIN_S)
    except RuntimeError as error:
        raise NotMeasured(f"the engine did not come up: {error!s:.600}") from None
