"""The simulation's arguments -> the scheduler's settings, how long steps take, and the rows."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from barostat.catalog.settings.defaults import BLOCK_TOKENS, SMALL_CARD_SEQS, SMALL_CARD_STEP_TOKENS
from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.errors import InputError
from barostat.core.version import parse_version
from barostat.twin.linear_pace import LinearPace, parse_pace
from barostat.twin.modelled import ModelledPace
from barostat.twin.pace import EverySteps, Pace
from barostat.twin.request import Row
from barostat.twin.settings import (
    KvGroup,
    Policy,
    Settings,
    check,
    for_version,
    newer_than_read,
    would_not_start,
)

if TYPE_CHECKING:
    from barostat.catalog.cards import Card
    from barostat.judge.experiments.trials import Load

_FROM = "from="
_SWITCHES = ("enable_prefix_caching", "enable_chunked_prefill", "async_scheduling", "enforce_eager")
# Our argument -> vLLM's flag, for what the engine's own resolution has to know.
_PASSED = {
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "max_model_len": "--max-model-len",
    "tensor_parallel_size": "--tensor-parallel-size",
    "gpu_memory_utilization": "--gpu-memory-utilization",
    "kv_cache_dtype": "--kv-cache-dtype",
    "kv_cache_memory_bytes": "--kv-cache-memory-bytes",
    "max_cudagraph_capture_size": "--max-cudagraph-capture-size",
    "watermark": "--watermark",
    "policy": "--scheduling-policy",
    "long_prefill_token_threshold": "--long-prefill-token-threshold",
    "max_num_active_seqs": "--max-num-active-seqs",
    "max_queued_requests": "--max-num-queued-reqs",
    "max_queued_tokens": "--max-num-queued-tokens",
    "block_size": "--block-size",
}


@dataclass(frozen=True, slots=True)
class Engine:
    """What is simulated. `pace`: where the card says how long a step takes. `notes`: sentences for
    a person.
    """

    settings: Settings
    pace: ModelledPace | None = None
    notes: tuple[str, ...] = ()
    slo_ttft_s: float | None = None
    slo_itl_s: float | None = None
    version: str = DEFAULT_VERSION


def engine_of(arguments: argparse.Namespace) -> Engine:
    """The engine that the arguments name: sized from a model and a card, or by its blocks; a limits
    file fills what was not given.

    Errors: InputError naming the argument.
    """
    slo = fill_from_limits(arguments)
    notes: list[str] = []
    pace = None
    if arguments.model_config is not None:
        settings, pace, notes = _planned(arguments)
    else:
        settings = _direct(arguments)
    if newer := newer_than_read(arguments.engine_version or DEFAULT_VERSION):
        notes.append(newer)
    if refused := would_not_start(settings):
        notes.append(f"{refused}: a real engine would not start")
    return Engine(settings, pace, tuple(notes), *slo, arguments.engine_version or DEFAULT_VERSION)


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
    """The pace at the ends of what it may be off by: faster, slower. Nothing where it is exact."""
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


def load_of(
    arguments: argparse.Namespace, settings: Settings, times: float = 1.0
) -> tuple[Load, list[str]]:
    """The traffic that the arguments name, so many times as much of it as they say, and what to
    know of it.

    Errors: InputError.
    """
    from barostat.judge.experiments.trials import Made, PartsOf, times_as_much
    from barostat.twin.workload.made import parse_spec

    rows, notes = rows_of(arguments, settings)
    load: Load = PartsOf(tuple(denser(rows, arguments.scale_rate)), whole=True)
    if arguments.workload is not None and arguments.scale_rate == 1.0:
        load = Made(parse_spec(arguments.workload), arguments.seed)
    return times_as_much(load, times), notes


def rows_of(arguments: argparse.Namespace, settings: Settings) -> tuple[list[Row], list[str]]:
    """The workload.

    Errors: InputError.
    """
    from barostat.twin.forms import uncollected

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

        return read_requests(
            arguments.trace, settings.groups[0].block_tokens, arguments.hash_block_size
        )


def _direct(arguments: argparse.Namespace) -> Settings:
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
    length = (
        arguments.max_model_len
        if arguments.max_model_len is not None
        else max(1, (arguments.kv_blocks - 1) * block)
    )
    chunked = arguments.enable_chunked_prefill is not False
    budget = arguments.max_num_batched_tokens
    if budget is None:
        budget = max(SMALL_CARD_STEP_TOKENS, arguments.max_num_seqs or 0, 0 if chunked else length)
    version = arguments.engine_version or DEFAULT_VERSION
    draft = Settings(
        kv_blocks=arguments.kv_blocks,
        groups=groups,
        max_model_len=length,
        max_num_seqs=arguments.max_num_seqs
        if arguments.max_num_seqs is not None
        else min(SMALL_CARD_SEQS, budget),
        max_num_batched_tokens=budget,
        max_num_active_seqs=arguments.max_num_active_seqs,
        long_prefill_token_threshold=arguments.long_prefill_token_threshold or 0,
        watermark_ratio=arguments.watermark or 0.0,
        policy=_policy(arguments),
        max_queued_requests=arguments.max_queued_requests,
        max_queued_tokens=arguments.max_queued_tokens,
    )
    return for_version(_switched(draft, arguments, version), version)


def _policy(arguments: argparse.Namespace) -> Policy:
    return "priority" if arguments.policy == "priority" else "fcfs"


def _switched(settings: Settings, arguments: argparse.Namespace, version: str) -> Settings:
    """On unless switched off; asynchronous scheduling from the version on that has it by
    default.
    """
    known = parse_version(version)
    by_default = known is not None and known.at_least("0.14.0")
    return replace(
        settings,
        prefix_caching=arguments.enable_prefix_caching is not False,
        chunked_prefill=arguments.enable_chunked_prefill is not False,
        async_scheduling=by_default
        if arguments.async_scheduling is None
        else arguments.async_scheduling,
        reserve_full_isl=arguments.reserve_full_isl is not False,
    )


def _planned(arguments: argparse.Namespace) -> tuple[Settings, ModelledPace | None, list[str]]:
    """The engine as it would size itself for that model on that card."""
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
    words = words_of(arguments)
    memory = card.memory_bytes[0] / GIB if card is not None else None
    config = resolve(
        args=["vllm", "serve", *words],
        env={},
        version=version,
        gpu=card.name if card else None,
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
        memory_bytes=None, available_kv_bytes=None, weights_bytes=None, is_cpu=False, measured=measured,
        version_assumed=arguments.engine_version is None,
    ))  # fmt: skip
    settings = settings_of_plan(made)
    settings = replace(
        settings,
        chunked_prefill=arguments.enable_chunked_prefill is not False,
        reserve_full_isl=settings.reserve_full_isl and arguments.reserve_full_isl is not False,
    )
    if not settings.chunked_prefill:
        check(settings)
    pace = (
        pace_of_plan(made)
        if card is not None and arguments.step_time is None and arguments.latency is None
        else None
    )
    notes = [] if pace is None else [f"steps are reckoned from {pace.source}"]
    return settings, pace, notes


def words_of(arguments: argparse.Namespace, besides: Collection[str] = ()) -> list[str]:
    """The arguments that are given as vLLM's own, without those that are told besides."""
    given = {
        name: value
        for name in (*_PASSED, *_SWITCHES)
        if name not in besides and (value := getattr(arguments, name)) is not None
    }
    words = [
        word for name, flag in _PASSED.items() if name in given for word in (flag, str(given[name]))
    ]
    return words + [
        f"--{'' if given[name] else 'no-'}{name.replace('_', '-')}"
        for name in _SWITCHES
        if name in given
    ]


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
        "max_model_len": engine.max_model_len,
        "max_num_seqs": engine.max_num_seqs,
        "max_num_active_seqs": engine.max_num_active_seqs,
        "max_num_batched_tokens": engine.max_num_batched_tokens,
        "watermark": engine.watermark,
        "max_queued_requests": engine.max_queued_requests,
        "max_queued_tokens": engine.max_queued_tokens,
        "engine_version": spec.engine_version,
        "block_size": capacity.block_size,
    }
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
