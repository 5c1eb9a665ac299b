"""Rows of start-ups -> requests to the planner: flags as a command line, the model's configuration,
the version.

What a row does not state is the version's default, with two assumptions. A hybrid of vLLM 0.20 to
0.27 whose flags are not stated in full was started with --enable-prefix-caching (nearly all public
launch lines of those versions have it; the default was off until 0.28.0). A row of club-3090 whose
flags are not stated in full was started as that repository's compose files start vLLM: 8,192 tokens
a step, 1 to 4 sequences (2 are taken), 3 drafts of multi-token prediction or 5 of DFlash.
"""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model, without_format
from barostat.core.errors import InputError
from barostat.core.units import GIB
from barostat.core.version import EngineVersion, parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.plan import PlanRequest
from barostat.kv.architecture import Architecture
from barostat.kv.read_architecture import read_architecture

NEWEST, OLD = "0.33.0", "0.6.6"
FLAGS = {
    "tp": "--tensor-parallel-size",
    "pp": "--pipeline-parallel-size",
    "dp": "--data-parallel-size",
    "dtype": "--dtype",
    "quantization": "--quantization",
    "kv_cache_dtype": "--kv-cache-dtype",
    "block_size": "--block-size",
    "max_model_len": "--max-model-len",
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "gpu_memory_utilization": "--gpu-memory-utilization",
}
_SWITCHES = {
    "enable_prefix_caching": "--enable-prefix-caching", "async_scheduling": "--async-scheduling",
    "language_model_only": "--language-model-only", "enable_expert_parallel": "--enable-expert-parallel",
    "disable_custom_all_reduce": "--disable-custom-all-reduce", "enable_lora": "--enable-lora",
}  # fmt: skip
# What the compose files of club-3090 set in every vLLM service that was read
# (github.com/noonghunna/club-3090, models/*/vllm/compose).
_COMPOSE_SOURCE = "noonghunna/club-3090"
_COMPOSE_FLAGS = {"max_num_seqs": 2, "max_num_batched_tokens": 8192}
_COMPOSE_DRAFTS = {"mtp": 3, "dflash": 5}
_VALUES = (
    "mamba_ssm_cache_dtype", "mamba_cache_dtype", "mamba_cache_mode", "speculative_config", "kv_cache_memory_bytes",
    "num_gpu_blocks_override", "decode_context_parallel_size", "max_num_seqs", "max_num_batched_tokens",
    "limit_mm_per_prompt", "max_loras", "max_lora_rank",
)  # fmt: skip
# Threads of vllm-project/vllm opened about when a release came out.
_RELEASES = (
    (14_800, "0.8.0"), (18_500, "0.9.0"), (21_500, "0.10.0"), (25_900, "0.11.0"), (29_900, "0.12.0"), (31_000, "0.13.0"),
    (32_700, "0.14.0"), (33_400, "0.15.0"), (41_000, "0.20.1"), (49_500, "0.27.0"), (51_000, "0.28.0"), (53_000, NEWEST),
)  # fmt: skip
_TEXT_ONLY = re.compile(r"\bno vision\b|\btext[- ]only\b|\bvision off\b", re.IGNORECASE)
_DRAFTERS = re.compile(r"\b(MTP|DFlash|DSpark|EAGLE-?3|EAGLE|ngram|suffix)\d?\b", re.IGNORECASE)


def _as_composed(row: dict[str, Any]) -> dict[str, Any]:
    """The row with what its source's compose files set, where the row is silent and does not claim
    to be complete.
    """
    if row.get("complete") or _COMPOSE_SOURCE not in str(row.get("source")):
        return row
    return row | {name: value for name, value in _COMPOSE_FLAGS.items() if row.get(name) is None}


def arguments(row: dict[str, Any]) -> list[str]:
    """The row's flags as a command line."""
    row = _as_composed(row)
    found = []
    for name, flag in FLAGS.items():
        value = row.get(name)
        if value is not None and not (name == "quantization" and not str(value)):
            text = str(value)
            found += [flag, text.split(" ")[0] if name in ("kv_cache_dtype", "dtype") else text]
    if row.get("enforce_eager"):
        found.append("--enforce-eager")
    extra = row.get("other_flags")
    try:
        decoded = json.loads(extra) if isinstance(extra, str) else extra
    except ValueError:
        decoded = None
    return found + (
        _of_mapping(decoded) if isinstance(decoded, dict) else _of_words(str(extra or ""), row)
    )


def _of_mapping(extra: dict[str, Any]) -> list[str]:
    found = [
        flag if extra[name] else flag.replace("--", "--no-", 1)
        for name, flag in _SWITCHES.items()
        if extra.get(name) is not None
    ]
    for name in _VALUES:
        if (value := extra.get(name)) is not None:
            found += [
                f"--{name.replace('_', '-')}",
                json.dumps(value) if isinstance(value, dict) else str(value),
            ]
    return found


def _of_words(words: str, row: dict[str, Any]) -> list[str]:
    """Flags that a sentence quotes, a pinned pool, and a drafter that it names with its drafts."""
    found = []
    try:
        spoken = shlex.split(words.replace(";", " ").replace(",", " "))
    except ValueError:
        spoken = words.split()
    for here, following in pairwise([*spoken, ""]):
        name = here.removeprefix("--").replace("-", "_")
        if here.startswith("--") and name in _VALUES:
            found += [here, following]
    if "--language-model-only" in words or _TEXT_ONLY.search(words) is not None:
        found.append("--language-model-only")
    if "no-enable-prefix-caching" in words or "prefix caching off" in words:
        found.append("--no-enable-prefix-caching")
    elif "enable-prefix-caching" in words:
        found.append("--enable-prefix-caching")
    if (pinned := re.search(r"explicit (\d+) GiB KV pool", words)) is not None:
        found += ["--kv-cache-memory-bytes", f"{pinned[1]}G"]
    if (
        state := re.search(r"Mamba SSM (fp16|fp32|bf16|float16|float32|bfloat16)", words)
    ) is not None:
        named = {"fp16": "float16", "fp32": "float32", "bf16": "bfloat16"}
        found += ["--mamba-ssm-cache-dtype", named.get(state[1], state[1])]
    if (drafter := _DRAFTERS.search(words)) is not None and "--speculative-config" not in found:
        drafts = re.search(r"\bn ?= ?(\d+)", words)
        speculation: dict[str, Any] = {"method": drafter[1].lower().replace("-", "")}
        composed = (
            _COMPOSE_DRAFTS.get(speculation["method"])
            if _COMPOSE_SOURCE in str(row.get("source"))
            else None
        )
        number = int(drafts[1]) if drafts else composed
        found += [
            "--speculative-config",
            json.dumps(speculation | ({"num_speculative_tokens": number} if number else {})),
        ]
    return found


def version_by_log(row: dict[str, Any]) -> str:
    """Where no version is stated: the release that was out when the vLLM thread was opened, by its
    number, else the newest.

    Logged tokens that are not concurrency times length are of 0.20.0 or before.
    """
    ratio = (row.get("derived") or {}).get("tokens_over_concurrency_x_len")
    if row.get("engine") == "V0":
        return OLD
    is_old = ratio is not None and not 0.97 < ratio < 1.03
    if (thread := re.fullmatch(r"vllm-project/vllm#(\d+)", str(row.get("source")))) is None:
        return "0.19.0" if is_old else NEWEST
    released = [version for number, version in _RELEASES if int(thread[1]) >= number] or [OLD]
    return min(released[-1], "0.20.0", key=_order) if is_old else released[-1]


def _order(text: str) -> tuple[int, int, int]:
    version = parse_version(text)
    assert version is not None
    return version.release


def model_of(row: dict[str, Any], configs: Path) -> Architecture:
    """The configuration that the row has or names: from the folder, from beside the rows, or from
    the built-in catalogue.

    Errors: InputError where neither has it or it cannot be read.
    """
    if row.get("config"):
        return read_architecture(row["config"], row["id"])
    if row.get("config_file"):
        beside = Path(row.get("beside") or configs)
        for path in (configs / Path(row["config_file"]).name, beside / row["config_file"]):
            if not path.exists():
                continue
            config = json.loads(path.read_text())
            return read_architecture(
                without_format(config) if _is_others_format(row, config) else config, path.name
            )
    if (listed := find_model(row.get("shape") or row.get("model") or "")) is not None:
        return read_architecture(
            without_format(listed.config) if row.get("shape") else listed.config, listed.name
        )
    raise InputError(
        "the row names no model configuration, and the built-in catalogue has none of that name"
    )


_FORMATS = {
    "fp4": re.compile(r"fp4", re.IGNORECASE),
    "int4": re.compile(r"int4|awq|gptq|auto-?round|w4|4.?bit|bnb|bitsandbytes", re.IGNORECASE),
    "8-bit": re.compile(r"fp8|int8|w8|8.?bit", re.IGNORECASE),
}


def _format(text: str) -> str:
    """The kind of format that these words speak of, or nothing."""
    return next((kind for kind, words in _FORMATS.items() if words.search(text)), "")


def _is_others_format(row: dict[str, Any], config: dict[str, Any]) -> bool:
    """True where the file is that of a sibling checkpoint in another format: the shape is right,
    what it says of weights and KV scales not.

    Told by the note in the file: where the row speaks of no format the sibling's name decides, else
    what its file says.
    """
    sibling = re.search(
        r"config of (\S+): .*quantization_config/dtype may differ", str(config.get("_note"))
    )
    if sibling is None:
        return False
    if stated := _format(f"{row.get('quantization') or ''} {row.get('model') or ''}"):
        found = config.get("quantization_config") or {}
        return stated != _format(
            " ".join(str(found.get(name, "")) for name in ("quant_algo", "quant_method", "format"))
            + sibling[1]
        )
    return bool(_format(sibling[1]))


def assumes_prefix_caching(
    row: dict[str, Any], model: Architecture, version: EngineVersion
) -> bool:
    """True for a hybrid of 0.20 to 0.27 whose flags are not stated in full and do not mention
    prefix caching.
    """
    said = json.dumps(row.get("other_flags") or "")
    unsaid = not row.get("complete") and "prefix" not in said
    return model.keeps_state and unsaid and version.at_least("0.20.0") and version.before("0.28.0")


def request_of(row: dict[str, Any], configs: Path) -> PlanRequest:
    """The row as a request.

    Errors: InputError where the model's configuration is not there or cannot be read.
    """
    model = model_of(row, configs)
    stated = parse_version(row.get("vllm_version"))
    version = stated or parse_version(version_by_log(row))
    assert version is not None
    gpu, memory = row.get("gpu"), row.get("gpu_mem_gib")
    card = find_card(gpu) if gpu else None
    environment = ({"VLLM_USE_V1": "0"} if row.get("engine") == "V0" else {}) | row.get("env", {})
    args = arguments(row) + (
        ["--enable-prefix-caching"] if assumes_prefix_caching(row, model, version) else []
    )
    config = resolve(args=args, env=environment, version=version, gpu=gpu, gpu_memory_gib=memory)
    # A whole number of GiB is the card's name, not what the engine saw.
    seen = memory if memory is not None and (memory != int(memory) or card is None) else None
    return PlanRequest(
        model, row.get("model") or "", version, config, card, int(seen * GIB) if seen else None, version_assumed=stated is None
    )  # fmt: skip


def public_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a YAML file of public start-ups, filled up to the form of the JSON lines."""
    import yaml

    made = []
    for row in yaml.safe_load(path.read_text())["rows"]:
        observed = row["observed"]
        tokens, concurrency, length = (
            observed.get("kv_tokens"),
            observed.get("max_concurrency"),
            row.get("max_model_len"),
        )
        derived = (
            {"tokens_over_concurrency_x_len": tokens / concurrency / length}
            if tokens and concurrency and length
            else {}
        )
        made.append(
            {
                "engine": "V1",
                "row_quality": "A",
                "gpu_family": row.get("gpu"),
                "derived": derived,
                "vllm_version": None,
            }
            | row
        )
    return made
