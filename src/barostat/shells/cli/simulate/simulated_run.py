"""The run of the twin that the arguments of `barostat simulate` ask for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.core.errors import InputError
from barostat.shells.cli.simulate.from_engine_arguments import LIVE
from barostat.shells.cli.simulate.simulate_inputs import (
    Engine,
    denser,
    engine_of,
    front_of,
    interval_of,
    pace_of,
    rows_of,
)
from barostat.twin.forms import simulate
from barostat.twin.outcome import Outcome
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo, Summary, summarise

if TYPE_CHECKING:
    from barostat.judge.experiments.paired import Paired
    from barostat.judge.experiments.ranked import Ranked
    from barostat.twin.scheduler.run import Watch

DATA_PARALLEL = "--data-parallel-size"


@dataclass(frozen=True, slots=True)
class Simulated:
    """A run of the twin: the settings, what came of it, and the same where steps are as short or as
    long as they may be (`ends`). With several data-parallel ranks all of it is of all together, but
    `settings`, and `ranks` tells them apart; with a prefill/decode pair, `settings` are of the
    prefill engine, and `pair` tells the halves apart.
    """

    title: str
    settings: Settings
    outcome: Outcome
    summary: Summary
    ends: tuple[Summary, ...]
    notes: tuple[str, ...]
    slo: Slo
    version: str
    ranks: Ranked | None = None
    pair: Paired | None = None

    @property
    def usable_blocks(self) -> int:
        """Blocks that requests can hold, over all engines."""
        if self.pair is not None:
            return self.pair.usable_blocks
        count = 1 if self.ranks is None else len(self.ranks.summaries)
        return count * self.settings.usable_blocks


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a run is made of. `arguments`: those given, and what was not given as a running engine
    has it.
    """

    arguments: argparse.Namespace
    engine: Engine
    pace: Pace
    rows: list[Row]
    notes: tuple[str, ...]


def load(arguments: argparse.Namespace) -> Loaded:
    """Engine, step times and requests as the arguments name them.

    Errors: InputError naming the argument that is missing, wrong or without effect.
    """
    source = (
        arguments.workload.removeprefix(LIVE)
        if (arguments.workload or "").startswith(LIVE)
        else None
    )
    _check(arguments, source)
    live = None
    if source is not None:
        from barostat.shells.cli.simulate.from_engine_inputs import look, rows_seen

        live = look(arguments, source, needs_traffic=True)
        arguments = live.arguments
    engine = engine_of(arguments)
    settings = engine.settings
    if live is None:
        pace = pace_of(arguments, engine)
        rows, notes = rows_of(arguments, settings)
    else:
        pace = live.pace.pace if live.pace is not None else pace_of(arguments, engine)
        rows, notes = rows_seen(live, settings, arguments.seed), live.told()
    return Loaded(
        arguments, engine, pace, list(denser(rows, arguments.scale_rate)), (*engine.notes, *notes)
    )


def simulated(arguments: argparse.Namespace) -> Simulated:
    """The run that the arguments ask for.

    Errors: InputError naming the argument that is missing, wrong or without effect.
    """
    count = ranks_of(arguments)  # as given: of an engine that was seen, one rank is simulated
    loaded = load(arguments)
    arguments, engine, pace, rows = loaded.arguments, loaded.engine, loaded.pace, loaded.rows
    settings = engine.settings
    if count > 1:
        return _ranked(loaded, count)
    if arguments.kv_link is not None:
        return _paired(loaded)
    if arguments.steps_out is None:
        outcome = simulate(settings, rows, pace)
    else:
        try:
            with arguments.steps_out.open("w", encoding="utf-8") as file:
                outcome = simulate(settings, rows, pace, _writer(file, arguments.steps_detail))
        except OSError as error:
            raise InputError(error.strerror or str(error), str(arguments.steps_out)) from None
    slo = _slo_of(loaded)
    summary = summarise(outcome, settings.usable_blocks, slo, front_of(pace))
    ends = tuple(
        summarise(simulate(settings, rows, end), settings.usable_blocks, slo, front_of(end))
        for end in interval_of(pace)
    )
    title = arguments.workload or arguments.trace.name
    return Simulated(title, settings, outcome, summary, ends, loaded.notes, slo, engine.version)


def ranks_of(arguments: argparse.Namespace) -> int:
    """Data-parallel ranks that the arguments ask for."""
    return arguments.data_parallel_size or 1


def _refuse_of_one(arguments: argparse.Namespace, option: str) -> None:
    if arguments.steps_out is not None:
        raise InputError(f"is of one engine: it goes without {option}", "--steps-out")


def _slo_of(loaded: Loaded) -> Slo:
    arguments, engine = loaded.arguments, loaded.engine
    return Slo(arguments.slo_ttft or engine.slo_ttft_s, arguments.slo_itl or engine.slo_itl_s)


def _of_several(
    loaded: Loaded, found: Ranked | Paired, ends: Sequence[Ranked | Paired]
) -> Simulated:
    """What comes of several engines together."""
    return Simulated(
        loaded.arguments.workload or loaded.arguments.trace.name,
        loaded.engine.settings,
        found.outcome.together,
        found.summary,
        tuple(one.summary for one in ends),
        (*loaded.notes, *found.notes),
        _slo_of(loaded),
        loaded.engine.version,
    )


def _ranked(loaded: Loaded, count: int) -> Simulated:
    """The run of several data-parallel ranks.

    Errors: InputError for an option that is of one engine.
    """
    from barostat.judge.experiments.ranked import ranked_run

    arguments, engine, pace = loaded.arguments, loaded.engine, loaded.pace
    _refuse_of_one(arguments, f"{DATA_PARALLEL} {count}")
    slo = _slo_of(loaded)
    found, *ends = (
        ranked_run(
            engine.settings, loaded.rows, one, count, slo, front_of(one), version=engine.version,
            in_step=engine.in_step, seed=arguments.seed,
        )
        for one in (pace, *interval_of(pace))
    )  # fmt: skip
    return replace(_of_several(loaded, found, ends), ranks=found)


def _paired(loaded: Loaded) -> Simulated:
    """The run of a prefill/decode pair.

    Errors: InputError for an option that is of one engine, and for what is no link or setting.
    """
    from barostat.judge.experiments.paired import paired_run
    from barostat.shells.cli.simulate.pair_arguments import KV_LINK
    from barostat.shells.cli.simulate.pair_inputs import decode_engine, link_of

    arguments, engine, pace = loaded.arguments, loaded.engine, loaded.pace
    _refuse_of_one(arguments, KV_LINK)
    slo = _slo_of(loaded)
    link = link_of(arguments.kv_link, engine.kv_token_bytes)
    decode = decode_engine(engine.settings, arguments.decode_set)
    found, *ends = (
        paired_run(
            engine.settings, decode, loaded.rows, one, link, slo, front_of(one),
            version=engine.version,
        )
        for one in (pace, *interval_of(pace))
    )  # fmt: skip
    return replace(_of_several(loaded, found, ends), pair=found)


def _check(arguments: argparse.Namespace, source: str | None) -> None:
    """Nothing, where all options can act, what comes out can be written and what counts as good is
    clear: said before a run, not after it.

    Errors: InputError naming the argument.
    """
    from barostat.shells.cli.simulate.unused_options import (
        refuse_idle,
        refuse_no_time,
        refuse_overwriting,
    )

    refuse_idle(arguments, source, f"--workload {LIVE}URL", acting=("data_parallel_size",))
    if source is not None and ranks_of(arguments) > 1:
        raise InputError(
            f"{source} shows the traffic of one rank, and that one is simulated", DATA_PARALLEL
        )
    refuse_overwriting(arguments)
    if arguments.decode_set is not None and arguments.kv_link is None:
        raise InputError("is of a prefill/decode pair: say --kv-link LINK too", "--decode-set")
    if arguments.steps_detail and arguments.steps_out is None:
        raise InputError("goes into the file of --steps-out FILE; say which", "--steps-detail")
    refuse_no_time(arguments)
    for name, path in (("--steps-out", arguments.steps_out), ("--html", arguments.html)):
        if path is not None:
            _try_to_open(path, name)


def _try_to_open(path: Path, name: str) -> None:
    """Nothing, where that file can be written; it is left as it was."""

    try:
        there = path.exists()
        path.open("a").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}", f"{name} {path}"
        ) from None


def _writer(file: Any, detail: bool) -> Watch:
    import json

    def watch(line: Any, scheduler: Any) -> None:
        row: dict[str, Any] = {
            "step": line.step,
            "scheduled": line.scheduled,
            "preempted": list(line.preempted),
            "running": line.running,
            "waiting": line.waiting,
            "free_blocks": line.free_blocks,
        }
        if detail:
            row["free_block_ids"] = scheduler.kv.pool.free_block_ids()
        file.write(json.dumps(row) + "\n")

    return watch
