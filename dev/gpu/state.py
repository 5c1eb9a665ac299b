"""A state brought about, recorded as a bundle and diagnosed from it: the cause that was wanted
beside the one that is named.

The scenarios are those of dev/scenarios.py, whose blocks hold 128 tokens: on a card as many tokens
in blocks of 16, and as much longer or shorter until they are steady as a step of its engine takes.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from dev.engine import Engine
from dev.gpu import ballast
from dev.gpu.cards import VISIBLE, look
from dev.gpu.here import Here
from dev.gpu.item import READY_WITHIN_S, Bench, Item, NotMeasured, wait_ready
from dev.gpu.journal import STATES, Journal, Row
from dev.gpu.startup import named_in, planned_for, stated_row
from dev.load import Background, Load
from dev.record import add_gpu, record, record_failed_start
from dev.scenarios import Scenario, brought_about

from barostat.judge.sizing.planned_steps import steps_of_plan
from barostat.kv.step_time.model import StepLoad

CPU_BLOCK_TOKENS, CARD_BLOCK_TOKENS = 128, 16
CPU_STEP_S, TWIN_TEMPO = 0.017, 0.35
"""What a step of the "small" shape takes, for which the scenarios' times were found; the twin's
steps are shorter.
"""
INTERVAL_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Item):
    """One scenario. `variant`: of the cause, where one is wanted."""

    kind: ClassVar[str] = "state"
    scenario: Scenario
    variant: str = ""

    def flags(self, here: Here) -> tuple[str, ...]:
        """The settings' and the scenario's, in this engine's blocks."""
        own = super(State, self).flags(here)
        return (
            (*own, *in_blocks(self.scenario.flags))
            if here.kind == "card"
            else (*own, *self.scenario.flags)
        )

    def options(self, here: Here) -> tuple[str, ...]:  # noqa: ARG002
        """The twin's own."""
        return ()

    def measure(self, bench: Bench) -> str:
        """The bundle and the row are on record."""
        name = f"states/{self.name}"
        part = bench.journal.part_of(name)
        with self.engine(bench) as engine:
            clients = self.bring_about(engine, part, bench)
        bench.journal.keep(name)
        row = self._row(named_in("--bundle", str(bench.journal.folder / name)), clients, bench.here)
        bench.journal.put(STATES, row)
        return f"{row['named']} {row['variant']}".rstrip() + (
            "" if row["right"] else f": WRONG, {row['wanted']} {self.variant}".rstrip()
        )

    def engine(self, bench: Bench) -> Engine:
        """The scenario's engine, not started."""
        here = bench.here
        return bench.engine(
            self.model, *self.flags(here), cards=self.cards, options=self.options(here)
        )

    def bring_about(self, engine: Engine, part: Path, bench: Bench) -> str:
        """The state has been there and is recorded; what its clients saw. Errors: NotMeasured."""
        if not self.scenario.listens:
            ended(engine)
            record_failed_start(engine, part)
            add_look(part)
            return ""
        wait_ready(engine)
        one = at_tempo(self.scenario, tempo(self, bench.here, bench.journal))
        twin = bench.here.kind == "twin"
        with brought_about(one, engine) as load:
            record(
                engine,
                part,
                10.0 if twin else 20.0,
                INTERVAL_S / 2 if twin else INTERVAL_S,
                gpu=look if bench.here.cards else None,
            )
        return load.counts.summary() if load else ""

    def _row(self, diagnosis: dict[str, Any], clients: str, here: Here) -> Row:
        cause, variant = diagnosis["cause"], diagnosis["variant"]
        right = cause == self.scenario.cause and (not self.variant or variant == self.variant)
        return {
            "id": f"{here.label}-{self.name}", "wanted": self.scenario.cause, "named": cause, "variant": variant or "", "right": right,
            "model": self.model, "gpu": here.name, "vllm_version": str(here.release), "flags": " ".join(self.flags(here)),
            "why": self.scenario.why, "bundle": f"states/{self.name}", "clients": clients,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Starved(State):
    """Memory that an engine needs while it serves is taken by another process: it ends with an
    allocation that fails.

    The twin, which has no memory, is told to fail.
    """

    left_mib: int = 64

    def impossible(self, here: Here) -> str:
        """The CPU build would take the host's memory."""
        return "needs a card: the CPU build's memory is the host's" if here.kind == "cpu" else ""

    def options(self, here: Here) -> tuple[str, ...]:
        """The twin's fault."""
        return ("--fault", "oom@4s") if here.kind == "twin" else ()

    def bring_about(self, engine: Engine, part: Path, bench: Bench) -> str:
        """The engine has ended under load."""
        wait_ready(engine)
        with (
            _held(self.left_mib, bench.here) as said,
            Background(engine.url, self.scenario.load or Load()) as load,
        ):
            ended(engine, listening=True)
            record_failed_start(engine, part)
            add_look(part)
        return f"{load.counts.summary()}{said}"


def ended(engine: Engine, *, listening: bool = False) -> None:
    """The engine has ended by itself. Errors: NotMeasured where it listens (`listening`: where it
    goes on to).
    """
    began = time.monotonic()
    while engine.exit_code is None and time.monotonic() - began < (
        60.0 if listening else READY_WITHIN_S
    ):
        if not listening and engine.health() == 200:
            raise NotMeasured("the engine came up, where it was to fail")
        time.sleep(0.5)
    if engine.exit_code is None:
        raise NotMeasured("the engine did not end, where it was to fail")


@contextmanager
def _held(left_mib: int, here: Here) -> Iterator[str]:
    """The card's free memory is another process's; what that says. Nothing where there is no
    card.
    """
    if not here.cards or here.vllm is None:
        yield ""
        return
    card = here.cards[0]
    environment = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", VISIBLE[card.vendor]: str(card.index)}
    command = [
        "env",
        *(f"{name}={value}" for name, value in environment.items()),
        str(here.vllm.python),
        ballast.__file__,
        str(left_mib),
    ]
    # It ends when its stdin closes, which it does at the latest when we die.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline().strip()
            if not said:
                raise NotMeasured("the card's free memory could not be taken by another process")
            yield f"; another process {said}"
        finally:
            process.kill()


def in_blocks(flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags with the pool's tokens in a card's blocks. Block 0 is never handed out."""
    found = list(flags)
    if "--num-gpu-blocks-override" in found:
        place = found.index("--num-gpu-blocks-override") + 1
        found[place] = str((int(found[place]) - 1) * CPU_BLOCK_TOKENS // CARD_BLOCK_TOKENS + 1)
        found += ["--block-size", str(CARD_BLOCK_TOKENS)]
    return tuple(found)


def at_tempo(one: Scenario, factor: float) -> Scenario:
    """The scenario with the time that it needs until it is steady."""
    return replace(one, settle_s=max(1.0, one.settle_s * factor))


def tempo(item: Item, here: Here, journal: Journal) -> float:
    """How much longer the engine's steps take than those that the scenarios' times were found
    with.
    """
    if here.kind != "card":
        return TWIN_TEMPO if here.kind == "twin" else 1.0
    found = planned_for(stated_row(item.name, item.model, item.settings, here), here, journal)
    steps = None if isinstance(found, str) else steps_of_plan(found)
    return (
        1.0
        if steps is None
        else min(4.0, max(0.6, steps.step_s(StepLoad(decodes=20, cached_tokens=8000)) / CPU_STEP_S))
    )


def add_look(part: Path) -> None:
    """The cards' state is in the bundle, where there are any."""
    if (found := look()) is not None:
        add_gpu(part, found, time.time())
