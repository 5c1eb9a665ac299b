"""The simulation's arguments -> the scheduler's settings, how long steps take, and the rows."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from barostat.catalog.settings.defaults import BLOCK_TOKENS
from barostat.catalog.settings.table import OF_LIMITS
from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.errors import InputError
from barostat.core.version import parse_version
from barostat.shells.cli.engine_options import given_words
from barostat.twin.from_config import settings_of
from barostat.twin.linear_pace import LinearPace, parse_pace
from barostat.twin.modelled import ModelledPace
from barostat.twin.pace import EverySteps, Pace
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings, newer_than_read, would_not_start

if TYPE_CHECKING:
    from barostat.catalog.cards import Card
    from barostat.judge.experiments.trials import Load

_FROM = "from="


@dataclass(frozen=True, slots=True)
class Engine:
    """What is simulated. `pace`: where the card says how long a step takes. `notes`: sentences for
    a person. `in_step`: data-parallel ranks take each step together, as those of a mixture of
    experts do. `kv_token_bytes`: KV bytes of one token over all cards, where a model says.
    """

    settings: Settings
    pace: ModelledPace | None = None
    notes: tuple[str, ...] = ()
    slo_ttft_s: float | None = None
    slo_itl_s: float | None = None
    version: str = DEFAULT_VERSION
    in_step: bool = False
    kv_token_bytes: float | None = None


def engine_of(arguments: argparse.Namespace) -> Engine:
    """The engine that the arguments name: sized from a model and a card, or by its blocks; a limits
    file fills what was not given.

    Errors: InputError naming the argument.
    """
    slo = fill_from_limits(arguments)
    notes: list[str] = []
    pace, in_step, token_bytes = None, False, None
    if arguments.model_config is not None:
        settings, pace, notes, in_step, token_bytes = _planned(arguments)
    else:
        settings = _direct(arguments)
    if newer := newer_than_read(arguments.engine_version or DEFAULT_VERSION):
        notes.append(newer)
    if settings.drafting is None and arguments.speculative_config is not None:
        notes.append(
            "speculative decoding is not simulated: say --draft-acceptance RATIO, the share of "
            "drafts accepted among those whose predecessors were"
        )
    if refused := would_not_start(settings):
        notes.append(f"{refused}: a real engine would not start")
    version = arguments.engine_version or DEFAULT_VERSION
    return Engine(settings, pace, tuple(notes), *slo, version, in_step, token_bytes)


def pace_of(arguments: argparse.Namespace, engine: Engine) -> Pace:
    """How long a step takes.

    Errors: InputError where nothing says.
    """
    if arguments.step_time is not None and arguments.latency is not None:
        raise InputError(
            "--step-time and --latency both say how long a step takes; keep one", "simulate"
        )
    if arguments.step_time is not None:
        if not 1e-9 <= arguments.step_time <= 1e9:
            raise InputError(
                f"{arguments.step_time:g} is no duration of a step in seconds", "--step-time"
            )
        return EverySteps(round(arguments.step_time * 1e9))
    if arguments.latency is not None and arguments.latency.startswith(_FROM):
        return _pace_of_log(Path(arguments.latency.removeprefix(_FROM)), engine.settings)
    if arguments.latency is not None:
        return parse_pace(arguments.latency)
    if engine.pace is not None:
        return engine.pace
    raise InputError(
        "say how long a step takes: --step-time S, --latency MODEL, or --model-config with --gpu",
        "--step-time",
    )


def _pace_of_log(path: Path, settings: Settings) -> LinearPace:
    """The pace of an engine with these settings whose log tells of its steps; of the engine with
    most of them, where there are several.
    """
    from barostat.engines.vllm.logs.steps import logged_steps
    from barostat.io.input_files.lines import lines
    from barostat.judge.calibration.logged_step_times import pace_of_steps

    try:
        with path.open("rb") as file:
            by_engine = logged_steps(lines(file))
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    steps = max(by_engine.values(), key=len, default=[])
    size = settings.groups[0].block_tokens
    return pace_of_steps(steps, settings.usable_blocks * size, size, str(path))


def front_of(pace: Pace) -> float:
    """Seconds that clients wait beyond the steps, as far as the pace knows of any."""
    return pace.front_s if isinstance(pace, LinearPace | ModelledPace) else 0.0


def interval_of(pace: Pace) -> list[Pace]:
    """The pace at the ends of what it may be off by: faster, slower. Nothing if it is exact."""
    if not isinstance(pace, LinearPace | ModelledPace) or not pace.error_ratio:
        return []
    return [pace.scaled(max(0.05, 1 - pace.error_ratio)), pace.scaled(1 + pace.error_ratio)]


def denser(rows: list[Row], times: float) -> list[Row]:
    """The same requests at so many times their rate.

    Errors: InputError for what is no factor, and where clients wait for their answers: what they
    send has no rate of its own.
    """
    if times == 1.0:
        return rows
    if not 1e-3 <= times <= 1e3:
        raise InputError(f"must be 0.001 to 1000, not {times:g}", "--scale-rate")
    if any(row.after_id is not None for row in rows):
        raise InputError(
            "these clients wait for their answers, so the load is their number: give more "
            "of them (closed:, sessions:)",
            "--scale-rate",
        )
    return [row._replace(arrival_s=row.arrival_s / times) for row in rows]


def load_of(arguments: argparse.Namespace, settings: Settings) -> tuple[Load, list[str]]:
    """Return the traffic that the arguments name, and notes on it.

    Errors: InputError.
    """
    from barostat.judge.experiments.trials import Made, PartsOf
    from barostat.twin.workload.made import parse_spec

    rows, notes = rows_of(arguments, settings)
    load: Load = PartsOf(tuple(denser(rows, arguments.scale_rate)), whole=True)
    if arguments.workload is not None and arguments.scale_rate == 1.0:
        load = Made(parse_spec(arguments.workload), arguments.seed)
    return load, notes


def rows_of(arguments: argparse.Namespace, settings: Settings) -> tuple[list[Row], list[str]]:
    """The workload.

    Errors: InputError.
    """
    from barostat.core.uncollected import uncollected

    if arguments.hash_block_size is not None and arguments.hash_block_size < 1:
        raise InputError(
            f"must be at least 1, not {arguments.hash_block_size}", "--hash-block-size"
        )
    with uncollected():
        if arguments.workload is not None:
            from barostat.twin.workload.made import make, parse_spec

            rows = make(parse_spec(arguments.workload), arguments.seed)
            if not rows:
                raise InputError(
                    "holds no request: make it longer, or its rate higher",
                    f"--workload {arguments.workload}",
                )
            return rows, []
        from barostat.io.input_files.requests_file import read_requests

        rows, notes = read_requests(
            arguments.trace, settings.groups[0].block_tokens, arguments.hash_block_size
        )
        if arguments.clients is not None:
            from barostat.twin.workload.made import closed_loop

            if arguments.clients < 1:
                raise InputError("must be at least 1", f"--clients {arguments.clients}")
            rows = closed_loop(rows, arguments.clients)
        return rows, notes


def _direct(arguments: argparse.Namespace) -> Settings:
    """The engine by its number of blocks, all of full attention but for --sliding-window."""
    from barostat.engines.vllm.command_line.config import resolve

    if arguments.kv_blocks is None:
        raise InputError(
            "say how many blocks the pool has (num_gpu_blocks in the engine's log), or "
            "--model-config and --gpu",
            "--kv-blocks",
        )
    block = BLOCK_TOKENS if arguments.block_size is None else arguments.block_size
    if block < 1 or any(window < 2 for window in arguments.sliding_window):
        raise InputError("a block has at least 1 token, a window at least 2", "--block-size")
    groups = (KvGroup(block), *(KvGroup(block, window) for window in arguments.sliding_window))
    version = arguments.engine_version or DEFAULT_VERSION
    config = resolve(
        args=["vllm", "serve", *given_words(arguments)], version=parse_version(version)
    )
    settings = settings_of(config, version, kv_blocks=arguments.kv_blocks, groups=groups)
    acceptance = acceptance_of(arguments)
    if acceptance is None:
        return settings
    from barostat.judge.sizing.planned_twin import with_drafts  # loaded where something drafts

    return with_drafts(settings, config, acceptance)


def _planned(
    arguments: argparse.Namespace,
) -> tuple[Settings, ModelledPace | None, list[str], bool, float]:
    """The engine as it would size itself for that model on that card, whether the model has
    experts, and its KV bytes per token.
    """
    from barostat.core.units import GIB
    from barostat.engines.vllm.command_line.config import resolve
    from barostat.io.input_files.model_files import open_model
    from barostat.judge.sizing.plan import Measured, PlanRequest, plan
    from barostat.judge.sizing.planned_twin import pace_of_plan, settings_of_plan
    from barostat.kv.read_architecture import read_architecture

    version_text = arguments.engine_version or DEFAULT_VERSION
    version = parse_version(version_text)
    if version is None:
        raise InputError(
            "is no version; three numbers such as 0.32.0 were expected",
            f"--engine-version {version_text}",
        )
    card = card_of(arguments.gpu) if arguments.gpu else None
    if card is None and arguments.kv_blocks is None:
        raise InputError("say --gpu NAME or --kv-blocks N beside --model-config", "--gpu")
    words = given_words(arguments)
    on_cpu = "+cpu" in version_text or getattr(arguments, "on_cpu", False)
    memory = card.memory_bytes[0] / GIB if card is not None else None
    config = resolve(
        args=["vllm", "serve", *words],
        env={},
        version=version,
        gpu="cpu" if on_cpu else card.name if card else None,
        gpu_memory_gib=memory,
    )
    found = open_model(arguments.model_config)
    measured = (
        Measured("--kv-blocks", blocks=arguments.kv_blocks)
        if arguments.kv_blocks is not None
        else None
    )
    made = plan(PlanRequest(
        model=read_architecture(found.config, found.source), model_name=found.name, version=version, config=config, card=card,
        memory_bytes=None, available_kv_bytes=None, weights_bytes=None, is_cpu=on_cpu, measured=measured,
        version_assumed=arguments.engine_version is None,
    ))  # fmt: skip
    settings = settings_of_plan(made, acceptance_of(arguments))
    pace = (
        pace_of_plan(made)
        if card is not None and arguments.step_time is None and arguments.latency is None
        else None
    )
    notes = [] if pace is None else [f"steps are reckoned from {pace.source}"]
    has_experts = made.request.model.fields.has_experts
    return settings, pace, notes, has_experts, made.kv_bytes_per_token


def acceptance_of(arguments: argparse.Namespace) -> float | None:
    """The acceptance ratio of drafts, where it was given.

    Errors: InputError where nothing drafts, and for what is no ratio.
    """
    given: float | None = getattr(arguments, "draft_acceptance", None)
    if given is None:
        return None
    where = f"--draft-acceptance {given:g}"
    if arguments.speculative_config is None:
        raise InputError("say --speculative-config too: nothing drafts without it", where)
    if not 0 <= given <= 1:
        raise InputError("must be 0 to 1", where)
    return given


def card_of(name: str) -> Card:
    """The card of that name.

    Errors: InputError with the names that are known.
    """
    from barostat.catalog.cards import card_names, find_card

    card = find_card(name)
    if card is None:
        raise InputError(
            f"no card of the catalogue goes by this name; known: {', '.join(card_names())}",
            f"--gpu {name}",
        )
    return card


def fill_from_limits(arguments: argparse.Namespace) -> tuple[float | None, float | None]:
    """Arguments that were not given are as the limits file says; the answer is its service level
    (TTFT, ITL).
    """
    if arguments.limits is None:
        return None, None
    from barostat.io.input_files.limits_file import load

    spec = load(arguments.limits).spec
    engine, capacity = spec.engine, spec.capacity
    given = {
        setting.name: getattr(engine, field) for field, setting in OF_LIMITS.items() if setting.twin
    }
    given |= {"engine_version": spec.engine_version, "block_size": capacity.block_size}
    for name, value in given.items():
        if value is not None and getattr(arguments, name) is None:
            setattr(arguments, name, value)
    if (
        arguments.kv_blocks is None
        and arguments.gpu is None
        and capacity.kv_cache_tokens is not None
    ):
        arguments.kv_blocks = capacity.kv_cache_tokens // (arguments.block_size or BLOCK_TOKENS) + 1
    return spec.slo.ttft_p99_seconds, spec.slo.itl_p99_seconds
