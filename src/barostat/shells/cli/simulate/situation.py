"""What is tried and tuned: today's settings, the load, the paces that a step may have, from
arguments or from a running engine.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from barostat.core.errors import InputError
from barostat.judge.evidence.recording import Recording
from barostat.judge.experiments.pool_change import Sizing
from barostat.judge.experiments.trials import LikeSeen, Load, Made, PartsOf, fitting_duration_s
from barostat.judge.observed.traffic import ObservedTraffic
from barostat.shells.cli.simulate.from_engine_inputs import look, paces_of
from barostat.shells.cli.simulate.simulate_inputs import engine_of, interval_of, pace_of, rows_of
from barostat.twin.pace import Pace
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo
from barostat.twin.workload.made import parse_spec


@dataclass(frozen=True, slots=True)
class Situation:
    """`paces`: the expected one, then the others that it may be. `measured`: the engine's own
    numbers, `within`: the buckets of its quantiles. `notes`: for a person.

    `arguments`: those given, with what the engine showed in place of what was not.
    """

    arguments: argparse.Namespace
    settings: Settings
    load: Load
    slo: Slo
    paces: tuple[Pace, ...]
    traffic: ObservedTraffic | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sizing: Sizing = field(default_factory=Sizing)
    replicas: int = 1
    within: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def situation(
    arguments: argparse.Namespace,
    slo: Slo,
    *,
    whole_trace: bool = True,
    recording: Recording | None = None,
) -> Situation:
    """The situation that the arguments name. What `--from` has seen fills in what they do not say.

    `whole_trace`: a trace is one load, not parts of which some are held out. `recording`: of
    `--from`, where it was looked at already.
    Errors: InputError for what is missing, with the flag that supplies it.
    """
    given = arguments.trace is not None or arguments.workload is not None
    if arguments.source is None and not given:
        raise InputError(
            "say which traffic: --from URL, deploy/NAME or BUNDLE, --trace FILE or --workload SPEC",
            str(arguments.verb),
        )
    looked = (
        None
        if arguments.source is None
        else look(arguments, arguments.source, needs_traffic=not given, recording=recording)
    )
    arguments = arguments if looked is None else looked.arguments
    engine = engine_of(arguments)
    paces: tuple[Pace, ...] = () if looked is None else paces_of(looked)
    if not paces:
        pace = pace_of(arguments, engine)
        paces = (pace, *interval_of(pace))
    notes = [*([] if looked is None else looked.told()), *engine.notes]
    traffic = None if looked is None else looked.traffic
    load: Load
    if traffic is not None:
        duration_s = arguments.duration or fitting_duration_s(traffic)
        load = LikeSeen(
            traffic,
            duration_s,
            engine.settings.hash_tokens,
            engine.settings.max_model_len,
            arguments.seed,
        )
    elif arguments.trace is not None:
        rows, said = rows_of(arguments, engine.settings)
        notes += said
        load = PartsOf(tuple(rows), whole=whole_trace)
    else:
        load = Made(parse_spec(arguments.workload), arguments.seed)
    asked = replace(
        slo, ttft_s=slo.ttft_s or engine.slo_ttft_s, itl_s=slo.itl_s or engine.slo_itl_s
    )
    found = Situation(arguments, engine.settings, load, asked, paces, traffic, notes=tuple(notes))
    if looked is None:
        return found
    return replace(
        found,
        measured=looked.measured,
        within=looked.within,
        sizing=looked.sizing,
        replicas=looked.replicas,
    )
