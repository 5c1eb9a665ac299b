"""The twin's arguments, and vLLM's own where they are given, -> what is served."""

from __future__ import annotations

import argparse
import os
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from barostat.catalog.settings.table import SETTINGS
from barostat.catalog.vllm_cache_labels import cache_labels
from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.config import EngineConfig
from barostat.core.errors import InputError
from barostat.core.units import GIB
from barostat.core.version import EngineVersion, parse_version
from barostat.core.whole_number import whole_number
from barostat.engines.vllm.command_line.arguments import CommandLine, parse
from barostat.engines.vllm.command_line.config import resolve
from barostat.engines.vllm.command_line.refused import refused_arguments, stray_words
from barostat.engines.vllm.logs.writer import (
    StartFacts,
    line,
    no_memory,
    out_of_memory,
    start_lines,
    too_long,
    traceback,
)
from barostat.judge.sizing.plan import CapacityPlan, Measured, plan
from barostat.judge.sizing.planned_twin import pace_of_plan, settings_of_plan
from barostat.shells.cli.capacity import plan_arguments, plan_inputs
from barostat.shells.cli.durations import LONGEST_S
from barostat.shells.cli.engine_options import given_words
from barostat.shells.cli.simulate.simulate_inputs import (
    engine_of,
    fill_from_limits,
    pace_of,
)
from barostat.shells.cli.simulate.unused_options import refuse_idle_engine
from barostat.twin.pace import EverySteps, Pace
from barostat.twin.settings import Settings, newer_than_read
from barostat.twin_server.faults import parse_fault
from barostat.twin_server.lengths import parse_lengths
from barostat.twin_server.serving import Serving

_NAME = "twin"
_VOCABULARY = 32_000
_EMBEDDING_SIZE = 1024  # numbers of a vector, where no model says
_TOKEN_BYTES = 128 * 1024  # of the cache, where no model says: what a model of 8B parameters takes
_FOR_PLAN = ("model_config", "gpu", "engine_version", "cpu_kvcache_space_gib")
_UNKNOWN_IS_FINE = (
    "host",
    "port",
    "uvicorn_log_level",
    "disable_uvicorn_access_log",
    "seed",
    "trust_remote_code",
    "tokenizer_mode",
)


@dataclass(frozen=True, slots=True)
class Unstartable:
    """vLLM would end before it has an engine: what it would say, and its exit status."""

    text: str
    code: int


def serving_of(arguments: argparse.Namespace) -> tuple[Serving, list[str]] | Unstartable:
    """What is served, and sentences for a person.

    Errors: InputError for what is wrong with our own arguments.
    """
    line_given = parse(arguments.command, {}) if arguments.command else CommandLine()
    version_text = arguments.engine_version or DEFAULT_VERSION
    version = parse_version(version_text)
    if version is None:
        raise InputError(
            "is no version; three numbers such as 0.32.0 were expected",
            f"--engine-version {version_text}",
        )
    arguments.engine_version = version_text
    arguments.host = arguments.host or line_given.text("host") or "127.0.0.1"
    arguments.port = _port(
        line_given.text("port") if arguments.port is None else str(arguments.port)
    )
    _check(arguments)
    if not arguments.command:
        refuse_idle_engine(arguments)
    if arguments.command and line_given.model is None and arguments.model_config is None:
        raise InputError("which model? name it after `vllm serve`", _NAME)
    if (ended := _refused_by_parser(line_given, arguments.command, version)) is not None:
        return ended
    try:
        return _serving(arguments, line_given, version)
    except InputError as error:
        if arguments.command and error.where == (line_given.model or ""):
            return _no_such_model(line_given, version)
        if error.where == "plan":
            raise InputError(
                "how large the pool is cannot be told: say --gpu NAME, --gpu cpu or --kv-blocks N",
                _NAME,
            ) from None
        raise


def _serving(
    arguments: argparse.Namespace, given: CommandLine, version: EngineVersion
) -> tuple[Serving, list[str]]:
    notes: list[str] = []
    made: CapacityPlan | None = None
    if arguments.command or arguments.model_config is not None:
        fill_from_limits(arguments)
        made = _planned(arguments)
        notes = [newer] if (newer := newer_than_read(str(version))) else []
        settings = settings_of_plan(_with_blocks(made))
        pace = (
            _pace(arguments, made, notes) if made.pool.fits else EverySteps(1)
        )  # what does not start takes no step
        config = made.request.config
    else:
        engine = engine_of(arguments)
        settings, notes = engine.settings, list(engine.notes)
        if not settings.fits(settings.max_model_len):
            notes.append(
                f"without a model a token of the cache is taken to be {_TOKEN_BYTES // 1024} KiB"
            )
        pace = pace_of(arguments, engine)
        config = resolve(args=["vllm", "serve"], env={}, version=version)
    served_text = given.text("served_model_name")
    model = given.model or arguments.model_config or _NAME
    names = tuple(arguments.served_model_name) or (
        tuple(served_text.split()) if served_text else (model,)
    )
    pooling = _is_pooling(arguments, given, model, notes)
    cpu = (arguments.gpu or "").lower() == "cpu" or arguments.cpu_kvcache_space_gib is not None
    start = _start_facts(
        arguments, given, version, model, names[0], settings, made, "CPU" if cpu else "GPU"
    )
    return Serving(
        settings=_settings_of(settings, arguments, given, pooling=pooling),
        pace=pace,
        version=version,
        model=model,
        names=names,
        vocabulary=made.request.model.vocab_size
        if made is not None and made.request.model.vocab_size > 2
        else _VOCABULARY,
        cache_labels=_labels(version, settings, config, start, made),
        start=start,
        lengths=parse_lengths(arguments.output_tokens),
        faults=tuple(map(parse_fault, arguments.fault)),
        host=arguments.host,
        port=arguments.port,
        seed=arguments.seed,
        start_s=arguments.start_time,
        shutdown_timeout_s=arguments.shutdown_timeout or config.number("shutdown_timeout") or 0.0,
        tokenized_bytes_per_s=_positive(arguments.tokenizer_speed, "--tokenizer-speed"),
        log_stats=not (arguments.disable_log_stats or given.text("disable_log_stats") == "true"),
        log_stats_every_s=arguments.log_stats_interval,
        api_key=given.text("api_key") or "",
        ssl_keyfile=_readable(given, "ssl_keyfile"),
        ssl_certfile=_readable(given, "ssl_certfile"),
        track_load=given.text("enable_server_load_tracking") == "true",
        access_log=not (
            arguments.disable_uvicorn_access_log
            or given.text("disable_uvicorn_access_log") == "true"
        ),
        pooling=pooling,
        embedding_size=made.request.model.hidden_size if made is not None else _EMBEDDING_SIZE,
        refused=_not_started(settings, start, made),
    ), notes


def _is_pooling(
    arguments: argparse.Namespace, given: CommandLine, model: str, notes: list[str]
) -> bool:
    """Return whether the engine embeds. Where nothing says so, the model's name does, as vLLM
    looks at files of the model that are not read here.

    Errors: InputError for another task than embedding.
    """
    for name in ("convert", "task"):
        if (task := given.text(name)) in ("classify", "reward", "score"):
            raise InputError(
                "is not served by the twin; it generates, or embeds with --runner pooling",
                f"--{name} {task}",
            )
    runner = arguments.runner or given.text("runner") or "auto"
    if runner != "auto":
        return runner == "pooling"
    if given.text("convert") == "embed" or given.text("task") in ("embed", "embedding"):
        return True
    if given.text("task") == "generate" or "embed" not in Path(model).name.lower():
        return False
    notes.append(
        f"{model} embeds, by its name: it serves /v1/embeddings and generates nothing "
        "(--runner generate serves text)"
    )
    return True


def _settings_of(
    settings: Settings, arguments: argparse.Namespace, given: CommandLine, *, pooling: bool
) -> Settings:
    """Return the settings of that runner: a pooling one schedules synchronously unless told.

    Source: vLLM 0.32.0, VllmConfig.__post_init__.
    """
    asynchronous = given.text("async_scheduling") or getattr(arguments, "async_scheduling", None)
    if not pooling or asynchronous is not None:
        return settings
    return replace(settings, async_scheduling=False)


def _check(arguments: argparse.Namespace) -> None:
    """Nothing, where what is said of the server can be."""
    if not 0 <= arguments.shutdown_timeout <= LONGEST_S:
        raise InputError(
            f"must be 0 to {LONGEST_S:g} seconds, not {arguments.shutdown_timeout:g}",
            "--shutdown-timeout",
        )
    if not arguments.log_stats_interval > 0:
        raise InputError(
            "must be above 0; --disable-log-stats leaves the line out", "--log-stats-interval"
        )
    if not all(name.strip() for name in arguments.served_model_name):
        raise InputError("is empty; requests name the model by it", "--served-model-name")


def _with_blocks(made: CapacityPlan) -> CapacityPlan:
    """The plan with a pool that can be described: one without a block is refused where the engine
    starts, in its own words.
    """
    return (
        made
        if made.fits or made.pool.blocks > 1
        else replace(made, pool=replace(made.pool, blocks=2))
    )


def _port(text: str | None) -> int:
    if text is None:
        return 8000
    found = whole_number(text)
    if found is None or not 0 < found < 65_536:
        raise InputError("is no port", f"--port {text[:40]}")
    return found


def _positive(value: float, name: str) -> float:
    if not 0 < value < 1e15:
        raise InputError(f"must be above 0, not {value:g}", name)
    return value


def _planned(arguments: argparse.Namespace) -> CapacityPlan:
    """The plan of that engine."""
    parser = argparse.ArgumentParser()
    plan_arguments.add_arguments(parser)
    asked = parser.parse_args([])
    for name in _FOR_PLAN:
        setattr(asked, name, getattr(arguments, name))
    command = list(arguments.command) or ["vllm", "serve", arguments.model_config]
    asked.command = command + given_words(arguments)
    if (
        arguments.kv_blocks is not None
        and asked.gpu is None
        and asked.cpu_kvcache_space_gib is None
    ):
        asked.available_kv_gib = 1.0  # the blocks are given: memory decides nothing
    request = plan_inputs.asked(asked).request
    if arguments.kv_blocks is not None:
        request = replace(request, measured=Measured("--kv-blocks", blocks=arguments.kv_blocks))
    return plan(request)


def _pace(arguments: argparse.Namespace, made: CapacityPlan, notes: list[str]) -> Pace:
    from barostat.shells.cli.simulate.simulate_inputs import Engine

    if arguments.step_time is None and arguments.latency is None and made.request.card is not None:
        pace = pace_of_plan(made)
        notes.append(f"steps are reckoned from {pace.source}")
        return pace
    return pace_of(arguments, Engine(settings_of_plan(made)))


def _start_facts(
    arguments: argparse.Namespace, given: CommandLine, version: EngineVersion, model: str, name: str, settings: Settings,
    made: CapacityPlan | None, device: str,
) -> StartFacts:  # fmt: skip
    values = {setting.name: setting for setting in given.settings.values()}
    echoed: dict[str, object] = {"model_tag": model} if given.model else {}
    echoed |= {"host": arguments.host, "port": arguments.port, "model": model}
    config = (
        made.request.config
        if made is not None
        else resolve(args=["vllm", "serve"], env={}, version=version)
    )
    for key in values:
        found = config.get(key)
        if found is not None and key not in ("host", "port", "model", "api_key"):
            echoed[key] = [name] if key == "served_model_name" else found.value
    ours = ("max_model_len", "max_num_seqs", "max_num_batched_tokens", "max_num_active_seqs")
    echoed |= {key: getattr(arguments, key) for key in ours if getattr(arguments, key) is not None}
    override = config.number("num_gpu_blocks_override")
    pool_tokens, concurrency = _pool(settings, made)
    return StartFacts(
        version=version,
        model=model,
        served_name=name,
        arguments=tuple(echoed.items()),
        device=device,
        address=f"http://{arguments.host}:{arguments.port}",
        max_model_len=settings.max_model_len,
        pool_tokens=pool_tokens,
        concurrency=concurrency,
        dtype=made.flags.dtype if made is not None else "bfloat16",
        tensor_parallel_size=made.flags.tp if made is not None else 1,
        prefix_caching=settings.prefix_caching,
        chunked_prefill=settings.chunked_prefill,
        step_tokens=settings.max_num_batched_tokens if "max_num_batched_tokens" in echoed else None,
        weights_gib=made.weights_bytes / GIB if made is not None and device == "GPU" else None,
        available_gib=made.available.value / GIB
        if made is not None and device == "GPU" and override is None
        else None,
        overridden_blocks=(_profiled(made), int(override))
        if made is not None and override is not None
        else None,
    )


def _profiled(made: CapacityPlan) -> int:
    """The blocks that the memory would have given."""
    return max(0, int(made.available.value)) // max(1, made.layout.block_bytes)


def _pool(settings: Settings, made: CapacityPlan | None) -> tuple[int, float]:
    if made is not None and made.pool.blocks == settings.kv_blocks:
        return made.pool.tokens, made.pool.concurrency
    group = settings.groups[0]
    per_request = max(1, -(-settings.max_model_len // group.block_tokens))
    concurrency = settings.kv_blocks / per_request
    return int(concurrency * settings.max_model_len), concurrency


def _labels(
    version: EngineVersion,
    settings: Settings,
    config: EngineConfig,
    start: StartFacts,
    made: CapacityPlan | None,
) -> dict[str, str]:
    block = str(settings.groups[0].block_tokens)
    utilization, override = (
        config.number("gpu_memory_utilization"),
        config.number("num_gpu_blocks_override"),
    )
    window = next(
        (group.window_tokens for group in settings.groups if group.window_tokens is not None), None
    )
    dtype = config.get("kv_cache_dtype")
    known = {
        "block_size": block,
        "effective_attention_block_size": block,
        "cache_dtype": str(dtype.value) if dtype is not None else "auto",
        "enable_prefix_caching": str(settings.prefix_caching),
        "kv_cache_max_concurrency": str(start.concurrency),
        "kv_cache_size_tokens": str(start.pool_tokens),
        "num_gpu_blocks": str(settings.kv_blocks),
        "num_gpu_blocks_override": str(int(override)) if override is not None else "None",
        "sliding_window": str(window),
        "user_specified_block_size": str(config.get("block_size") is not None),
    }
    if utilization is not None:
        known["gpu_memory_utilization"] = f"{utilization:g}"
    if start.device == "CPU" and made is not None:
        known["kv_cache_memory_bytes"] = str(int(made.available.value))
        known["mamba_ssm_cache_dtype"] = "float32"
    return cache_labels(version, known)


def _not_started(settings: Settings, start: StartFacts, made: CapacityPlan | None) -> str:
    """Why the engine would not start with that pool; empty if it would."""
    if made is not None and made.beyond.value > 0 and made.total is not None:
        return _no_room(made, made.total.value)
    if made is not None and not made.pool.fits:
        pool = made.pool
        if pool.available_bytes <= 0:
            return no_memory()
        return too_long(
            start, pool.needed_bytes / GIB, pool.available_bytes / GIB, pool.longest_tokens
        )
    if made is None and not settings.fits(settings.max_model_len):
        gib_of_block = settings.groups[0].block_tokens * _TOKEN_BYTES / GIB
        longest = bisect_left(
            range(1, settings.max_model_len), True, key=lambda length: not settings.fits(length)
        )
        return too_long(
            start,
            settings.needed_blocks(settings.max_model_len) * gib_of_block,
            settings.usable_blocks * gib_of_block,
            longest,
        )
    return ""


def _no_room(made: CapacityPlan, total_bytes: float) -> str:
    """The end of an engine whose pool is set by a flag and larger than what the card has left: it
    is allocated layer by layer.
    """
    pool_bytes = made.pool.blocks * made.layout.block_bytes
    each = pool_bytes / max(1, len(made.request.model.layers) // made.flags.pp)
    room = max(0.0, pool_bytes - made.beyond.value)
    card = made.request.card
    return out_of_memory(
        each / GIB,
        total_bytes / GIB,
        room % each / GIB,
        amd=card is not None and card.vendor == "AMD",
    )


def _readable(given: CommandLine, name: str) -> str:
    """Return the path that the argument names, empty if it is not given.

    Errors: InputError for a file that cannot be read.
    """
    path = given.text(name) or ""
    if path:
        try:
            Path(path).open("rb").close()
        except OSError as error:
            raise InputError(
                error.strerror or str(error), f"--{name.replace('_', '-')} {path}"
            ) from None
    return path


def _refused_by_parser(
    given: CommandLine, command: Sequence[str], version: EngineVersion
) -> Unstartable | None:
    """The end of an engine whose command line has an argument that this version lacks."""
    if not command:
        return None
    refused = [
        found
        for found in refused_arguments(given, version)
        if found.sure or found.name not in _UNKNOWN_IS_FINE
    ]
    stray = stray_words(given)
    if not refused and not stray:
        return None
    usage = (
        "usage: vllm [-h] [-v]\n            "
        "{chat,complete,serve,launch,bench,collect-env,run-batch}\n            ..."
    )
    if wrong := next((one for one in refused if one.value), None):
        return Unstartable(
            f"{usage}\nvllm serve: error: argument {SETTINGS[wrong.name].option}: invalid "
            f"value: {wrong.value}",
            2,
        )
    unrecognized = " ".join((*stray, *(one.spelled for one in refused)))
    return Unstartable(f"{usage}\nvllm: error: unrecognized arguments: {unrecognized}", 2)


def _no_such_model(given: CommandLine, version: EngineVersion) -> Unstartable:
    """The end of an engine whose model is neither here nor a name on the hub."""
    model = given.model or ""
    facts = StartFacts(
        version, model, model, (("model_tag", model), ("model", model)), "GPU", "", 0, 0, 0.0
    )
    stamp = time.strftime("%m-%d %H:%M:%S")
    shown = [
        line(process, os.getpid(), level, stamp, place, text)
        for process, level, place, text in start_lines(facts)[:2]
    ]
    if model.startswith(("/", ".")) or model.count("/") > 1:
        error = (
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form "
            "'repo_name' or 'namespace/repo_name': "
            f"'{model}'. Use `repo_type` argument if needed."
        )
    else:
        error = (
            f"OSError: {model} is not a local folder and is not a valid model identifier "
            "listed on 'https://huggingface.co/models'"
        )
    shown.append(
        traceback(
            (
                ("engine/arg_utils.py", "create_model_config"),
                ("transformers_utils/repo_utils.py", "get_model_path"),
            ),
            error,
        )
    )
    return Unstartable("\n".join(shown), 1)
