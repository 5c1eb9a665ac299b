"""The plan's arguments -> a request, and the request -> everything a view shows."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from barostat.catalog.cards import Card, card_names, find_card
from barostat.core.config import EngineConfig
from barostat.core.errors import InputError
from barostat.core.units import GIB
from barostat.core.version import EngineVersion, parse_version
from barostat.core.window import Window
from barostat.engines.vllm import command_line
from barostat.engines.vllm.config import resolve
from barostat.io.model_files import FoundModel, open_model
from barostat.judge.fitting_changes import Change, changes_that_fit, why_not
from barostat.judge.limits_from import Derived, limits_from
from barostat.judge.measured import declared_of, measured_of, traffic_of_window
from barostat.judge.plan import CapacityPlan, Measured, PlanRequest, plan
from barostat.judge.speculation import named_drafter
from barostat.judge.traffic import Traffic, traffic_from_quantiles, traffic_of
from barostat.kv.architecture import Architecture
from barostat.kv.deployment import NEWEST_KNOWN
from barostat.kv.read_architecture import read_architecture
from barostat.shells.cli.plan import PASSED


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for. `notes`: sentences for a person, to stderr."""

    request: PlanRequest
    traffic: Traffic | None
    headroom_ratio: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan with what follows from it."""

    plan: CapacityPlan
    derived: Derived
    traffic: Traffic | None
    refusal: str
    changes: tuple[Change, ...]


def asked(arguments: argparse.Namespace) -> Asked:
    """The request that these arguments make.

    Errors: InputError for what is missing, unknown or contradictory.
    """
    line = command_line.parse(arguments.command, {}) if arguments.command else None
    window, seen_card = _window(arguments) if arguments.source else (None, None)
    named = arguments.model_config or arguments.model or (line.model if line is not None else None) or _model_of(window)
    if named is None:
        raise InputError("which model? give --model NAME, --model-config FILE, or vLLM's command line after --", "plan")
    found = open_model(named)
    version, assumed = _version(arguments, window)
    is_cpu = (arguments.gpu or "").lower() == "cpu" or arguments.cpu_kvcache_space_gib is not None or "+cpu" in str(version)
    card = None if is_cpu else _card(arguments.gpu) if arguments.gpu else find_card(seen_card or "")
    memory = arguments.gpu_memory_gib
    environment = {"VLLM_CPU_KVCACHE_SPACE": str(int(arguments.cpu_kvcache_space_gib or 4))} if is_cpu else {}
    given = [*arguments.command, *_flags(arguments)] if line is not None else ["vllm", "serve", *_flags(arguments)]
    own = resolve(
        args=given, env=environment, version=version, gpu="cpu" if is_cpu else card.name if card else arguments.gpu,
        gpu_memory_gib=memory or (card.memory_bytes[0] / GIB if card else None),
    )  # fmt: skip
    config = own if window is None else _over(own, declared_of(window.config))
    model = read_architecture(found.config, found.source)
    drafter = _drafter(arguments.draft_model_config, named_drafter(config))
    request = PlanRequest(
        model=model,
        model_name=found.name,
        version=version,
        config=config,
        card=card,
        memory_bytes=_bytes(memory, "--gpu-memory-gib"),
        available_kv_bytes=_bytes(arguments.available_kv_gib, "--available-kv-gib")
        or _bytes(arguments.cpu_kvcache_space_gib, "--cpu-kvcache-space-gib"),
        weights_bytes=_bytes(arguments.weights_gib, "--weights-gib") or _weights(found, config),
        is_cpu=is_cpu,
        measured=measured_of(window) if window is not None else None,
        version_assumed=assumed,
        drafter=drafter,
    )
    traffic, notes = _traffic(arguments, window)
    if window is not None and request.measured is None:
        notes.append("the engine reports no pool (before 0.8, or no log of its start): reckoned instead")
    return Asked(request, traffic, _headroom(arguments.headroom), tuple(notes))


def answer(question: Asked) -> Answer:
    """The plan and what follows from it.

    Errors: InputError as `plan`.
    """
    made = plan(question.request)
    derived = limits_from(made, question.traffic, str(question.request.version), headroom_ratio=question.headroom_ratio)
    return Answer(made, derived, question.traffic, why_not(made), tuple(changes_that_fit(made)))


def _drafter(given: str | None, named: str) -> Architecture | None:
    """The drafter's architecture: of the file that was given, or of the model that --speculative-config names where it is at hand."""
    try:
        found = open_model(given or named) if given or named else None
    except InputError:
        if given:
            raise
        return None
    return None if found is None else read_architecture(found.config.get("transformer_layer_config", found.config), found.source)


def _flags(arguments: argparse.Namespace) -> list[str]:
    """Our flags as vLLM's."""
    words = [
        word for ours, theirs in PASSED.items() if (value := getattr(arguments, ours)) is not None for word in (f"--{theirs}", str(value))
    ]
    if arguments.enforce_eager:
        words.append("--enforce-eager")
    if arguments.disable_hybrid_kv_cache_manager:
        words.append("--disable-hybrid-kv-cache-manager")
    switches = ((name, getattr(arguments, name)) for name in ("async_scheduling", "enable_prefix_caching"))
    return words + [f"--{'' if value else 'no-'}{name.replace('_', '-')}" for name, value in switches if value is not None]


def _over(own: EngineConfig, seen: EngineConfig) -> EngineConfig:
    """The engine's settings, with what was given here on top."""
    given = {name: value for name, value in own.values.items() if value.provenance in ("flag", "environment")}
    defaults = {name: value for name, value in own.values.items() if name not in given}
    return EngineConfig({**defaults, **seen.values, **given}, (*seen.problems, *own.problems))


def _card(name: str) -> Card:
    found = find_card(name)
    if found is None:
        raise InputError(
            f"no card of the catalogue goes by this name; known: {', '.join(card_names())}; or give --gpu-memory-gib", f"--gpu {name}"
        )
    return found


def _version(arguments: argparse.Namespace, window: Window | None) -> tuple[EngineVersion, bool]:
    text = arguments.engine_version
    if text is None and window is not None and window.version is not None:
        return window.version, False
    found = parse_version(text or NEWEST_KNOWN)
    if found is None:
        raise InputError("is no version; three numbers such as 0.32.0 were expected", f"--engine-version {text}")
    return found, text is None


def _bytes(gib: float | None, name: str) -> int | None:
    if gib is None:
        return None
    if not 0 < gib < 1e6:
        raise InputError(f"{gib} is no amount of memory", name)
    return int(gib * GIB)


def _weights(found: FoundModel, config: EngineConfig) -> int | None:
    """The checkpoint's own size divided over the GPUs, where its files are there."""
    if found.weights_bytes is None:
        return None
    return int(
        found.weights_bytes / max(1.0, (config.number("tensor_parallel_size") or 1) * (config.number("pipeline_parallel_size") or 1))
    )


def _headroom(ratio: float) -> float:
    if not 0 <= ratio < 0.9:
        raise InputError(f"{ratio} is no share to keep free; 0 to 0.9 was expected", "--headroom")
    return ratio


def _traffic(arguments: argparse.Namespace, window: Window | None) -> tuple[Traffic | None, list[str]]:
    quantiles = [getattr(arguments, name) for name in ("input_p50", "input_p99", "output_p50", "output_p99")]
    if arguments.trace:
        from barostat.io.traces import read_trace

        arrivals, problems = read_trace(Path(arguments.trace))
        return traffic_of(arrivals, Path(arguments.trace).name), problems
    if any(value is not None for value in quantiles):
        if any(value is None or value < 0 for value in quantiles):
            raise InputError("all four of --input-p50 --input-p99 --output-p50 --output-p99 are needed, none below 0", "plan")
        p50_in, p99_in, p50_out, p99_out = quantiles
        return traffic_from_quantiles((p50_in, p99_in), (p50_out, p99_out), "the given quantiles"), []
    return (traffic_of_window(window) if window is not None else None), []


def _window(arguments: argparse.Namespace) -> tuple[Window, str | None]:
    """The engine behind a URL, in a cluster or of a bundle, at this instant, and its card's name where that is on record."""
    from barostat.judge.assemble import windows
    from barostat.shells.cli.cluster_flags import wanted

    source: str = arguments.source
    cluster = wanted(arguments, [source])
    if cluster is not None:
        from barostat.io.kubernetes import live

        recording = live.record(cluster, live.Options(for_s=0.0)).recording
    elif "://" in source:
        from barostat.io.record import Sources, record

        recording = record(Sources((source,)), 0.0, 1.0)
    else:
        from barostat.io import bundle

        recording = bundle.read(Path(source))
    for replica in recording.replicas:
        found, _ = windows(recording, replica)
        for window in found.values():
            if window.config.values:
                return window, replica.gpu
    raise InputError("tells nothing of an engine's configuration", source)


def _model_of(window: Window | None) -> str | None:
    found = window.config.get("model") if window is not None else None
    return str(found.value) if found is not None else None


__all__ = ["Answer", "Asked", "Measured", "answer", "asked"]
