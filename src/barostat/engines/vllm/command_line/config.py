"""Resolves the engine's configuration: reported values override given ones, which override the
version's defaults.

metric > log > api > flag > config file > environment > the version's default

Source: vLLM 0.32.0 FlexibleArgumentParser (command line before config file), EngineArgs (defaults,
checks), SchedulerConfig.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from barostat.catalog.settings.defaults import BLOCK_TOKENS, Device, default
from barostat.catalog.settings.table import SETTINGS, canonical_name, is_unset
from barostat.catalog.signals import signal
from barostat.catalog.vllm_behaviours import behaves
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.signal import Signal
from barostat.core.version import EngineVersion, parse_version
from barostat.engines.vllm.command_line.arguments import CommandLine, GivenArgument, parse
from barostat.engines.vllm.command_line.config_checks import declared_problems
from barostat.engines.vllm.command_line.open_words import untold_words

_DEEPEST = 8
_NO_NUMBER = 1e18  # as of the labels of a page of metrics
_SUFFIXES = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
    "T": 2**40,
}
_TELLING_ENV = (
    "VLLM_CPU_KVCACHE_SPACE", "VLLM_USE_V1", "VLLM_USE_V2_MODEL_RUNNER", "VLLM_ATTENTION_BACKEND", "VLLM_KV_CACHE_LAYOUT",
    "VLLM_USE_FLASHINFER_SAMPLER",
    "VLLM_LOG_STATS_INTERVAL",
    "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "VLLM_USE_SIMPLE_KV_OFFLOAD", "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "VLLM_SERVER_DEV_MODE",
    "VLLM_WORKER_MULTIPROC_METHOD", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "NCCL_DEBUG", "NCCL_P2P_DISABLE",
    "CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "VLLM_TRACE_FUNCTION",
)  # fmt: skip


def resolve(
    *,
    args: Sequence[str] | str | None = None,
    env: Mapping[str, str] | None = None,
    config_file: Mapping[str, Any] | None = None,
    version: EngineVersion | None = None,
    log_settings: Mapping[str, ConfigValue] | None = None,
    metric_settings: Mapping[str, ConfigValue] | None = None,
    max_model_len_api: int | None = None,
    gpu: str | None = None,
    gpu_memory_gib: float | None = None,
) -> EngineConfig:
    """Return every known setting with its source, and the problems of the command line for this
    version.

    A default is `certain` only if the version and everything it depends on (the card's memory) are
    known, and the command line was seen and has no unresolved variable that could set it.
    """
    if version is None and "version" in (log_settings or {}):
        version = parse_version(str((log_settings or {})["version"].value))
    environment = {**(env or {})}
    line = parse(args, environment) if args is not None else CommandLine()
    environment.update(line.env)
    problems = list(line.problems)
    declared, wrong = _declared(line, environment, config_file)
    problems += wrong
    reported: dict[str, ConfigValue] = {}
    if max_model_len_api is not None:
        reported["max_model_len"] = ConfigValue(max_model_len_api, "api", "/v1/models")
    for layer in (log_settings or {}, metric_settings or {}):
        reported.update(
            {name: value for name, value in layer.items() if _says_something(value.value)}
        )
    values = {**declared, **reported}
    if behaves("chunked-prefill-forced", version) and "enable_chunked_prefill" not in reported:
        values["enable_chunked_prefill"] = ConfigValue(
            True, "version-default", f"vLLM {version}: on for every generative model"
        )
    problems += declared_problems(line, declared, version)
    problems += _disagreements(declared, reported)
    # The start-up log lists every argument that is not a default, so a log that does replaces a
    # command line that was not recorded.
    seen = args is not None or "model" in reported
    if "config" in line.settings and config_file is None:
        problems.append(
            f"the settings in {line.settings['config'].text} were not recorded: what looks "
            "like a default may be set there"
        )
        seen = "model" in reported
    unsaid = "" if seen else "the command line was not recorded"
    if seen and "model" not in reported and untold_words(line):
        unsaid = "the command line holds a variable that nothing tells"
    untold = {
        name
        for name, setting in line.settings.items()
        if any(word.missing for word in setting.words)
    }
    _add_defaults(
        values, version, _device(values, version, environment, gpu, gpu_memory_gib), unsaid, untold
    )
    problems += _conflicts(values)
    return EngineConfig(values, tuple(dict.fromkeys(problems)))


def _declared(
    line: CommandLine, env: Mapping[str, str], config_file: Mapping[str, Any] | None
) -> tuple[dict[str, ConfigValue], list[str]]:
    """What flags, the config file and the environment say, the stronger over the weaker."""
    values: dict[str, ConfigValue] = {}
    problems: list[str] = []
    for name in _TELLING_ENV:
        if name in env:
            values[name] = ConfigValue(_scalar_of(env[name]), "environment", f"{name}={env[name]}")
    for key, raw in (config_file or {}).items():
        if not isinstance(key, str) or raw is None:
            continue
        name = canonical_name(key.strip().removeprefix("--"))
        text = (
            json.dumps(raw)
            if isinstance(raw, dict | list)
            else str(raw).lower()
            if isinstance(raw, bool)
            else str(raw)
        )
        if (value := read_value(name, text)) is None:
            problems.append(f"{key}: {text} in the config file is not a valid value")
        else:
            values[name] = ConfigValue(value, "config-file", f"{key}: {text}")
    for name, setting in line.settings.items():
        if setting.text is None or is_unset(name, setting.text):
            continue
        if (value := read_value(name, setting.text)) is None:
            problems.append(
                f"{setting.spelled}: {setting.text} is no value for "
                f"{SETTINGS[name].option if name in SETTINGS else name}"
            )
        else:
            values[name] = ConfigValue(value, *_place(setting), certain=not setting.loose)
    for name, (text, spelled) in _folded(line).items():
        values[name] = ConfigValue(text, "flag", spelled)
    if line.model is not None and "model" not in line.settings:
        values["model"] = ConfigValue(line.model, "flag", line.model)
    return values, problems


def _folded(line: CommandLine) -> dict[str, tuple[str, str]]:
    """`--speculative-config.method eagle3` and its like as the JSON that vLLM makes of them, with
    how they are spelled, by argument.

    Source: vLLM 0.32.0, FlexibleArgumentParser.parse_args.
    """
    documents: dict[str, dict[str, Any]] = {}
    spelled: dict[str, list[str]] = {}
    for setting in line.occurrences:
        root, *path = setting.name.split(".")
        if (
            setting.text is None
            or root not in SETTINGS
            or SETTINGS[root].kind != "json"
            or not all(path)
            or not 1 <= len(path) <= _DEEPEST
        ):
            continue
        place = documents.setdefault(root, {})
        for part in path[:-1]:
            inner = place.get(part)
            place[part] = place = inner if isinstance(inner, dict) else {}
        try:
            place[path[-1]] = json.loads(setting.text)
        except (ValueError, RecursionError):
            place[path[-1]] = setting.text
        spelled.setdefault(root, []).append(setting.spelled)
    return {
        root: (json.dumps(document), " ".join(spelled[root]))
        for root, document in documents.items()
    }


def _place(setting: GivenArgument) -> tuple[Any, str]:
    """Provenance and source of one argument: a note in capitals is what a launch script takes from
    the environment.
    """
    if setting.loose and re.match(r"^[A-Z_]+=", setting.spelled):
        return "environment", setting.spelled
    return "flag", setting.spelled if "=" in setting.spelled or setting.text in (
        "true",
        "false",
    ) else setting.spelled.replace(" ", "=", 1)


def _says_something(value: ConfigScalar) -> bool:
    """Return False for values that mean "not set", and for impossible numbers, since logs are
    untrusted.
    """
    return value not in ("", "None") if isinstance(value, str) else -_NO_NUMBER < value < _NO_NUMBER


def read_value(name: str, text: str) -> ConfigScalar | None:
    """Parse a value as the type of its argument; None if it does not parse.

    Human-readable integers follow vLLM: k, m, g, t decimal; K, M, G, T binary and whole; `4Gi` is
    invalid. `auto` and -1 as a length: -1.

    Source: vLLM 0.32.0 argparse_utils.human_readable_int, human_readable_int_or_auto.
    """
    flag = SETTINGS.get(name)
    text = text.strip()
    if flag is None:
        return _scalar_of(text)
    if flag.kind == "length" and text.lower() in ("auto", "-1"):
        return -1
    if flag.kind in ("int", "length"):
        match = re.fullmatch(r"(-?[0-9]{1,18}(?:\.[0-9]{1,18})?)([kKmMgGtT])?", _ungrouped(text))
        if match is None or ("." in match[1] and (match[2] is None or match[2].isupper())):
            return None
        return round(float(match[1]) * _SUFFIXES[match[2]]) if match[2] else int(match[1])
    if flag.kind == "float":
        text = _ungrouped(text)
        return (
            float(text)
            if re.fullmatch(
                r"-?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})(?:e-?[0-9]{1,2})?", text
            )
            else None
        )
    if flag.kind == "bool":
        return {"true": True, "false": False}.get(text.lower())
    return text


def _ungrouped(text: str) -> str:
    """The number without the sign and the underscores that Python reads over: `32_768`, `+8`. One
    with a unit may have neither.
    """
    return (
        re.sub(r"(?<=[0-9])_(?=[0-9])", "", text.removeprefix("+"))
        if re.fullmatch(r"\+?[0-9][0-9_.]{0,40}", text)
        else text
    )


def _scalar_of(text: str) -> ConfigScalar:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?[0-9]{1,18}\.[0-9]{1,18}", text) else text


def _disagreements(
    declared: Mapping[str, ConfigValue], reported: Mapping[str, ConfigValue]
) -> list[str]:
    """One sentence for each setting that the engine resolved to something else than it was
    given.
    """
    problems = []
    for name, found in reported.items():
        given = declared.get(name)
        if (
            given is None
            or given.value == -1
            or name in ("model", "served_model_name", "dtype")
            or _same(given.value, found.value)
        ):
            continue
        problems.append(
            f"{given.source} is declared, and the engine resolved {name} to {found.value} "
            f"({found.source})"
        )
    return problems


def _same(left: ConfigScalar, right: ConfigScalar) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return abs(left - right) <= 1e-4 * max(abs(left), abs(right), 1e-9)
    return str(left).lower() == str(right).lower()


def _device(
    values: Mapping[str, ConfigValue],
    version: EngineVersion | None,
    env: Mapping[str, str],
    gpu: str | None,
    gib: float | None,
) -> Device:
    text = (version.text if version else "") + str(
        values["version"].value if "version" in values else ""
    )
    is_cpu = "+cpu" in text or (gpu or "").lower() == "cpu" or "VLLM_CPU_KVCACHE_SPACE" in env
    return Device(gpu, gib or _number(values, "device_memory_gib"), is_cpu)


def _add_defaults(
    values: dict[str, ConfigValue],
    version: EngineVersion | None,
    device: Device,
    unsaid: str,
    untold: Collection[str],
) -> None:
    """Fill unset settings with the version's defaults, and derive max_running.

    `unsaid`: why any setting may have been set; empty if the command line is known. `untold`:
    settings whose value is unknown.

    Source: vLLM EngineArgs.get_batch_defaults and the adjustments after it: performance_mode
    doubles; without chunked prefill the budget is at least max_model_len; the budget is at most
    max_num_seqs x max_model_len; max_num_seqs is at most the budget.
    """

    def put(name: str, value: ConfigValue | None) -> None:
        if name not in values and value is not None:
            why = "it is set to what nothing tells" if name in untold else unsaid
            values[name] = replace(
                value,
                certain=value.certain and not why,
                source=f"{value.source}; {why}" if why else value.source,
            )

    if device.is_cpu:
        put("async_scheduling", ConfigValue(False, "version-default", "off on the CPU backend"))
    for setting in SETTINGS.values():
        if setting.defaults and not setting.by_card and setting.name != "block_size":
            put(setting.name, default(setting.name, version, device))
    put(
        "block_size",
        ConfigValue(
            128 if device.is_cpu else BLOCK_TOKENS,
            "version-default",
            "usual block size; the attention backend may raise it",
            False,
        ),
    )
    world = int(
        (_number(values, "tensor_parallel_size") or 1)
        * (_number(values, "pipeline_parallel_size") or 1)
    )
    doubled = (
        2
        if "performance_mode" in values and values["performance_mode"].value == "throughput"
        else 1
    )
    length = values.get("max_model_len")
    if length is not None and length.value == -1:
        length = None
    given_seqs, given_budget = "max_num_seqs" in values, "max_num_batched_tokens" in values
    for name in ("max_num_seqs", "max_num_batched_tokens"):
        found = default(name, version, device, world)
        put(name, replace(found, value=int(found.value) * doubled) if found is not None else None)
    seqs, budget = values.get("max_num_seqs"), values.get("max_num_batched_tokens")
    if budget is not None and not given_budget and isinstance(budget.value, int):
        longest = (
            int(length.value) if length is not None and isinstance(length.value, int) else None
        )
        chunked = values.get("enable_chunked_prefill")
        tokens, certain, note = budget.value, budget.certain, budget.source
        if chunked is not None and chunked.value is False:
            tokens, note = (
                (max(longest, tokens), note + ", at least max_model_len")
                if longest
                else (tokens, note)
            )
            certain = certain and longest is not None
        if (
            seqs is not None
            and isinstance(seqs.value, int)
            and longest
            and seqs.value * longest < tokens
        ):
            tokens, note = seqs.value * longest, note + ", at most max_num_seqs x max_model_len"
        values["max_num_batched_tokens"] = ConfigValue(tokens, "version-default", note, certain)
    budget_now = values.get("max_num_batched_tokens")
    if (
        seqs is not None
        and not given_seqs
        and budget_now is not None
        and float(seqs.value) > float(budget_now.value)
    ):
        values["max_num_seqs"] = replace(
            seqs,
            value=budget_now.value,
            certain=seqs.certain and budget_now.certain,
            source=seqs.source + ", at most max_num_batched_tokens",
        )
    _add_max_running(values)


def _add_max_running(values: dict[str, ConfigValue]) -> None:
    """`max_running`: the smaller of max_num_seqs and max_num_active_seqs, with the provenance of
    the one that binds.
    """
    limits = [
        values[name]
        for name in ("max_num_active_seqs", "max_num_seqs")
        if _number(values, name) is not None
    ]
    if limits:
        values["max_running"] = min(limits, key=lambda limit: float(limit.value))


def _conflicts(values: Mapping[str, ConfigValue]) -> list[str]:
    """Combinations that vLLM refuses, and switches that make KV pressure worse."""
    problems = []
    seqs, budget, active = (
        _number(values, name)
        for name in ("max_num_seqs", "max_num_batched_tokens", "max_num_active_seqs")
    )
    sure = all(
        name in values and values[name].certain
        for name in ("max_num_seqs", "max_num_batched_tokens")
    )
    if sure and seqs is not None and budget is not None and budget < seqs:
        problems.append(
            f"max_num_batched_tokens {budget:.0f} is below max_num_seqs {seqs:.0f}: the "
            "engine refuses to start with it"
        )
    if seqs is not None and active is not None and active > seqs and values["max_num_seqs"].certain:
        problems.append(
            f"max_num_active_seqs {active:.0f} is above max_num_seqs {seqs:.0f}: the "
            "engine refuses to start with it"
        )
    return problems


def _number(values: Mapping[str, ConfigValue], name: str) -> float | None:
    found = values.get(name)
    return None if found is None or isinstance(found.value, bool | str) else float(found.value)


def config_signals(config: EngineConfig, at: float) -> list[Signal]:
    """Return the limits and the pool as signals dated `at`, certain values only, each with its
    source.

    The pool's tokens are blocks times block size only if the engine does not report them (correct
    for a single kind of attention).
    """
    out: list[Signal | None] = []
    for setting, name in (
        ("max_running", "max_running_requests"),
        ("max_num_batched_tokens", "max_batched_tokens"),
        ("max_model_len", "max_model_len_tokens"),
        ("block_size", "block_size_tokens"),
        ("num_gpu_blocks_override", "kv_pool_blocks"),
        ("num_gpu_blocks", "kv_pool_blocks"),
        ("kv_cache_size_tokens", "kv_pool_tokens"),
    ):
        found, value = config.get(setting), config.number(setting)
        if found is not None and found.certain and value is not None and value > 0:
            out = [kept for kept in out if kept is not None and kept.name != name]
            out.append(signal(name, [(at, value)], found.source))
    made = {each.name: each for each in out if each is not None}
    if "kv_pool_tokens" not in made and "kv_pool_blocks" in made and "block_size_tokens" in made:
        blocks, size = made["kv_pool_blocks"], made["block_size_tokens"]
        out.append(
            signal(
                "kv_pool_tokens",
                [(at, blocks.last * size.last)],
                f"{blocks.source} x {size.source}",
            )
        )
    return [each for each in out if each is not None]
