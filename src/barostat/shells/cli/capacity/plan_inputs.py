"""The plan's arguments -> a request, and the request -> everything a view shows."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from barostat.catalog.card_counts import CardCount, nearest_cards, read_card_count
from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model
from barostat.catalog.settings.table import SETTINGS
from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.config import EngineConfig
from barostat.core.errors import InputError
from barostat.core.limits import ServiceLevel, TargetRef
from barostat.core.units import GIB
from barostat.core.version import EngineVersion, parse_version
from barostat.core.whole_number import whole_number
from barostat.core.window import Window
from barostat.engines.vllm.command_line import arguments as command_line
from barostat.engines.vllm.command_line.arguments import CommandLine
from barostat.engines.vllm.command_line.config import resolve
from barostat.engines.vllm.command_line.refused import refused_arguments, stray_words
from barostat.engines.vllm.metrics.settings import model_names
from barostat.io.input_files.model_files import FoundModel, open_model
from barostat.judge.evidence.recording import ReplicaRecording
from barostat.judge.provisioning.need import parse_level
from barostat.judge.sizing.answer import CapacityAnswer, answered
from barostat.judge.sizing.measured_pool import declared_of, measured_of, traffic_of_window
from barostat.judge.sizing.plan import PlanRequest
from barostat.judge.sizing.request_shape import Traffic, traffic_from_quantiles, traffic_of
from barostat.judge.sizing.speculation import named_drafter
from barostat.kv.architecture import Architecture
from barostat.kv.read_architecture import read_architecture
from barostat.shells.cli.engine_options import given_words

if TYPE_CHECKING:
    from barostat.judge.observed.engine import BusiestEngine

_MOST_TOKENS = 1e9
_PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


@dataclass(frozen=True, slots=True)
class PlanInput:
    """The parsed input of a plan. `given`: the engine's command line, with our own flags converted
    to vLLM's. `running`: that of the engine of --from, if known. `notes`: assumptions, a sentence
    each. `refused`: arguments that vLLM's parser rejects, a sentence each.
    """

    request: PlanRequest
    traffic: Traffic | None
    headroom_ratio: float
    given: CommandLine
    running: CommandLine | None = None
    notes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def asked(arguments: argparse.Namespace) -> PlanInput:
    """The request that these arguments make.

    Errors: InputError for what is missing, unknown or contradictory.
    """
    line = command_line.parse(arguments.command, {}) if arguments.command else None
    engine = _engine(arguments) if arguments.source else None
    window, replica = (None, None) if engine is None else (engine.window, engine.replica)
    seen_card = replica.gpu if replica is not None else None
    named = arguments.model_config or arguments.model or (line.model if line is not None else None)
    running = _model_of(window) if named is None else None
    served = _served(replica) if replica is not None and named is None else None
    taken = _known_name(running, served) if named is None else None
    named = named or taken or running
    if named is None:
        which = (
            f" {served!r}, as which it is served, is not in the catalogue:"
            if served is not None
            else ""
        )
        raise InputError(
            f"which model?{which} give --model NAME, --model-config FILE, or vLLM's "
            "command line after --",
            "plan",
        )
    found = open_model(named)
    version, assumed = _version(arguments, window)
    is_cpu = (
        (arguments.gpu or "").lower() == "cpu"
        or arguments.cpu_kvcache_space_gib is not None
        or "+cpu" in str(version)
    )
    _bytes(arguments.cpu_kvcache_space_gib, "--cpu-kvcache-space-gib")
    environment = (
        {"VLLM_CPU_KVCACHE_SPACE": str(int(arguments.cpu_kvcache_space_gib or 4))} if is_cpu else {}
    )
    given = _joined(arguments.command or ["vllm", "serve"], given_words(arguments))
    cards = (
        None
        if is_cpu or not arguments.gpu
        else _cards(arguments.gpu, _parallel(given, environment))
    )
    card = (
        find_card(seen_card or "")
        if cards is None and not is_cpu
        else cards.card
        if cards is not None
        else None
    )
    if cards is not None and cards.count is not None and _parallel(given, environment) is None:
        given = _joined(given, ["--tensor-parallel-size", str(cards.count)])
    memory = arguments.gpu_memory_gib
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
        weights_bytes=_bytes(arguments.weights_gib, "--weights-gib")
        or _weights(found, model, config),
        is_cpu=is_cpu,
        measured=measured_of(window) if window is not None else None,
        version_assumed=assumed,
        drafter=drafter,
    )
    traffic, notes = _traffic(arguments, window)
    notes += [] if engine is None else engine.notes
    if taken is not None and taken == served:
        notes.append(
            f"the model is taken to be {served}, as which it is served; --model says another"
        )
    elif taken is not None and taken != running:
        notes.append(
            f"the model is taken to be {taken}, after the name of its folder {running}; --model "
            "says another"
        )
    if window is not None and request.measured is None:
        notes.append(
            "the engine reports no pool (before 0.8, or no log of its start): reckoned instead"
        )
    doubted = refused_arguments(line, version) if line is not None else []
    notes += [f"{one.because}, as far as known: it was not used" for one in doubted if not one.sure]
    wrong = [one for one in doubted if one.sure]
    for one in wrong:
        if one.value:
            raise InputError(f"{one.value} is not a valid value", SETTINGS[one.name].option)
    refused = tuple(one.because for one in wrong)
    return PlanInput(
        request,
        traffic,
        _headroom(arguments.headroom),
        command_line.parse(given, environment),
        command_line.parse(replica.args, replica.env)
        if replica is not None and replica.args is not None
        else None,
        tuple(notes),
        refused,
    )


def _known_name(running: str | None, served: str | None) -> str | None:
    """The catalogue's name for the running model: itself, as which it is served, or the last part
    of a path that is not on this machine. None if none of them is known.
    """
    if running is not None and (Path(running).exists() or find_model(running) is not None):
        return running
    folder = Path(running).name if running is not None else None
    return next((name for name in (served, folder) if name and find_model(name) is not None), None)


def refuse_stray_words(arguments: argparse.Namespace) -> None:
    """Accept a command line in which every word is an argument or the model.

    Errors: InputError naming the words that are neither.
    """
    line = command_line.parse(arguments.command, {})
    named = arguments.model or arguments.model_config
    words = list(stray_words(line))
    if named is not None and line.model is not None and not line.started:
        words.insert(0, line.model)  # `--model NAME foo`: no `vllm serve` makes foo its model
    words = [word for word in words if word != named]
    if words:
        raise InputError(
            f"{shlex.join(words)}: neither an argument nor the model; write `barostat plan MODEL "
            "--gpu NAME`, or put vLLM's command line after --",
            "plan",
        )


def answer(question: PlanInput) -> CapacityAnswer:
    """The plan and what follows from it.

    Errors: InputError as `plan`.
    """
    found = answered(question.request, question.traffic, question.headroom_ratio, question.refused)
    notes = (*found.plan.assumptions, *question.notes)
    return replace(found, plan=replace(found.plan, assumptions=notes))


def promising(found: CapacityAnswer, level: str) -> CapacityAnswer:
    """Return the answer with this SLO in its limits, for alerts and load tests.

    Errors: InputError for an invalid SLO.
    """
    asked_for = parse_level(level)
    limits = found.derived.limits
    kept = {"slo.ttftP99Seconds": asked_for.ttft_s, "slo.itlP99Seconds": asked_for.itl_s}
    reasons = {
        name: "what was promised (--slo): `validate` proves it, `rules` alerts on it"
        for name, value in kept.items()
        if value
    }
    spec = replace(limits.spec, slo=ServiceLevel(asked_for.ttft_s, asked_for.itl_s))
    return replace(
        found,
        derived=replace(
            found.derived, limits=replace(limits, spec=spec, because={**limits.because, **reasons})
        ),
    )


def about(found: CapacityAnswer, source: str | None) -> CapacityAnswer:
    """The answer with the workload that was asked about as what its limits are for; pods and
    ReplicaSets are none, they come and go.

    Errors: InputError for what is no name.
    """
    from barostat.io.kubernetes.recording.target import is_workload, parsed

    if source is None or not is_workload(source):
        return found
    kind, name = parsed(source)
    if kind.api.kind in ("Pod", "ReplicaSet"):
        return found
    limits = found.derived.limits
    spec = replace(limits.spec, target_ref=TargetRef(kind.api.api_version, kind.api.kind, name))
    return replace(found, derived=replace(found.derived, limits=replace(limits, spec=spec)))


def _drafter(given: str | None, named: str) -> Architecture | None:
    """The drafter's architecture: of the file that was given, or of the model that
    --speculative-config names where it is at hand.
    """
    try:
        found = open_model(given or named) if given or named else None
    except InputError:
        if given:
            raise
        return None
    return (
        None
        if found is None
        else read_architecture(
            found.config.get("transformer_layer_config", found.config), found.source
        )
    )


def _over(own: EngineConfig, seen: EngineConfig) -> EngineConfig:
    """The engine's settings, with what was given here on top."""
    given = {
        name: value
        for name, value in own.values.items()
        if value.provenance in ("flag", "environment")
    }
    defaults = {name: value for name, value in own.values.items() if name not in given}
    return EngineConfig({**defaults, **seen.values, **given}, (*seen.problems, *own.problems))


def _joined(command: list[str], flags: list[str]) -> list[str]:
    """The command line with the flags behind it: within the script where a shell runs one."""
    script = command_line.script_index(command)
    if script is None or not flags:
        return [*command, *flags]
    return [*command[:script], f"{command[script]} {shlex.join(flags)}", *command[script + 1 :]]


def states(arguments: argparse.Namespace, *names: str) -> bool:
    """True if the engine's own command line behind `--` has one of these arguments."""
    return bool(arguments.command) and any(
        name in command_line.parse(arguments.command, {}).settings for name in names
    )


def _cards(name: str, parallel: int | None) -> CardCount:
    """The card, and how many of them one engine takes.

    Errors: InputError for a name that is no card's, and for a count that contradicts the parallel
    sizes.
    """
    found = read_card_count(name)
    if found is None:
        nearest = nearest_cards(name)
        hint = f"did you mean {' or '.join(nearest)}" if nearest else "`--gpu list` shows all"
        raise InputError(
            f"no card of the catalogue goes by this name; {hint}; or give --gpu-memory-gib",
            f"--gpu {name}",
        )
    if found.count is not None and parallel is not None and found.count != parallel:
        raise InputError(
            f"{found.count} cards, and the parallel sizes make {parallel}: say one of the two",
            f"--gpu {name}",
        )
    return found


def _parallel(words: list[str], environment: Mapping[str, str]) -> int | None:
    """How many cards the parallel sizes make; None if none is given."""
    settings = command_line.parse(words, environment).settings
    sizes = [settings[name].text for name in _PARALLEL if name in settings]
    return (
        math.prod(found for text in sizes if (found := whole_number(text or "")) is not None)
        if sizes
        else None
    )


def _version(arguments: argparse.Namespace, window: Window | None) -> tuple[EngineVersion, bool]:
    text = arguments.engine_version
    if text is None and window is not None and window.version is not None:
        return window.version, False
    found = parse_version(text or DEFAULT_VERSION)
    if found is None:
        raise InputError(
            "is no version; three numbers such as 0.32.0 were expected", f"--engine-version {text}"
        )
    return found, text is None


def _bytes(gib: float | None, name: str) -> int | None:
    if gib is None:
        return None
    if not 0 < gib < 1e6:
        raise InputError(f"{gib} is no amount of memory", name)
    return int(gib * GIB)


def _weights(found: FoundModel, model: Architecture, config: EngineConfig) -> int | None:
    """Return the checkpoint's size per GPU, if its files are local and all of it is divided evenly."""
    spread = (config.number("data_parallel_size") or 1) > 1 and model.fields.has_experts
    if found.weights_bytes is None or spread:
        return None
    return int(
        found.weights_bytes
        / max(
            1.0,
            (config.number("tensor_parallel_size") or 1)
            * (config.number("pipeline_parallel_size") or 1),
        )
    )


def _headroom(ratio: float) -> float:
    if not 0 <= ratio < 0.9:
        raise InputError(f"{ratio} is no share to keep free; 0 to 0.9 was expected", "--headroom")
    return ratio


def _traffic(
    arguments: argparse.Namespace, window: Window | None
) -> tuple[Traffic | None, list[str]]:
    quantiles = [
        getattr(arguments, name) for name in ("input_p50", "input_p99", "output_p50", "output_p99")
    ]
    if arguments.trace:
        from barostat.io.input_files.traces import read_trace

        arrivals, problems = read_trace(Path(arguments.trace))
        return traffic_of(arrivals, Path(arguments.trace).name), problems
    if any(value is not None for value in quantiles):
        if any(value is None or not 0 <= value <= _MOST_TOKENS for value in quantiles):
            raise InputError(
                "all four of --input-p50 --input-p99 --output-p50 --output-p99 are needed, "
                "from 0 to 1e9",
                "plan",
            )
        p50_in, p99_in, p50_out, p99_out = quantiles
        return traffic_from_quantiles(
            (p50_in, p99_in), (p50_out, p99_out), "the given quantiles"
        ), []
    return (traffic_of_window(window) if window is not None else None), []


def _engine(arguments: argparse.Namespace) -> BusiestEngine:
    """The engine behind a URL, in a cluster or of a bundle, at this instant, and what was recorded
    of it.
    """
    from barostat.judge.observed.engine import busiest_engine
    from barostat.shells.cli.cluster_flags import wanted

    source: str = arguments.source
    cluster = wanted(arguments, [source])
    if cluster is not None:
        from barostat.io.kubernetes.recording import live

        recording = live.record_pods(cluster, live.Options(for_s=0.0)).recording
    elif "://" in source:
        from barostat.io.local_host.recording import Sources, record_engines

        recording = record_engines(Sources((source,)), 0.0, 1.0)
    else:
        from barostat.io.bundles import bundle

        recording = bundle.read(Path(source))
    return busiest_engine(recording)


def _model_of(window: Window | None) -> str | None:
    found = window.config.get("model") if window is not None else None
    return str(found.value) if found is not None else None


def _served(replica: ReplicaRecording) -> str | None:
    """The one name that the engine's metrics have for its model, which is the model's own unless
    somebody gave it another.
    """
    names = model_names(replica.scrapes[-1].exposition) if replica.scrapes else ()
    return names[0] if len(names) == 1 else None
