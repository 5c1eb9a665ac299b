"""`--from URL|deploy/NAME|BUNDLE`: what was seen of an engine, in place of the arguments that were
not given.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barostat.catalog import metric_names as names
from barostat.core.config import ConfigScalar
from barostat.core.errors import InputError
from barostat.judge.calibration.mean_steps import mean_of
from barostat.judge.calibration.preferred import preferred_step_times
from barostat.judge.calibration.step_times import FittedStepTimes
from barostat.judge.experiments.pool_change import Sizing, sizing_of
from barostat.judge.experiments.trials import LikeSeen, fitting_duration_s
from barostat.judge.observed.engine import ObservedEngine, observed_engine
from barostat.judge.observed.settings import (
    ARCHITECTURE,
    Assumption,
    is_cpu,
    seen_pool,
    seen_values,
)
from barostat.judge.observed.traffic import (
    NotObserved,
    ObservedTraffic,
    bucket_of,
    observed_traffic,
)
from barostat.judge.observed.twin_settings import twin_settings
from barostat.shells.cli.simulate.simulate_inputs import engine_of

if TYPE_CHECKING:
    from barostat.judge.evidence.recording import Recording
    from barostat.twin.linear_pace import LinearPace
    from barostat.twin.request import Row
    from barostat.twin.settings import Settings


@dataclass(frozen=True, slots=True)
class Looked:
    """An engine as it was seen. `pace` and `traffic` are None if the arguments give them.
    `measured`: its own numbers, by name, `within` the buckets that its quantiles lie in.

    `arguments`: those given, and what was not given as the engine has it.
    """

    source: str
    arguments: argparse.Namespace
    pace: FittedStepTimes | None
    traffic: ObservedTraffic | None
    measured: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sizing: Sizing = field(default_factory=Sizing)
    replicas: int = 1
    within: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def told(self) -> list[str]:
        """What was seen and assumed, a sentence each."""
        traffic = [] if self.traffic is None else [self.traffic.told()]
        return [*traffic, *self.notes, *([] if self.pace is None else [self.pace.note])]


def look(
    arguments: argparse.Namespace,
    source: str,
    *,
    needs_traffic: bool,
    recording: Recording | None = None,
) -> Looked:
    """Return the observed engine, and the arguments with defaults from it.

    `recording`: of the source, if it was already recorded.

    Errors: InputError for a missing input, with the flag that supplies it.
    """
    seen = observed_engine(recording or recording_of(arguments, source))
    arguments, assumed, lacking = _filled(arguments, seen)
    notes = [*seen.notes, *(str(one.advice) for one in assumed)]
    found = _traffic(arguments, seen)
    traffic = None if isinstance(found, NotObserved) else found
    pace = None
    if arguments.step_time is None and arguments.latency is None:
        settings = None if lacking else engine_of(arguments).settings
        pace = preferred_step_times(
            seen, settings, traffic, _card_pace(arguments, seen), arguments.max_num_batched_tokens
        )
        if pace is None:
            lacking.append(
                f"how long a step takes was not seen ({_why_no_pace(seen)}): say --latency "
                "MODEL or --step-time S, "
                "or --model-config and --gpu"
            )
    if not needs_traffic:
        traffic = None
    elif isinstance(found, NotObserved):
        lacking.append(found.why)
    else:
        notes += [*([found.came] if found.came else []), *found.notes]
    if lacking:
        raise InputError("; ".join(lacking), source)
    sizing, within = seen_sizing(arguments, seen), _within(seen)
    return Looked(
        source,
        arguments,
        pace,
        traffic,
        _measured(seen),
        tuple(notes),
        sizing,
        seen.replicas,
        within,
    )


def _filled(
    arguments: argparse.Namespace, seen: ObservedEngine
) -> tuple[argparse.Namespace, list[Assumption], list[str]]:
    """The arguments with what the engine shows in place of what was not given; what is assumed; and
    what is lacking, a sentence each.
    """
    window = seen.window
    given = {name for name, value in vars(arguments).items() if value is not None}
    if "engine_version" in given:
        given.add("version")
    values, assumed = seen_values(window, given)
    filled: dict[str, ConfigScalar] = dict(values)
    lacking: list[str] = []
    pool = seen_pool(window)
    if pool is not None:
        twin = twin_settings(window, arguments.gpu or seen.gpu)
        grouping = [] if twin is None else [a for a in twin.assumptions if a.about == ARCHITECTURE]
        filled["kv_blocks"] = pool.blocks if twin is None else twin.settings.kv_blocks
        filled.setdefault("block_size", pool.block_tokens)
        if arguments.model_config is not None:
            filled["kv_blocks"] = pool.blocks
        elif twin is not None and twin.model:
            filled["model_config"] = twin.model
            filled.pop("block_size", None)
        if arguments.model_config is None:
            assumed = (*assumed, *grouping)
        if twin is not None and twin.settings.drafting is not None:
            filled["draft_acceptance"] = twin.settings.drafting.acceptance_ratio
    elif "kv_blocks" not in given and "model_config" not in given:
        lacking.append(
            "the size of the KV pool was not seen (num_gpu_blocks, before 0.8 or without a "
            "log of its start): say --kv-blocks N"
        )
    if window.version is not None:
        filled["engine_version"] = str(window.version)
    filled["on_cpu"] = is_cpu(window)
    changed = {name: value for name, value in filled.items() if name not in given}
    return argparse.Namespace(**{**vars(arguments), **changed}), list(assumed), lacking


def paces_of(looked: Looked) -> tuple[LinearPace, ...]:
    """The calibrated pace, then all others that it may be: those that the samples do not rule out,
    and the ends of its error.
    """
    if looked.pace is None:
        return ()
    pace = looked.pace.pace
    ends = (
        (pace.scaled(max(0.05, 1 - pace.error_ratio)), pace.scaled(1 + pace.error_ratio))
        if pace.error_ratio
        else ()
    )
    return (pace, *looked.pace.others, *ends)


def rows_seen(looked: Looked, settings: Settings, seed: int) -> list[Row]:
    """Rows like the traffic that was seen, for as long as some hundred requests take."""
    if looked.traffic is None:
        return []
    duration_s = fitting_duration_s(looked.traffic)
    return LikeSeen(
        looked.traffic, duration_s, settings.hash_tokens, settings.max_model_len, seed
    ).rows(0)


def recording_of(arguments: argparse.Namespace, source: str) -> Recording:
    """What the engine, workload or bundle of that name shows."""
    from pathlib import Path

    from barostat.io.kubernetes.recording.target import is_workload

    if "://" in source or (is_workload(source) and not Path(source).exists()):
        from barostat.shells.cli.diagnose.gathering import gather

        asked = copy.copy(arguments)
        asked.target, asked.pid, asked.probe = [source], None, False
        return gather(asked).recording
    from barostat.io.bundles import bundle
    from barostat.shells.cli.cluster_flags import wanted

    wanted(arguments, [source])  # a bundle is in no namespace
    if arguments.log is not None:
        raise InputError(
            "a bundle brings its own logs; the steps of another log are taken with "
            "--latency from=FILE",
            f"--log {arguments.log}",
        )
    return bundle.read(Path(source))


def seen_sizing(arguments: argparse.Namespace, seen: ObservedEngine) -> Sizing:
    """Return the inputs for sizing the pool: the given model and card, else those that the engine
    reports.
    """
    from barostat.io.input_files.model_files import open_model
    from barostat.kv.read_architecture import read_architecture

    model = None
    named = arguments.model_config or _value(seen, "model")
    try:
        if named is not None:
            found = open_model(named)
            model = (found.name, read_architecture(found.config, found.source))
    except InputError:
        if arguments.model_config is not None:
            raise
    return sizing_of(seen.window, arguments.gpu or seen.gpu, model)


def _card_pace(arguments: argparse.Namespace, seen: ObservedEngine) -> LinearPace | None:
    """A step as the card's figures have it, where model and card are known."""
    model = arguments.model_config or _value(seen, "model")
    card = arguments.gpu or seen.gpu
    if model is None or card is None:
        return None
    asked = copy.copy(arguments)
    asked.model_config, asked.gpu, asked.limits, asked.step_time, asked.latency = (
        model,
        card,
        None,
        None,
        None,
    )
    try:
        pace = engine_of(asked).pace
    except InputError:
        return None
    return None if pace is None else pace.line()


def _traffic(arguments: argparse.Namespace, seen: ObservedEngine) -> ObservedTraffic | NotObserved:
    from dataclasses import replace

    found = observed_traffic(seen.window, seen.scrapes)
    if isinstance(found, NotObserved):
        return found
    if arguments.clients is not None:
        if arguments.clients < 1:
            raise InputError("must be at least 1", f"--clients {arguments.clients}")
        return replace(found, clients=arguments.clients, came="")
    if arguments.arrivals == "open":
        return replace(found, clients=None, came="")
    if arguments.arrivals == "closed" and found.clients is None:
        return replace(found, clients=max(1, round(max(found.in_flight, default=1.0))), came="")
    return found


def _why_no_pace(seen: ObservedEngine) -> str:
    if seen.scrapes is None:
        return "no metrics"
    return (
        "one scrape tells no rates"
        if len(seen.scrapes.scrapes) < 2
        else "hardly a step in the time looked at"
    )


def _value(seen: ObservedEngine, name: str) -> str | None:
    found = seen.window.config.get(name)
    return str(found.value) if found is not None else None


# Name in the comparison -> the signal, and whether the mean over the window or the window's own
# value is meant.
_MEASURED = {
    "requests_per_s": ("finished_per_s", True),
    "output_tokens_per_s": ("generation_tokens_per_s", True),
    "ttft_p50_s": ("ttft_p50_s", False),
    "ttft_p99_s": ("ttft_p99_s", False),
    "itl_p50_s": ("itl_p50_s", False),
    "itl_p99_s": ("itl_p99_s", False),
    "kv_usage_ratio": ("kv_usage_ratio", True),
    "running": ("running_requests", True),
    "waiting": ("waiting_requests", True),
    "preempted_per_s": ("preemptions_per_s", True),
}
_MEANS = {"ttft_mean_s": names.TTFT, "itl_mean_s": names.ITL}
_QUANTILES = {
    "ttft_p50_s": (names.TTFT, 0.5), "ttft_p99_s": (names.TTFT, 0.99), "itl_p50_s": (names.ITL, 0.5), "itl_p99_s": (names.ITL, 0.99),
}  # fmt: skip


def _measured(seen: ObservedEngine) -> dict[str, float]:
    found = {}
    for name, (signal, over_time) in _MEASURED.items():
        one = seen.window.signals.get(signal)
        if one is not None:
            found[name] = one.mean if over_time else one.last
    for name, family in _MEANS.items():
        mean, count = (0.0, 0.0) if seen.scrapes is None else mean_of(seen.scrapes, family)
        if count:
            found[name] = mean
    return found


def _within(seen: ObservedEngine) -> dict[str, tuple[float, float]]:
    """The bucket of each quantile: a histogram tells no more of it than that, whatever lies between
    is drawn as a line.
    """
    found = {}
    for name, (family, q) in _QUANTILES.items():
        observed = None if seen.scrapes is None else seen.scrapes.observed(family)
        bucket = None if observed is None else bucket_of(observed, q)
        if bucket is not None:
            found[name] = bucket
    return found
