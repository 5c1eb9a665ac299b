"""`--from URL|deploy/NAME|BUNDLE`: what was seen of an engine, in place of the arguments that were not given."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barostat.core.errors import InputError
from barostat.judge.seen_by_twin import asked_of_twin
from barostat.judge.seen_engine import SeenEngine, seen_engine
from barostat.judge.seen_pace import SeenPace, pace_of_latency, pace_of_log, seen_pace
from barostat.judge.seen_settings import seen_settings
from barostat.judge.seen_traffic import NotSeen, SeenTraffic, seen_traffic
from barostat.judge.trials import LikeSeen, fitting_duration_s
from barostat.shells.cli.simulate_inputs import engine_of

if TYPE_CHECKING:
    from barostat.judge.recording import Recording
    from barostat.twin.latency import LinearPace
    from barostat.twin.request import Row
    from barostat.twin.settings import Settings


@dataclass(frozen=True, slots=True)
class Looked:
    """An engine as it was seen. `pace` and `traffic` are None where the arguments give them. `measured`: its own numbers, by name."""

    source: str
    pace: SeenPace | None
    traffic: SeenTraffic | None
    measured: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def told(self) -> list[str]:
        """What was seen and assumed, a sentence each."""
        traffic = [] if self.traffic is None else [self.traffic.told()]
        return [*traffic, *self.notes, *([] if self.pace is None else [self.pace.note])]


def look(arguments: argparse.Namespace, source: str, *, needs_traffic: bool) -> Looked:
    """What the engine shows; arguments that were not given are from now on as it has them.

    Errors: InputError where something that is needed was not seen, with the flag that supplies it.
    """
    recording = _recording(arguments, source)
    seen = seen_engine(recording)
    resolved = seen_settings(seen.window, model_known=arguments.model_config is not None)
    lacking = [why for name, why in resolved.missing.items() if getattr(arguments, name) is None and arguments.model_config is None]
    for name, value in resolved.values.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    notes = [*seen.notes, *resolved.notes]
    found = _traffic(arguments, seen)
    traffic = None if isinstance(found, NotSeen) else found
    pace = None
    if arguments.step_time is None and arguments.latency is None:
        settings = None if lacking else engine_of(arguments).settings
        pace = _pace(arguments, seen, settings, traffic)
        if pace is None:
            lacking.append(
                f"how long a step takes was not seen ({_why_no_pace(seen)}): say --latency MODEL or --step-time S, "
                "or --model-config and --gpu"
            )
    if not needs_traffic:
        traffic = None
    elif isinstance(found, NotSeen):
        lacking.append(found.why)
    else:
        notes += [*([found.came] if found.came else []), *found.notes]
    if lacking:
        raise InputError("; ".join(lacking), source)
    return Looked(source, pace, traffic, _measured(seen), tuple(notes))


def paces_of(looked: Looked) -> tuple[LinearPace, ...]:
    """The calibrated pace, then all others that it may be: those that the samples do not rule out, and the ends of its error."""
    if looked.pace is None:
        return ()
    pace = looked.pace.pace
    ends = (pace.scaled(max(0.05, 1 - pace.error_ratio)), pace.scaled(1 + pace.error_ratio)) if pace.error_ratio else ()
    return (pace, *looked.pace.others, *ends)


def rows_seen(looked: Looked, settings: Settings, seed: int) -> list[Row]:
    """Rows like the traffic that was seen, for as long as some hundred requests take."""
    if looked.traffic is None:
        return []
    duration_s = fitting_duration_s(looked.traffic)
    return LikeSeen(looked.traffic, duration_s, settings.hash_tokens, settings.max_model_len, seed).rows(0)


def _recording(arguments: argparse.Namespace, source: str) -> Recording:
    from pathlib import Path

    from barostat.io.kubernetes.target import is_workload

    if "://" in source or (is_workload(source) and not Path(source).exists()):
        from barostat.shells.cli.collect import gather

        asked = copy.copy(arguments)
        asked.target, asked.pid, asked.probe = [source], None, False
        return gather(asked)
    from barostat.io import bundle
    from barostat.shells.cli.cluster_flags import wanted

    wanted(arguments, [source])  # a bundle is in no namespace
    if arguments.log is not None:
        raise InputError(
            "a bundle brings its own logs; the steps of another log are taken with --latency from=FILE", f"--log {arguments.log}"
        )
    return bundle.read(Path(source))


def _pace(arguments: argparse.Namespace, seen: SeenEngine, settings: Settings | None, traffic: SeenTraffic | None) -> SeenPace | None:
    """Calibrated on the log's step lines; else on the metrics; else a step as long as the typical time between tokens; else as the card's
    figures have it."""
    if settings is not None and (logged := pace_of_log(seen.log, seen.index, settings, seen.scrapes)) is not None:
        return logged
    card = _card_pace(arguments, seen)
    budget = arguments.max_num_batched_tokens
    found = None
    if seen.scrapes is not None:
        found = seen_pace(seen.scrapes, card, budget)
        if found is not None and settings is not None and traffic is not None:
            found = asked_of_twin(found, seen.scrapes, settings, traffic, card)
    if found is not None:
        return found
    itl = seen.window.signals.get("itl_p50_s") or seen.window.signals.get("tpot_p50_s")
    if itl is not None and itl.last > 0:
        return pace_of_latency(itl.last, itl.source, card)
    return None if card is None else SeenPace(card, (), (), f"steps are reckoned from {card.source}")


def _card_pace(arguments: argparse.Namespace, seen: SeenEngine) -> LinearPace | None:
    """A step as the card's figures have it, where model and card are known."""
    model = arguments.model_config or _value(seen, "model")
    card = arguments.gpu or seen.gpu
    if model is None or card is None:
        return None
    asked = copy.copy(arguments)
    asked.model_config, asked.gpu, asked.limits, asked.step_time, asked.latency = model, card, None, None, None
    try:
        return engine_of(asked).pace
    except InputError:
        return None


def _traffic(arguments: argparse.Namespace, seen: SeenEngine) -> SeenTraffic | NotSeen:
    from dataclasses import replace

    found = seen_traffic(seen.window, seen.scrapes)
    if isinstance(found, NotSeen):
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


def _why_no_pace(seen: SeenEngine) -> str:
    if seen.scrapes is None:
        return "no metrics"
    return "one scrape tells no rates" if len(seen.scrapes.scrapes) < 2 else "hardly a step in the time looked at"


def _value(seen: SeenEngine, name: str) -> str | None:
    found = seen.window.config.get(name)
    return str(found.value) if found is not None else None


# Name in the comparison -> the signal, and whether the mean over the window or the window's own value is meant.
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


def _measured(seen: SeenEngine) -> dict[str, float]:
    found = {}
    for name, (signal, over_time) in _MEASURED.items():
        one = seen.window.signals.get(signal)
        if one is not None:
            found[name] = one.mean if over_time else one.last
    return found
